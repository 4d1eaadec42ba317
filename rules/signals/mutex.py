"""Signals of the row cache mutexes as a whole: how often and how long sessions sleep, and whether for one cache."""

from collections import Counter

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Missing, number
from rules.base import bound_of
from rules.context import SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown, share
from rules.formatting import count, function_of, percent
from rules.model import Surface
from rules.signals import (
    AGREEING,
    HALF,
    Subject,
    already_enough,
    certain,
    enough_sleeps,
    share_of_waiters,
    signal,
    too_few_waiters,
)
from rules.signals.caches import getmiss_ratio
from rules.signals.instance import waited_share_of_db_time
from rules.signals.latch import share_of_sleeps, time_of_a_sleep
from rules.waiting import waits_of
from rules.waits import MINIMUM_WAITERS, NOT_LISTED

# Signals of who waits and where, on mutexes and on the row cache lock.

LISTED = "capture p1 of v$session and every row of v$rowcache as well"


def _waiters_by_cache(context: SignalContext, event: str) -> Counter[str] | Unknown:
    """Sampled waiters of an event, by cache. Unknown without a look, or with fewer than AGREEING waiters."""
    if context.crowd is None:
        return context.why_unknown("v$session")
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", "parameter")
    caches = context.crowd.caches(event)
    met = caches.total()
    return caches if met >= AGREEING else too_few_waiters(met, event)


def _share_of_waiters(context: SignalContext, subject: Subject, surface: Surface) -> SignalValue:
    """The share of the waiters that remain without those for other caches in trouble."""
    caches = _waiters_by_cache(context, SURFACE_EVENTS[surface])
    if isinstance(caches, Unknown):
        return caches
    hot = set(context.hot_caches.caches(surface))
    named = set(context.hot_caches.waited_as(subject.caches))
    others = hot - named if hot & named else set()
    beside_it = sum(caches[cache] for cache in others)
    rest = caches.total() - beside_it
    own = sum(caches[cache] for cache in named)
    unnamed = sum(times for cache, times in caches.items() if cache == "unknown" or cache.endswith(NOT_LISTED))
    if unnamed and not certain(own / rest, (own + unnamed) / rest, subject.needs):
        return Unknown("v$session", f"{unnamed} of {rest} waiters name no known cache", LISTED, absent=True)
    beside = f", beside {beside_it} for {' and '.join(sorted(others))}" if others else ""
    return share_of_waiters(own, rest, SURFACE_EVENTS[surface], beside)


@signal(unit="ratio", of="v$session", surface="mutex", called="mutex waiters that name the cache")
def share_of_mutex_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache mutexes that name one of the cause's caches in P1."""
    return _share_of_waiters(context, subject, "mutex")


@signal(unit="ratio", of="v$session", surface="lock", called="lock waiters that name the cache")
def share_of_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that name one of the cause's caches in P1."""
    return _share_of_waiters(context, subject, "lock")


BEYOND_PARSING = ("dc_rollback_segments", "dc_sequences", "dc_files", "dc_awr_control")
"""Caches that transactions, inserts and background work read, and neither a parse nor a logon."""


def _dearest(context: SignalContext, subject: Subject) -> Surface:
    """The surface of the cause on which most time was lost."""
    return context.costliest([each for each in subject.surfaces if each in context.surfaces] or ("lock",))


