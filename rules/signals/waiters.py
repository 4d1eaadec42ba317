"""Signals of waiting sessions: the sampled waiters of an interval, and those for the library cache at the poll."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, comb

from collectors.model import ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Missing, Row, text
from rules.base import bound_of
from rules.context import SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import part_of, percent
from rules.library_cache import (
    ACCOUNT_STATUS,
    DBINSTANCE,
    LAST_LOGON,
    LIBRARY_CACHE_LOCK,
    LIBRARY_CACHE_PIN,
    LIBRARY_CACHE_SESSIONS,
    OBJECTS,
    foreground,
    target_of,
)
from rules.model import Surface
from rules.samples import MINIMUM_WAITERS, NOT_LISTED
from rules.signals import SIGNALS
from rules.signals.latch import share_of_sleeps
from rules.signals.quantities import Subject, certain

FEW = 5
"""Fewer waiters that all say the same do so by chance more often than once in twenty."""
AGREEING = 3
"""From so few waiters on it counts, with a doubt, that all of them say so."""
CHANCE = 0.05
"""A share of too few waiters counts where at most so often chance alone puts it on this side of its bound."""
HALF = 0.5
"""The bound for which MINIMUM_WAITERS are enough. One further from it needs more."""
LONGER = "ask for a longer burst, or wait for a busier interval"


def too_few_waiters(
    met: int, event: str, view: str = "v$session", way_out: str = LONGER, least: int = MINIMUM_WAITERS
) -> Unknown:
    """That too few waiters were seen for a share."""
    why = f"too few waiters: {met} seen waiting for {event}, at least {least} are needed"
    return Unknown(view, why, way_out)


def share_of_waiters(
    own: int, met: int, event: str, beside: str = "", few: Unknown | None = None, bound: float = HALF
) -> SignalValue:
    """A share of waiters. Of few, it counts where chance alone seldom puts it on this side of its bound; of very few, where all
    say yes.

    `few`: what to give where they are too few, if not `too_few_waiters`. `bound`: what the share is compared with. That none of
    five says yes is no sign that fewer than a tenth do.
    """
    least = ceil(MINIMUM_WAITERS * HALF / min(bound, 1 - bound))
    above = own >= bound * met
    # How often so many of those who were met say yes, if each does as often as the bound says.
    times = (range(own, met + 1) if above else range(own + 1)) if met < least else ()
    chance = sum(comb(met, each) * bound**each * (1 - bound) ** (met - each) for each in times)
    if chance > CHANCE and not (own == met >= AGREEING):
        return few or too_few_waiters(met, event, least=least)
    return Known(own / met, f"{part_of(own, met)} waiters{beside}", own, met, few=met < FEW)


# Sampled waiters, on mutexes and on the row cache lock.

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


def share_by_cache(context: SignalContext, subject: Subject, surface: Surface) -> SignalValue:
    """The share of the waiters for the cause's caches that remain without those for other caches in trouble."""
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


BEYOND_PARSING = ("dc_rollback_segments", "dc_sequences", "dc_files", "dc_awr_control")
"""Caches that transactions, inserts and background work read, and neither a parse nor a logon."""


def _dearest(context: SignalContext, subject: Subject) -> Surface:
    """The surface of the cause on which most time was lost."""
    return context.costliest([each for each in subject.surfaces if each in context.surfaces] or ("lock",))


