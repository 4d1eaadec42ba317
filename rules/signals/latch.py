"""Signals of the row cache latch: whose sleeps they are, where holders are, how long sleeps last."""

from collections.abc import Collection, Mapping
from statistics import median

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, Row, Value, number
from rules.base import remembered
from rules.cache_map import look_up, why_not_inferred
from rules.context import MINIMUM_CACHE_GETS, MINIMUM_SLEEPS, Known, SignalContext, SignalValue, Unknown, share
from rules.formatting import count, part_of
from rules.signals import Subject, certain, enough_sleeps, signal
from rules.signals.caches import all_dictionary_gets

PARENT_GET = ("kqrpre: find obj", "kqreqd: reget", "kqreqd")


def _total_sleeps(context: SignalContext) -> SignalValue:
    """Sleeps of all children. Unknown if they are not readable, or too few for a share."""
    sleeps = context.children_sleeps
    if sleeps is None:
        return context.why_unknown("v$latch_children", "sleeps")
    return enough_sleeps(context, sleeps, "v$latch_children")


@signal(unit="ratio", of="v$latch_children", surface="latch", called="sleeps on the cache")
def share_of_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of the row cache latch sleeps on the children that guard the cause's caches.

    If other children are hot as well, their sleeps are left out of the whole.
    """
    total = _total_sleeps(context)
    if isinstance(total, Unknown):
        return total
    if context.hot is None:
        return _unmapped(context)
    if isinstance(context.delta.read("v$rowcache"), Missing):
        return context.why_unknown("v$rowcache")
    own, hot = set(context.map.guarding(subject.caches)), context.hot_caches.children
    others = set(hot) - own if own & set(hot) else set()
    sleeps, elsewhere = _sleeps_of(context, own), _sleeps_of(context, others)
    of = share(Known(sleeps), Known(total.value - elsewhere))
    unsure = _sleeps_of(context, _unsure(context, subject) - own)
    most = (sleeps + unsure) / (total.value - elsewhere)
    if unsure and isinstance(of, Known) and not certain(of.value, most, subject.needs):
        return context.why_unknown("x$kqrst", "row of some caches")
    if not others or isinstance(of, Unknown):
        return of
    names = " and ".join(sorted(context.map.name(child) for child in others))
    return Known(of.value, f"{of.derivation}, beside {count(elsewhere)} for {names}", of.part, of.whole)


def _unsure(context: SignalContext, subject: Subject) -> set[int]:
    """Children that may guard the cause's caches, because the capture does not show all that they guard."""
    lost = context.lists_every_cache and not _unmapped_caches(context).isdisjoint(subject.caches)
    return _numbers(context) if lost else _partly_known(context)


@remembered
def _unmapped_caches(context: SignalContext) -> set[Value]:
    """Names in v$rowcache that the map of children lacks."""
    named = {cache.parameter for caches in context.map.children.values() for cache in caches.caches}
    return {row.get("parameter") for row in context.delta.rows("v$rowcache")} - named


@remembered
def _partly_known(context: SignalContext) -> set[int]:
    """Children that guard a cache without a name, or whose caches are unknown."""
    guarded = context.map.children
    nameless = {child for child, caches in guarded.items() if any(cache.parameter is None for cache in caches.caches)}
    return nameless | (_numbers(context) - set(guarded))


def _numbers(context: SignalContext) -> set[int]:
    return {int(child) for row in context.children if (child := number(row.get("child#"))) is not None}


def _sleeps_of(context: SignalContext, children: Collection[object]) -> float:
    return sum(slept for child, slept in _sleeps_by_child(context) if child in children) if children else 0.0


@remembered
def _sleeps_by_child(context: SignalContext) -> list[tuple[Value, float]]:
    """The children that slept, and their sleeps."""
    each = ((row.get("child#"), number(row.get("sleeps"))) for row in context.children)
    return [(child, slept) for child, slept in each if slept]


