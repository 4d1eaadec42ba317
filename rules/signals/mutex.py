"""Signals of the row cache mutexes as a whole: how often and how long sessions sleep, and whether for one cache."""

from collectors.model import Missing
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, part_of
from rules.signals import Subject, enough_sleeps, signal
from rules.signals.waits import mutex_waiters


def _total(context: SignalContext, column: str) -> SignalValue:
    """A column over all locations. Zero if the view was read and no session ever slept."""
    rows = context.delta.rows("v$mutex_sleep")
    total = context.sum_of(rows, column)
    if total is not None:
        return Known(total)
    if not rows and not isinstance(context.delta.read("v$mutex_sleep"), Missing):
        return Known(0.0, "no location of a row cache mutex has any")
    return context.why_unknown("v$mutex_sleep", column)


@signal(unit="sleeps", of="v$mutex_sleep", surface="mutex")
def row_cache_mutex_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on row cache mutexes."""
    return _total(context, "sleeps")


@signal(unit="ms", of="v$mutex_sleep", surface="mutex")
def average_mutex_sleep(context: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on a row cache mutex. Far above 10 ms the host causes the wait, not the mutex."""
    sleeps, waited = _total(context, "sleeps"), _total(context, "wait_time")
    if isinstance(sleeps, Unknown) or isinstance(waited, Unknown):
        return sleeps if isinstance(sleeps, Unknown) else waited
    enough = enough_sleeps(context, sleeps.value, "v$mutex_sleep")
    if isinstance(enough, Unknown):
        return enough
    return Known(
        waited.value / 1000 / sleeps.value,
        f"{waited.value / 1e6:,.1f} s in {count(sleeps.value)} sleeps",
        waited.value / 1000,
        sleeps.value,
    )


@signal(unit="ratio", of="v$session", surface="mutex")
def hottest_cache_share_of_mutex_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache mutexes that name the same cache. Near 1 concentrated, below 0.5 diffuse."""
    waiters = mutex_waiters(context)
    if isinstance(waiters, Unknown):
        return waiters
    caches = [waiter.cache for waiter in waiters]
    most = max(caches.count(cache) for cache in set(caches))
    return Known(most / len(caches), f"{part_of(most, len(caches))} waiters", most, len(caches))
