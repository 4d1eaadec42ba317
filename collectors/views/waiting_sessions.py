"""waiting_sessions: one look at v$session in every poll, for waits that have not ended and that no counter shows yet.

v$system_event counts a wait when it ends, so a session that hangs moves no counter. `v$session` is something else: bursts
sample it to find who waits and for which cache. This look finds how long sessions have waited already.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.session import BLOCKER_COLUMNS, MET, WAIT_COLUMNS, longest_waits

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
        MET,
    ),
    statements=longest_waits(
        "waiting_sessions",
        "sid, serial#, seq#, event, p1, p1raw, p2, p3, sql_id, module, program",
        "'latch: row cache objects', 'row cache mutex', 'row cache lock', 'latch free'",
    ),
    without="sessions that hang: no counter has a wait that has not ended",
    granted_on="sys.v_$session",
    momentary=True,
)
