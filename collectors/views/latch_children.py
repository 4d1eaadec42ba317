"""v$latch_children: gets, misses and sleeps of each child of `row cache objects`, and of no other latch.

Without the restriction by latch# the view lists every child latch of the instance, a million rows on a large SGA. Where
mutexes guard the row cache it has no rows, and latchscope does not read it.
"""

from collections.abc import Mapping

from collectors.model import Binds, Collector, Column, ColumnKind, Missing, Reading
from collectors.release import mechanism_in, without_latch
from collectors.views.latchname import LATCHES, numbers_of


def _latch(readings: Mapping[str, Reading]) -> Binds | Missing:
    if mechanism_in(readings) == "mutex":
        return without_latch("v$latch_children")
    found = numbers_of("v$latch_children", readings)
    if isinstance(found, Missing) or found["latch"] != -1:
        return found if isinstance(found, Missing) else {"latch": found["latch"]}
    why = f"this instance has no latch named {LATCHES['latch']}"
    return Missing("v$latch_children", "not_asked", why, "nothing to do on this release")


LATCH_CHILDREN = Collector(
    view="v$latch_children",
    about="one row per child latch of `row cache objects`",
    columns=(
        Column("latch#", ColumnKind.KEY, "", "latch number, different from release to release"),
        Column("child#", ColumnKind.KEY, "", "child number within the latch"),
        Column("addr", ColumnKind.TEXT, "", "address in hex, joins to a waiting session's P1RAW"),
        Column("gets", ColumnKind.COUNTER, "count", "willing-to-wait requests"),
        Column("misses", ColumnKind.COUNTER, "count", "requests that did not succeed at the first try"),
        Column("sleeps", ColumnKind.COUNTER, "count", "sleeps while waiting; can exceed misses"),
        Column("immediate_gets", ColumnKind.COUNTER, "count", "no-wait requests"),
        Column("immediate_misses", ColumnKind.COUNTER, "count", "no-wait requests that failed"),
        Column("spin_gets", ColumnKind.COUNTER, "count", "requests that missed and then succeeded by spinning"),
        Column("wait_time", ColumnKind.COUNTER, "us", "time slept, spinning excluded"),
    ),
    statements={
        "11.2": """
            select /* latchscope v$latch_children */
                   latch#, child#, rawtohex(addr) as addr,
                   gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time
              from v$latch_children
             where latch# = :latch""",
    },
    without="which child latch is hot, and so which cache",
    granted_on="sys.v_$latch_children",
    after=("v$instance", "v$event_name", "v$latchname"),
    binds=_latch,
)
