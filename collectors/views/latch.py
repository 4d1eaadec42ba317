"""v$latch: totals of the row cache latch and of the latches that rise with it when it is only a victim.

Asked by number: the view adds up the children of every latch that it is not told to leave out.
"""

from functools import partial

from collectors.model import Collector, Column, ColumnKind
from collectors.views.latchname import LATCHES, numbers_of

_NUMBERS = ", ".join(f":{bind}" for bind in LATCHES)

LATCH = Collector(
    view="v$latch",
    about="one row per latch: the row cache latch, the result cache latch, and latches that a sick host slows as well",
    columns=(
        Column("latch#", ColumnKind.TEXT, "", "latch number, different from release to release"),
        Column("name", ColumnKind.KEY, "", "latch name"),
        Column("gets", ColumnKind.COUNTER, "count", "willing-to-wait requests, parent and children together"),
        Column("misses", ColumnKind.COUNTER, "count", "requests that did not succeed at the first try"),
        Column("sleeps", ColumnKind.COUNTER, "count", "sleeps while waiting; can exceed misses"),
        Column("spin_gets", ColumnKind.COUNTER, "count", "requests that missed and then succeeded by spinning"),
        Column("wait_time", ColumnKind.COUNTER, "us", "time slept, spinning excluded"),
    ),
    statements={
        "11.2": f"""
            select /* latchscope v$latch */
                   max(latch#) as latch#, name, sum(gets) as gets, sum(misses) as misses, sum(sleeps) as sleeps,
                   sum(spin_gets) as spin_gets, sum(wait_time) as wait_time
              from v$latch
             where latch# in ({_NUMBERS})
             group by name""",
    },
    without="the wait time of the row cache latch, and whether other latches rise with it",
    granted_on="sys.v_$latch",
    repeats="sum",
    after=("v$instance", "v$latchname"),
    binds=partial(numbers_of, "v$latch"),
)
