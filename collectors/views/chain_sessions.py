"""chain_sessions: the sessions of this instance that others wait for, each with the session that it waits for itself.

The session at the end of a wait chain is often none that waits for the row cache, so no other look shows it. One statement
reads the blockers of the waiting sessions, their blockers in turn, and the final blockers. It reads nothing where nobody waits.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.session import BLOCKER_COLUMNS, STATUS_COLUMNS

MOST_ROWS = 50

SESSION_COLUMNS = (
    Column("serial#", ColumnKind.TEXT, "", "its serial number"),
    Column("type", ColumnKind.TEXT, "", "USER or BACKGROUND"),
    Column("program", ColumnKind.TEXT, "", "its program; of a process that Oracle starts, its name as well"),
    Column("username", ColumnKind.TEXT, "", "its database user"),
    Column("machine", ColumnKind.TEXT, "", "where its client runs"),
    Column("module", ColumnKind.TEXT, "", "module it named"),
    Column("sql_id", ColumnKind.TEXT, "", "statement in execution"),
    Column("status", ColumnKind.TEXT, "", "ACTIVE, INACTIVE, KILLED, CACHED or SNIPED"),
    Column("state", ColumnKind.TEXT, "", "WAITING where it waits for something itself"),
    Column("event", ColumnKind.TEXT, "", "what it waits for itself"),
    Column("seq#", ColumnKind.TEXT, "", "number of that wait; it rises with each wait"),
    Column("p1", ColumnKind.TEXT, "", "of an enqueue: its type and the mode asked for, packed into one number"),
    Column("p2", ColumnKind.TEXT, "", "of an enqueue: first identifier"),
    Column("p3", ColumnKind.TEXT, "", "of an enqueue: second identifier"),
    Column("wait_time_micro", ColumnKind.GAUGE, "us", "time it has waited for that"),
    Column("last_call_et", ColumnKind.GAUGE, "s", "time its present call has lasted"),
    *BLOCKER_COLUMNS,
    *STATUS_COLUMNS,
)
"""What the tree of a wait chain says of a session."""

READ_OF_SESSION = ", ".join(column.name for column in SESSION_COLUMNS)
_HERE = "to_number(sys_context('userenv', 'instance'))"
_WAITING = """state = 'WAITING'
                               and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock')"""

NAMED = f"""select blocking_session
                             from v$session
                            where {_WAITING}
                              and blocking_instance = {_HERE}
                            union
                           select final_blocking_session
                             from v$session
                            where {_WAITING}
                              and final_blocking_instance = {_HERE}
                            union
                           select b.blocking_session
                             from v$session b
                            where b.blocking_instance = {_HERE}
                              and b.sid in (select blocking_session
                                              from v$session
                                             where {_WAITING}
                                               and blocking_instance = {_HERE})"""
"""Sessions of this instance that sessions waiting for the row cache name as blocker, and the blockers of those."""

CHAIN_SESSIONS = Collector(
    view="chain_sessions",
    about="sessions of this instance that sessions waiting for the row cache name as blocker, and what they wait for themselves",
    columns=(
        Column("instance", ColumnKind.KEY, "", "number of the instance it is a session of"),
        Column("sid", ColumnKind.KEY, "", "session"),
        Column("saddr", ColumnKind.TEXT, "", "its address, in hex"),
        *SESSION_COLUMNS,
    ),
    statements={
        "11.2": f"""
            select /* latchscope chain_sessions */
                   {_HERE} as instance, sid, rawtohex(saddr) as saddr,
                   {READ_OF_SESSION}
              from v$session
             where sid in ({NAMED})
               and rownum <= {MOST_ROWS}""",
    },
    without="who is at the end of a wait chain, whether it is a session that may be ended, and what it waits for itself",
    granted_on="sys.v_$session",
    on_request=True,
    momentary=True,
)
