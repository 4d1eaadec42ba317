"""v$mutex_sleep: where sessions slept for row cache mutexes (12.2 and later). The view knows no cache and no gets."""

from collectors.model import Collector, Column, ColumnKind

MUTEX_SLEEP = Collector(
    view="v$mutex_sleep",
    about="sleeps and time waited per code location of the row cache mutexes",
    columns=(
        Column("mutex_type", ColumnKind.KEY, "", "type; only Row Cache is read"),
        Column(
            "location",
            ColumnKind.KEY,
            "",
            "[number] function; the number moves with the release, the function does not",
        ),
        Column("sleeps", ColumnKind.COUNTER, "count", "sleeps of waiters at this place"),
        Column("wait_time", ColumnKind.COUNTER, "us", "time waited at this place; may be below zero", signed=True),
    ),
    # Locations can end in CHR(0), which no client wants to see.
    statements={
        "11.2": """
            select /* latchscope v$mutex_sleep */
                   mutex_type, replace(location, chr(0)) as location, sum(sleeps) as sleeps,
                   sum(wait_time) as wait_time
              from v$mutex_sleep
             where mutex_type = 'Row Cache'
             group by mutex_type, replace(location, chr(0))""",
    },
    without="where sessions sleep for row cache mutexes, which guard the row cache from 12.2 on",
    granted_on="sys.v_$mutex_sleep",
    repeats="sum",
    starts_at_zero=True,
)