def _unmapped(context: SignalContext) -> Unknown:
    missing = context.why_unknown("x$kqrst")
    why = f"the cache of child {context.hot_child} is unknown: {missing.why}"
    if context.sum_of(context.children, "gets") is None:
        return Unknown("x$kqrst", f"{why}, and there are no child gets to infer it from", missing.way_out)
    child = context.hot_child if context.printed else None
    way_out = missing.way_out if child is None else look_up(child)
    return Unknown("x$kqrst", f"{why}, and {why_not_inferred(context.delta)}", way_out)


@signal(unit="ratio", of="v$latch_children", surface="latch")
def hottest_child_share_of_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all row cache latch sleeps that fell on one child: near 1 concentrated, below 0.5 diffuse."""
    total = _total_sleeps(context)
    hottest = max((number(row.get("sleeps")) or 0.0 for row in context.children), default=0.0)
    return share(Known(hottest), total)


@signal(unit="ratio", of="v$latch_misses", surface="latch", called="sleeps with a holder at this place")
def share_of_holders(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of row cache latch sleeps whose holder was at the location, over all children: the view does not separate them."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == ROW_CACHE_LATCH]
    total = context.sum_of(rows, "sleep_count")
    if total is None:
        if not rows and not isinstance(context.delta.read("v$latch_misses"), Missing):
            return enough_sleeps(context, 0.0, "v$latch_misses")
        return context.why_unknown("v$latch_misses", "sleep_count")
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return share(Known(here), enough_sleeps(context, total, "v$latch_misses"))


@signal(
    unit="ratio",
    of="v$latch_children, v$rowcache",
    surface="latch",
    called="sleeps of a get, times those of a get of other caches",
)
def hold_anomaly_index(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per dictionary get of the hot child, over the median of the other children with ≥ 1 % of the gets.

    Volume alone raises it to about the ratio of the get rates. Hundreds mean that each hold lasts longer. Only gets count,
    because they take the latch.
    """
    total = _total_sleeps(context)
    if isinstance(total, Unknown):
        return total
    own = [child for child in context.hot_caches.children if child in context.map.guarding(subject.caches)]
    if context.hot is None and not own:
        return _unmapped(context)
    return hold_anomaly(context, own[0] if own else context.hot_child or 0, subject.needs)


def hold_anomaly(context: SignalContext, child: int, needs: str = ">=") -> SignalValue:
    """The hold anomaly index of the given child instead of the hot one. As a lower bound it speaks against no cause."""
    all_gets = all_dictionary_gets(context)
    if isinstance(all_gets, Unknown):
        return all_gets
    hot, others = sleeps_and_gets(context, child, all_gets.value)
    if hot is None or not hot[1]:
        return context.why_unknown("v$rowcache", "gets")
    if not others:
        return Unknown("v$rowcache", "no other child has 1 % of the dictionary gets to compare with", context.busier)
    # A child without a single sleep counts as one sleep, so the index is a lower bound then.
    usual = median(max(sleeps, 1.0) / gets for sleeps, gets in others.values())
    names = ", ".join(sorted(context.map.name(child) for child in others))
    bound = needs.partition(" ")[2]
    if bound and hot[0] / hot[1] / usual < float(bound) and not median(sleeps for sleeps, _ in others.values()):
        why = f"sleeps per get are at least {hot[0] / hot[1] / usual:.3g} times those of {names}, which never slept"
        return Unknown("v$latch_children", why, context.busier)
    return Known(hot[0] / hot[1] / usual, f"{hot[0] / hot[1]:.3g} sleeps for each get, against {usual:.3g} of {names}")


def sleeps_and_gets(
    context: SignalContext, hottest: int, all_gets: float
) -> tuple[tuple[float, float] | None, Mapping[int, tuple[float, float]]]:
    """Sleeps and dictionary gets of one child, and of every other child with at least 1 % of the gets that is not hot."""
    pairs: dict[int, tuple[float, float]] = {}
    for row in context.children:
        guarded = context.map.children.get(int(number(row.get("child#")) or 0))
        gets = context.sum_of(guarded.rows, "gets") if guarded else None
        if guarded and gets:
            pairs[guarded.child] = (number(row.get("sleeps")) or 0.0, gets)
    hot = pairs.pop(hottest, None)
    least = 0.01 * (all_gets - sum(pairs.pop(child, (0.0, 0.0))[1] for child in context.hot_caches.children))
    return hot, {child: pair for child, pair in pairs.items() if pair[1] >= least}


