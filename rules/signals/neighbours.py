"""Signals of other latches. If they are slow too, the trouble is not in the dictionary."""

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Row, number
from rules.context import Known, SignalContext, SignalValue
from rules.signals import Subject, certain, signal

LONG_SLEEP_MS = 50.0
MINIMUM_NEIGHBOUR_SLEEPS = 10
"""Fewer sleeps of one latch than this do not show how long a sleep lasts."""

ROUNDING_US = 500_000.0
"""A report prints the time waited for a latch in whole seconds, which is too coarse for a few sleeps."""


@signal(unit="latches", of="v$latch", called="other latches that are slow")
def slow_neighbours(context: SignalContext, subject: Subject) -> SignalValue:
    """Other latches, of a watched handful, with at least ten sleeps of 50 ms or more."""
    others = [
        row for row in context.delta.rows("v$latch") if row.get("name") not in (ROW_CACHE_LATCH, RESULT_CACHE_LATCH)
    ]
    rounded = ROUNDING_US if context.printed else 0.0
    averages = [
        (str(row.get("name")), average) for row in others if (average := _average_sleep(row, rounded)) is not None
    ]
    if not averages:
        return context.why_unknown("v$latch", "wait_time")
    slow = sorted((name, average) for name, average in averages if average >= LONG_SLEEP_MS)
    untold = 0 if context.printed else len(others) - len(averages)
    if not certain(float(len(slow)), float(len(slow) + untold), subject.needs):
        return context.why_unknown("v$latch", "wait_time of some latches")
    return Known(float(len(slow)), ", ".join(f"{name} {average:,.0f} ms" for name, average in slow))


def _average_sleep(row: Row, rounded: float) -> float | None:
    """Milliseconds per sleep at least. Zero with hardly any sleeps, None if unknown."""
    sleeps, waited = number(row.get("sleeps")), number(row.get("wait_time"))
    if sleeps is None or waited is None:
        return None
    return max(waited - rounded, 0.0) / 1000 / sleeps if sleeps >= MINIMUM_NEIGHBOUR_SLEEPS else 0.0
