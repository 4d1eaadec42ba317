"""v$latch_misses: in which kernel code the row cache latch was held and waited for.

Each sleep is counted twice: sleep_count names the place that held the latch, wtr_slp_count the place that waited.
The view knows no children, so its shares are a mix over all children of the latch. It may list a place more than
once; Statspack sums such rows, and so do we.
"""

from collectors.model import Collector, Column, ColumnKind

LATCH_MISSES = Collector(
    view="v$latch_misses",
    about="sleeps per miss location of the row cache and result cache latches",
    columns=(
        Column("parent_name", ColumnKind.KEY, "", "latch name"),
        Column("location", ColumnKind.KEY, "", "miss location: kernel function, then a step after a colon"),
        Column("nwfail_count", ColumnKind.COUNTER, "count", "no-wait failures here"),
        Column("sleep_count", ColumnKind.COUNTER, "count", "sleeps while this place held the latch"),
        Column("wtr_slp_count", ColumnKind.COUNTER, "count", "sleeps of waiters at this place"),
        Column("longhold_count", ColumnKind.COUNTER, "count", "holds that outlasted somebody's whole sleep"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$latch_misses */
                   parent_name, location, sum(nwfail_count) as nwfail_count, sum(sleep_count) as sleep_count,
                   sum(wtr_slp_count) as wtr_slp_count, sum(longhold_count) as longhold_count
              from v$latch_misses
             where parent_name in ('row cache objects', 'Result Cache: RC Latch')
               and (sleep_count > 0 or wtr_slp_count > 0)
             group by parent_name, location""",
    },
    without="the miss location, which tells a long search from mere volume",
    granted_on="sys.v_$latch_misses",
    repeats="sum",
    starts_at_zero=True,
)