def share_of_waits_beyond_parsing(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the row cache waits for caches that no parse and no logon reads: undo segments, sequences, files, AWR."""
    surface = _dearest(context, subject)
    beyond = Subject(BEYOND_PARSING, surfaces=subject.surfaces, needs=subject.needs)
    named = share_of_sleeps(context, beyond) if surface == "latch" else share_by_cache(context, beyond, surface)
    if isinstance(named, Unknown):
        return named
    part = context.hot_caches.part_of_surface(surface, BEYOND_PARSING)
    return Known(part, f"{percent(part)} of those on the {surface}")


def hottest_getmiss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Look-ups in the cache that is waited for most which had to load the entry, per look-up. Unknown if none stands out."""
    surface = _dearest(context, subject)
    hottest = next(iter(context.hot_caches.named(surface)), None)
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache", "getmisses")
    if hottest is None:
        return Unknown("v$rowcache", "no cache stands out by its waits", context.busier)
    return SIGNALS["getmiss_ratio"].read(context, Subject(hottest, needs=subject.needs))


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


def hottest_cache_share_of_mutex_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache mutexes that name the same cache. Near 1 concentrated, below 0.5 diffuse."""
    caches = _waiters_by_cache(context, ROW_CACHE_MUTEX_EVENT)
    if isinstance(caches, Unknown):
        return caches
    return share_of_waiters(max(caches.values()), caches.total(), ROW_CACHE_MUTEX_EVENT)


def lock_waiters_without_statement(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the sampled waiters for row cache lock that run no statement yet, as during a logon."""
    samples = context.samples
    if isinstance(context.delta.read("v$session"), Missing) or samples.lack(ROW_CACHE_LOCK_EVENT, "sql_id"):
        return context.why_unknown("v$session", "sql_id")
    met = samples.met(ROW_CACHE_LOCK_EVENT)
    if met < MINIMUM_WAITERS:
        return too_few_waiters(met, ROW_CACHE_LOCK_EVENT)
    without = sum(times for sql_id, times in samples.by_cell(ROW_CACHE_LOCK_EVENT, "sql_id").items() if not sql_id)
    return Known(without / met, f"{part_of(without, met)} waiters", without, met)


# Sessions that wait for library cache lock at the poll, by what they wait for. See `rules.library_cache`.

P3_TELLS = (
    "P3 of who waits for library cache lock, divided by 65,536 without what is above 32 bits, tells: 79 is the status of an "
    "account, 127 the time of a last logon, 1 to 5 an object"
)
LOCK = (LIBRARY_CACHE_LOCK,)
LOCK_OR_PIN = (LIBRARY_CACHE_LOCK, LIBRARY_CACHE_PIN)
"""What is waited for behind a change of an object: its lock by who parses, its pin by who executes."""
NAMESPACES: Mapping[str, tuple[Sequence[int], Sequence[str]]] = {
    "account status": ((ACCOUNT_STATUS,), LOCK),
    "last logon": ((LAST_LOGON,), LOCK),
    "instance": ((DBINSTANCE,), LOCK),
    "object": (OBJECTS, LOCK_OR_PIN),
}
"""What is waited for → its namespaces, and the events of who waits for it."""


def _waiters(context: SignalContext, events: Sequence[str]) -> Sequence[Row] | Unknown:
    reading = context.delta.read(LIBRARY_CACHE_SESSIONS)
    if isinstance(reading, Missing):
        unknown = context.why_unknown(LIBRARY_CACHE_SESSIONS)
        return replace(unknown, way_out=f"{unknown.way_out}; {P3_TELLS}")
    return [row for row in foreground(reading.rows) if row.get("event") in events]


def _share(
    context: SignalContext, subject: Subject, alike: Sequence[bool | None], events: Sequence[str]
) -> SignalValue:
    """The share of True; None is unknown."""
    waited_for = " or ".join(events)
    met, own, unknown = len(alike), alike.count(True), alike.count(None)
    if unknown and not certain(own / met, (own + unknown) / met, subject.needs):
        return context.why_unknown(LIBRARY_CACHE_SESSIONS, "p1raw and p3 of some sessions")
    few = too_few_waiters(met, waited_for, LIBRARY_CACHE_SESSIONS, context.busier)
    return share_of_waiters(own, met, waited_for, few=few)


def share_by_namespace(context: SignalContext, subject: Subject, what: str) -> SignalValue:
    """Share of the waiters at the poll that want what has one of some namespaces."""
    namespaces, events = NAMESPACES[what]
    rows = _waiters(context, events)
    if isinstance(rows, Unknown):
        return rows
    found = [target_of(row.get("p3")).namespace for row in rows]
    return _share(context, subject, [None if each is None else each in namespaces for each in found], events)


def one_handle_share_of_library_cache_waiters(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the waiters for `library cache lock` and `pin` at the poll that want the same handle: one account, one object."""
    rows = _waiters(context, LOCK_OR_PIN)
    if isinstance(rows, Unknown):
        return rows
    handles = [text(row.get("p1raw")) for row in rows]
    most = Counter(sorted(handle for handle in handles if handle)).most_common(1)
    return _share(context, subject, [None if each is None else each == most[0][0] for each in handles], LOCK_OR_PIN)
