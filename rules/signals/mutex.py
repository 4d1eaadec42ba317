"""Signals of who waits and where, on mutexes and on the row cache lock."""

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Missing, number
from rules.context import SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown, share
from rules.formatting import function_of, part_of
from rules.model import Surface
from rules.signals import Subject, certain, enough_sleeps, signal
from rules.signals.instance import waited_share_of_db_time
from rules.waiters import MINIMUM_WAITERS, NOT_LISTED, Waiter

LISTED = "capture p1 of v$session and every row of v$rowcache as well"
AGREEING = 5
"""With this few waiters, all of them must name the same cache."""


def _waiters(context: SignalContext, event: str) -> tuple[Waiter, ...] | Unknown:
    """Sampled waiters of an event. Unknown without a look, or with too few waiters."""
    if context.crowd is None:
        return context.why_unknown("v$session")
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", "parameter")
    waiters = context.crowd.of(event)
    agree = len(waiters) >= AGREEING and len({waiter.cache for waiter in waiters}) == 1
    if len(waiters) < MINIMUM_WAITERS and not agree:
        why = f"too few waiters: {len(waiters)} seen waiting for {event}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$session", why, "ask for a longer burst, or wait for a busier interval")
    return waiters


def mutex_waiters(context: SignalContext) -> tuple[Waiter, ...] | Unknown:
    """Sampled waiters for row cache mutexes. Unknown without a look, or with too few waiters."""
    return _waiters(context, ROW_CACHE_MUTEX_EVENT)


def _share_of_waiters(context: SignalContext, subject: Subject, surface: Surface) -> SignalValue:
    """The share of the waiters that remain without those for other caches in trouble."""
    waiters = _waiters(context, SURFACE_EVENTS[surface])
    if isinstance(waiters, Unknown):
        return waiters
    hot, caches = context.hot_caches.caches(surface), [waiter.cache for waiter in waiters]
    named = set(context.hot_caches.waited_as(subject.caches))
    others = set(hot) - named if set(hot) & named else set()
    rest = [cache for cache in caches if cache not in others]
    own = sum(1 for cache in rest if cache in named)
    unnamed = sum(1 for cache in rest if cache == "unknown" or cache.endswith(NOT_LISTED))
    if unnamed and not certain(own / len(rest), (own + unnamed) / len(rest), subject.needs):
        return Unknown("v$session", f"{unnamed} of {len(rest)} waiters name no known cache", LISTED, absent=True)
    beside = f", beside {len(caches) - len(rest)} for {' and '.join(sorted(others))}" if others else ""
    return Known(own / len(rest), f"{part_of(own, len(rest))} waiters{beside}", own, len(rest))


@signal(unit="ratio", of="v$session", surface="mutex", called="mutex waiters that name the cache")
def share_of_mutex_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache mutexes that name one of the cause's caches in P1."""
    return _share_of_waiters(context, subject, "mutex")


@signal(unit="ratio", of="v$session", surface="lock", called="lock waiters that name the cache")
def share_of_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that name one of the cause's caches in P1."""
    return _share_of_waiters(context, subject, "lock")


@signal(unit="ratio", of="v$session", surface="lock", diluted=(">=",))
def exclusive_share_of_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that want it exclusive (P3 = 5), because they change the entry."""
    waiters = _waiters(context, ROW_CACHE_LOCK_EVENT)
    if isinstance(waiters, Unknown):
        return waiters
    met = [row for row in context.delta.rows("v$session") if row.get("event") == ROW_CACHE_LOCK_EVENT]
    if any("p3" not in row for row in met):
        return context.why_unknown("v$session", "p3")
    exclusive = sum(1 for waiter in waiters if waiter.exclusive)
    return Known(exclusive / len(waiters), f"{part_of(exclusive, len(waiters))} waiters", exclusive, len(waiters))


@signal(unit="ratio", of="v$mutex_sleep", surface="mutex", called="mutex sleeps at this place")
def share_of_mutex_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the row cache mutex sleeps at the location's function. Its number differs by release and is ignored."""
    rows = context.delta.rows("v$mutex_sleep")
    total = context.sum_of(rows, "sleeps")
    if total is None:
        if not rows and not isinstance(context.delta.read("v$mutex_sleep"), Missing):
            return enough_sleeps(context, 0.0, "v$mutex_sleep")
        return context.why_unknown("v$mutex_sleep", "sleeps")
    here = sum(
        number(row.get("sleeps")) or 0.0 for row in rows if function_of(str(row.get("location"))) == subject.location
    )
    return share(Known(here), enough_sleeps(context, total, "v$mutex_sleep"))


def _event_share(context: SignalContext, event: str) -> SignalValue:
    return waited_share_of_db_time(context, context.waited_seconds((event,)), "v$system_event", "time_waited_micro")


@signal(
    unit="ratio",
    of="v$system_event, v$sys_time_model",
    surface="mutex",
    called="row cache mutex waits, share of DB time",
)
def mutex_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for row cache mutexes."""
    return _event_share(context, ROW_CACHE_MUTEX_EVENT)


@signal(
    unit="ratio", of="v$system_event, v$sys_time_model", surface="lock", called="row cache lock waits, share of DB time"
)
def lock_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for row cache lock."""
    return _event_share(context, ROW_CACHE_LOCK_EVENT)
