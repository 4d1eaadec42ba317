"""library_cache_sessions: one look at v$session in every poll, for sessions that wait for library cache lock or pin.

Half of what looks like row cache trouble waits in the library cache. The wait itself says for what: P1 is the address of the
handle, P3 its namespace and the mode asked for (`rules.library_cache`). So the look reads v$session and nothing else: views
of the library cache take the mutexes that are in trouble. P2 is the address of the lock, another one for each session.
"""

from collectors.model import Collector, Column, ColumnKind
from collectors.views.session import BLOCKER_COLUMNS, MET, longest_waits

LIBRARY_CACHE_SESSIONS = Collector(
    view="library_cache_sessions",
    about="sessions of v$session that wait for library cache lock or pin at the moment of the poll, and for what",
    columns=(
        Column("sid", ColumnKind.KEY, "", "session"),
        Column("serial#", ColumnKind.KEY, "", "its serial number: a sid is used again"),
        Column("event", ColumnKind.TEXT, "", "library cache lock or library cache pin"),
        Column("p1raw", ColumnKind.TEXT, "", "address of the handle it waits for, in hex"),
        Column("p3", ColumnKind.TEXT, "", "identifier, namespace and mode, packed into one number"),
        Column("sql_id", ColumnKind.TEXT, "", "statement in execution"),
        Column("module", ColumnKind.TEXT, "", "module the session named"),
        Column("action", ColumnKind.TEXT, "", "action the session named"),
        Column("program", ColumnKind.TEXT, "", "client program"),
        Column("machine", ColumnKind.TEXT, "", "where its client runs"),
        Column("username", ColumnKind.TEXT, "", "database user; none before its logon is complete"),
        Column("type", ColumnKind.TEXT, "", "USER or BACKGROUND"),
        Column("con_id", ColumnKind.TEXT, "", "container, 12.1 and later"),
        *BLOCKER_COLUMNS,
        Column("wait_time_micro", ColumnKind.GAUGE, "us", "time it has waited so far"),
        MET,
    ),
    statements=longest_waits(
        "library_cache_sessions",
        "sid, serial#, event, p1raw, p3, sql_id, module, action, program, machine",
        "'library cache lock', 'library cache pin'",
    ),
    without="what the sessions in the library cache wait for: an account, an object, a cursor",
    granted_on="sys.v_$session",
    momentary=True,
)
