"""Waits that are too long to be ordinary. They get a sentence even if they cost little."""

from collections.abc import Iterator

from rules.context import Known, SignalContext
from rules.signals import SIGNALS, Subject

TOO_LONG_MS = 20.0
"""An ordinary wait for a latch or mutex of the row cache takes 0.1 to 10 ms; the bound is our own."""


def long_waits(context: SignalContext) -> Iterator[str]:
    """Sentences about waits for the row cache that are too long for a dictionary look-up."""
    for surface, name in (("latch", "average_latch_wait"), ("mutex", "average_mutex_wait")):
        reading = SIGNALS[name].read(context, Subject()) if surface in context.surfaces else None
        if isinstance(reading, Known) and reading.value >= TOO_LONG_MS:
            yield (
                f"a wait for a row cache {surface} lasts {reading.value:,.0f} ms on average ({reading.derivation}), longer than "
                "any dictionary look-up takes: holders did not run; look at processors, a resource plan and paging"
            )