@signal(
    unit="ratio",
    of="v$latch_children",
    called="waits for caches that no parse reads",
    share_of="row cache waits",
)
def share_of_waits_beyond_parsing(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the row cache waits for caches that no parse and no logon reads: undo segments, sequences, files, AWR."""
    surface = _dearest(context, subject)
    beyond = Subject(BEYOND_PARSING, surfaces=subject.surfaces, needs=subject.needs)
    named = share_of_sleeps(context, beyond) if surface == "latch" else _share_of_waiters(context, beyond, surface)
    if isinstance(named, Unknown):
        return named
    part = context.hot_caches.part_of_surface(surface, BEYOND_PARSING)
    return Known(part, f"{percent(part)} of those on the {surface}")


@signal(unit="ratio", of="v$rowcache", called="look-ups that load the entry, in the hottest cache", share_of="look-ups")
def hottest_getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cache that is waited for most which had to load the entry, per look-up. Unknown if none stands out."""
    surface = _dearest(context, subject)
    hottest = next(iter(context.hot_caches.named(surface)), None)
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", "getmisses")
    if hottest is None:
        return Unknown("v$rowcache", "no cache stands out by its waits", context.busier)
    return getmiss_ratio(context, Subject(hottest, needs=subject.needs))


@signal(unit="ratio", of="v$session", surface="lock", diluted=(">=",))
def exclusive_share_of_lock_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that want it exclusive (P3 = 5), because they change the entry."""
    caches = _waiters_by_cache(context, ROW_CACHE_LOCK_EVENT)
    if isinstance(caches, Unknown):
        return caches
    if context.samples.lack(ROW_CACHE_LOCK_EVENT, "p3"):
        return context.why_unknown("v$session", "p3")
    alike = context.crowd.alike if context.crowd else {}
    met, exclusive = caches.total(), sum(times for waiter, times in alike.items() if waiter.exclusive)
    bound = bound_of(subject.needs)
    return share_of_waiters(exclusive, met, ROW_CACHE_LOCK_EVENT, bound=bound.value if bound else HALF)


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


def _surface_share(context: SignalContext, subject: Subject, surface: Surface) -> SignalValue:
    """Unknown if a session was met whose wait may be another one on the surface, unless the others are enough."""
    waited = context.surface_wait_seconds(surface)
    reading = waited_share_of_db_time(context, waited, "v$system_event", "time_waited_micro")
    perhaps_more = context.look is not None and any(surface in perhaps for perhaps in context.look.untold)
    if isinstance(reading, Unknown) or not perhaps_more or already_enough(reading.value, subject.needs):
        return reading
    return context.why_unknown("waiting_sessions", "wait of some sessions")


@signal(
    unit="ratio",
    of="v$system_event, v$sys_time_model",
    surface="mutex",
    called="row cache mutex waits, share of DB time",
)
def mutex_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for row cache mutexes."""
    return _surface_share(context, subject, "mutex")


@signal(
    unit="ratio", of="v$system_event, v$sys_time_model", surface="lock", called="row cache lock waits, share of DB time"
)
def lock_share_of_db_time(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of DB time waited for row cache lock."""
    return _surface_share(context, subject, "lock")


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
    """Average time of one sleep on a row cache mutex. Far above 10 ms the host causes the wait, not the mutex.

    A wait is made of many sleeps, and lasts long in a long queue whatever a holder does. So only the length of a sleep shows what
    the host does.
    """
    sleeps, waited = _total(context, "sleeps"), _total(context, "wait_time")
    if isinstance(sleeps, Unknown) or isinstance(waited, Unknown):
        return sleeps if isinstance(sleeps, Unknown) else waited
    if sleeps.value < MINIMUM_WAITERS:
        why = f"too few events: {count(sleeps.value)} sleeps, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$mutex_sleep", why, context.busier)
    return Known(
        waited.value / 1000 / sleeps.value,
        f"{waited.value / 1e6:,.1f} s in {count(sleeps.value)} sleeps",
        waited.value / 1000,
        sleeps.value,
    )


@signal(unit="ratio", of="v$session", surface="mutex")
def hottest_cache_share_of_mutex_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache mutexes that name the same cache. Near 1 concentrated, below 0.5 diffuse."""
    caches = _waiters_by_cache(context, ROW_CACHE_MUTEX_EVENT)
    if isinstance(caches, Unknown):
        return caches
    return share_of_waiters(max(caches.values()), caches.total(), ROW_CACHE_MUTEX_EVENT)


# Signals of the length of one wait. Far above the ordinary length, the holder does not run.

LONG_WAIT_MICRO = 1e6
"""For waits of a second and more a few are enough, because no ordinary wait lasts so long."""


def _average_wait(context: SignalContext, event: str) -> SignalValue:
    """Milliseconds per wait for an event."""
    row = next((row for row in context.delta.rows("v$system_event") if row.get("event") == event), {})
    waits, micro = waits_of(row)
    if not row and context.delta.source == "views" and context.waited_seconds([event]) == 0:
        return Unknown("v$system_event", f"no session waited for {event}", context.busier)
    if waits is None or micro is None:
        return context.why_unknown("v$system_event", "total_waits")
    if waits < MINIMUM_WAITERS and (not waits or micro < waits * LONG_WAIT_MICRO):
        why = f"too few events: {waits:.0f} waits for {event}, at least {MINIMUM_WAITERS} are needed"
        return Unknown("v$system_event", why, context.busier)
    return Known(micro / 1000 / waits, f"{micro / 1e6:,.2f} s in {waits:,.0f} waits", micro / 1000, waits)


@signal(unit="ms", of="v$system_event", surface="lock")
def average_lock_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for row cache lock. Seconds mean that a holder keeps the entry during long work of its own."""
    return _average_wait(context, ROW_CACHE_LOCK_EVENT)


@signal(unit="ms", of="v$system_event", surface="latch")
def average_latch_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `latch: row cache objects`. Tens of milliseconds mean that holders do not run."""
    waited = _average_wait(context, SURFACE_EVENTS["latch"])
    slept = time_of_a_sleep(context, context.latch_row)
    return slept if isinstance(waited, Unknown) and isinstance(slept, Known) else waited
