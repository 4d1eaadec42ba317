"""Signals of the length of one wait. Far above the ordinary length, the holder does not run."""

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, number
from rules.context import SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown
from rules.signals import Subject, signal
from rules.signals.latch import time_of_a_sleep
from rules.signals.mutex import average_mutex_sleep
from rules.waiters import MINIMUM_WAITERS

LONG_WAIT_MICRO = 1e6
"""For waits of a second and more a few are enough, because no ordinary wait lasts so long."""


def _average_wait(context: SignalContext, event: str) -> SignalValue:
    """Milliseconds per wait for an event."""
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), {})
    waits, micro = number(row.get("total_waits")), number(row.get("time_waited_micro"))
    if not row and context.delta.source == "views" and context.waited_seconds([event]) == 0:
        return Unknown("v$system_event", f"no session waited for {event}", context.busier)
    if waits is None or micro is None:
        return context.why_unknown("v$system_event", "total_waits")
    if waits < MINIMUM_WAITERS and (not waits or micro < waits * LONG_WAIT_MICRO):
        why = f"too few events: {waits:.0f} waits for {event}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$system_event", why, context.busier)
    return Known(micro / 1000 / waits, f"{micro / 1e6:,.2f} s in {waits:,.0f} waits", micro / 1000, waits)


def _or(waited: SignalValue, slept: SignalValue) -> SignalValue:
    """The average time of a wait; if it is unknown, that of one of its sleeps."""
    return slept if isinstance(waited, Unknown) and isinstance(slept, Known) else waited


@signal(unit="ms", of="v$system_event", surface="lock")
def average_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for row cache lock. Seconds mean that a holder keeps the entry during long work of its own."""
    return _average_wait(context, ROW_CACHE_LOCK_EVENT)


@signal(unit="ms", of="v$system_event", surface="mutex")
def average_mutex_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for a row cache mutex, perhaps with many sleeps. Tens of milliseconds mean that holders do not run."""
    waited = _average_wait(context, ROW_CACHE_MUTEX_EVENT)
    return _or(waited, average_mutex_sleep(context, subject))


@signal(unit="ms", of="v$system_event", surface="latch")
def average_latch_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `latch: row cache objects`. Tens of milliseconds mean that holders do not run."""
    waited = _average_wait(context, SURFACE_EVENTS["latch"])
    return _or(waited, time_of_a_sleep(context, context.latch_row))