def misses_per_get(context: SignalContext, latch: Row) -> SignalValue:
    """Misses per get of a row of v$latch."""
    gets, misses = number(latch.get("gets")), number(latch.get("misses"))
    if gets is None or misses is None:
        return context.why_unknown("v$latch", "misses")
    if gets < MINIMUM_CACHE_GETS:
        why = f"too few events: {count(gets)} latch gets, at least {count(MINIMUM_CACHE_GETS)} are needed"
        return Unknown("v$latch", why, context.busier)
    return Known(misses / gets, part_of(misses, gets), misses, gets)


def sleeps_of_a_miss(context: SignalContext, latch: Row) -> SignalValue:
    """Sleeps per miss of a row of v$latch."""
    sleeps, misses = number(latch.get("sleeps")), number(latch.get("misses"))
    if sleeps is None or misses is None:
        return context.why_unknown("v$latch", "sleeps")
    if misses < MINIMUM_SLEEPS:
        why = f"too few events: {count(misses)} misses, at least {MINIMUM_SLEEPS} are needed"
        return Unknown("v$latch", why, context.busier)
    return Known(sleeps / misses, part_of(sleeps, misses), sleeps, misses)


def time_of_a_sleep(context: SignalContext, latch: Row) -> SignalValue:
    """Milliseconds per sleep of a row of v$latch."""
    waited, sleeps = number(latch.get("wait_time")), number(latch.get("sleeps"))
    if waited is None or sleeps is None:
        return context.why_unknown("v$latch", "wait_time")
    enough = enough_sleeps(context, sleeps, "v$latch")
    if isinstance(enough, Unknown):
        return enough
    return Known(waited / 1000 / sleeps, f"{waited / 1e6:,.1f} s in {count(sleeps)} sleeps", waited / 1000, sleeps)


@signal(unit="sleeps", of="v$latch", surface="latch")
def row_cache_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps on the row cache latch."""
    sleeps = context.latch.sleeps
    return context.why_unknown("v$latch", "sleeps") if sleeps is None else Known(sleeps)


@signal(unit="ratio", of="v$latch", surface="latch", called="gets that found the latch busy", share_of="gets")
def miss_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Misses per get of the row cache latch: how often it was busy at the first try."""
    return misses_per_get(context, context.latch_row)


@signal(unit="sleeps per miss", of="v$latch", surface="latch")
def sleeps_per_miss(context: SignalContext, subject: Subject) -> SignalValue:
    """Sleeps per miss of the row cache latch: 0 means that spinning was always enough."""
    return sleeps_of_a_miss(context, context.latch_row)


@signal(unit="ms", of="v$latch", surface="latch")
def average_sleep(context: SignalContext, subject: Subject) -> SignalValue:
    """Average time of one sleep on the row cache latch. Far above 10 ms the host causes the wait, not the latch."""
    return time_of_a_sleep(context, context.latch_row)


@signal(unit="ratio", of="v$latch", surface="latch", called="sleeps that repeat one of the same get", share_of="sleeps")
def recurrent_sleep_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of sleeps that repeat an earlier one of the same get. Above 0.3 the holder itself did not run."""
    repeated = context.latch.recurrent_sleep_ratio
    if repeated is None:
        return context.why_unknown("v$latch", "spin_gets")
    enough = enough_sleeps(context, context.latch.sleeps or 0.0, "v$latch")
    return enough if isinstance(enough, Unknown) else Known(repeated)


@signal(unit="ratio", of="v$latch_misses", surface="latch")
def evenness_of_holders(context: SignalContext, subject: Subject) -> SignalValue:
    """Least share of the sleeps among the three locations of a parent get. Near a third, sheer volume fills the latch."""
    each = [share_of_holders(context, Subject(location=location)) for location in PARENT_GET]
    known = [value for value in each if isinstance(value, Known)]
    if len(known) < len(each):
        return next(value for value in each if isinstance(value, Unknown))
    return min(known, key=lambda value: value.value)


# Signals of other latches. If they are slow too, the trouble is not in the dictionary.

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
