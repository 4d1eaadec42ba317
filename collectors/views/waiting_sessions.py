"""waiting_sessions: one look at v$session in every poll, for waits that have not ended and that no counter shows yet.

v$system_event counts a wait when it ends, so a session that hangs moves no counter. `v$session` is something else: bursts
sample it to find who waits and for which cache. This look finds how long sessions have waited already.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.session import BLOCKER_COLUMNS, WAIT_COLUMNS

MOST_ROWS = 200
"""Rows of one look, the longest waits first. `met` is the number of all such sessions."""

_COMMON = """sid, serial#, seq#, event, p1, p1raw, p2, p3, sql_id, module, program, username, type,
                   blocking_instance, blocking_session, final_blocking_instance, final_blocking_session,
                   wait_time_micro, met"""
_READ = _COMMON.replace(" p1raw,", " rawtohex(p1raw) as p1raw,").replace(" met", " count(*) over () as met")


def _statement(more: str) -> str:
    return f"""
            select /* latchscope waiting_sessions */
                   {more}{_COMMON}
              from (select {more}{_READ}
                      from v$session
                     where state = 'WAITING'
                       and event in ('latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free')
                       and sid <> to_number(sys_context('userenv', 'sid'))
                     order by wait_time_micro desc)
             where rownum <= {MOST_ROWS}"""


WAITING_SESSIONS = Collector(
    view="waiting_sessions",
    about="sessions of v$session that wait for the row cache at the moment of the poll, and for how long so far",
    columns=(
        Column("sid", ColumnKind.KEY, "", "session"),
        Column("serial#", ColumnKind.KEY, "", "its serial number: a sid is used again"),
        Column("seq#", ColumnKind.TEXT, "", "number of that wait; it rises with each wait"),
        *WAIT_COLUMNS,
        Column("type", ColumnKind.TEXT, "", "USER or BACKGROUND"),
        Column("con_id", ColumnKind.TEXT, "", "container, 12.1 and later"),
        *BLOCKER_COLUMNS,
        Column("wait_time_micro", ColumnKind.GAUGE, "us", "time it has waited so far"),
        Column("met", ColumnKind.GAUGE, "count", f"sessions that waited so; more than {MOST_ROWS} are not all listed"),
    ),
    statements={"11.2": _statement(""), "12.1": _statement("con_id, ")},
    without="sessions that hang: no counter has a wait that has not ended",
    granted_on="sys.v_$session",
    momentary=True,
    after=("v$instance",),
)
