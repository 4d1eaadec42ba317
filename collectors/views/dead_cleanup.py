"""v$dead_cleanup: dead processes and killed sessions that Oracle has still to clean up after. Read for a holder of that kind."""

from collectors.model import Column, ColumnKind, optional_view

MOST_ROWS = 100

DEAD_CLEANUP = optional_view(
    view="v$dead_cleanup",
    about="dead processes and killed sessions that are not cleaned up yet, and how many sessions each blocks",
    columns=(
        Column("type", ColumnKind.KEY, "", "DEAD PROCESS or KILLED SESSION"),
        Column("saddr", ColumnKind.KEY, "", "address of the session, in hex"),
        Column("state", ColumnKind.TEXT, "", "how far its clean-up is"),
        Column("dead_time", ColumnKind.GAUGE, "s", "time since it died or was killed"),
        Column("cleanup_attempts", ColumnKind.GAUGE, "count", "attempts to clean up"),
        Column("last_attempt", ColumnKind.TEXT, "", "when the last of them was"),
        Column("num_blocked", ColumnKind.GAUGE, "count", "sessions that its clean-up blocks"),
    ),
    statements={
        "11.2.0.4": f"""
            select /* latchscope v$dead_cleanup */
                   type, saddr, state, dead_time, cleanup_attempts, last_attempt, num_blocked
              from (select type, rawtohex(saddr) as saddr, state, dead_time, cleanup_attempts, last_attempt, num_blocked
                      from v$dead_cleanup
                     order by num_blocked desc)
             where rownum <= {MOST_ROWS}""",
    },
    without="whether Oracle cleans up after a holder that is dead or killed, and how far that is",
    granted_on="sys.v_$dead_cleanup",
)
