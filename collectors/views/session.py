"""v$session: who waits for the row cache at one moment. Sampled in short bursts, never part of a poll.

P1 is the cache id of a row cache mutex or lock; of a latch it is the address of the child, which P1RAW spells as
v$latch_children.addr does.
"""

from collections.abc import Mapping

from collectors.model import Collector, Column, ColumnKind, by_container

MOST_SESSIONS = 500
"""The most sessions of one look. In a hang thousands may wait, and the first hundreds show what matters."""

WAIT_COLUMNS = (
    Column("event", ColumnKind.TEXT, "", "what it waits for"),
    Column("p1", ColumnKind.TEXT, "", "mutex and lock: cache id"),
    Column("p1raw", ColumnKind.TEXT, "", "latch: address of the child, in hex"),
    Column("p2", ColumnKind.TEXT, "", "latch: latch number; mutex: location id; lock: mode held"),
    Column("p3", ColumnKind.TEXT, "", "lock: mode requested, 3 share, 5 exclusive"),
    Column("sql_id", ColumnKind.TEXT, "", "statement in execution"),
    Column("module", ColumnKind.TEXT, "", "module the session named"),
    Column("program", ColumnKind.TEXT, "", "client program"),
    Column("username", ColumnKind.TEXT, "", "database user"),
)
"""What every look reads about a waiting session and its wait."""

BLOCKER_COLUMNS = (
    Column("blocking_instance", ColumnKind.TEXT, "", "instance of the session that holds it, where Oracle knows"),
    Column("blocking_session", ColumnKind.TEXT, "", "session that holds it, where Oracle knows"),
    Column("final_blocking_instance", ColumnKind.TEXT, "", "instance of the session at the end of the chain"),
    Column("final_blocking_session", ColumnKind.TEXT, "", "session at the end of the chain of blockers"),
)
"""The blocker. A session number is valid on its own instance only."""

STATUS_COLUMNS = (
    Column("blocking_session_status", ColumnKind.TEXT, "", "VALID, NO HOLDER, NOT IN WAIT, GLOBAL or UNKNOWN"),
    Column("final_blocking_session_status", ColumnKind.TEXT, "", "the same of the end of the chain"),
)
"""What Oracle knows of the blocker. Only NO HOLDER says that there is none; a null alone proves nothing."""

_BLOCKER = ", ".join(column.name for column in BLOCKER_COLUMNS)
MOST_WAITS = 200
"""Rows of a look at the longest waits. `met` is the number of all such sessions."""
MET = Column("met", ColumnKind.GAUGE, "count", f"sessions that waited so; more than {MOST_WAITS} are not all listed")


def longest_waits(view: str, about_the_wait: str, events: str) -> Mapping[str, str]:
    """The statements of a look at the sessions that wait for these events, the longest waits first."""
    columns = f"""{about_the_wait}, username, type,
                   blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                   wait_time_micro, met"""
    read = columns.replace(" p1raw,", " rawtohex(p1raw) as p1raw,").replace(" met", " count(*) over () as met")
    return by_container(f"""
            select /* latchscope {view} */
                   con_id, {columns}
              from (select con_id, {read}
                      from v$session
                     where state = 'WAITING'
                       and event in ({events})
                       and sid <> to_number(sys_context('userenv', 'sid'))
                     order by wait_time_micro desc)
             where rownum <= {MOST_WAITS}""")


SESSION = Collector(
    view="v$session",
    about="sessions waiting for the row cache or for a latch without an event of its own, at one moment",
    columns=(
        Column("sample", ColumnKind.KEY, "", "number of the sample within the interval, from 1"),
        Column("sid", ColumnKind.KEY, "", "session"),
        *WAIT_COLUMNS,
        Column("con_id", ColumnKind.TEXT, "", "container, 12.1 and later"),
        *BLOCKER_COLUMNS,
        Column("wait_time_micro", ColumnKind.GAUGE, "us", "time it has waited so far"),
    ),
    statements=by_container(
        f"""
            select /* latchscope v$session */
                   sid, event, p1, rawtohex(p1raw) as p1raw, p2, p3, sql_id, module, program, username,
                   con_id, {_BLOCKER}, wait_time_micro
              from v$session
             where state = 'WAITING'
               and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free')
               and rownum <= {MOST_SESSIONS}"""
    ),
    without="who waits and for which cache: statement, module, program, container, blocker",
    granted_on="sys.v_$session",
    sampled=True,
)
