"""Signals of the row cache latch: whose sleeps they are, where holders are, how long sleeps last."""

from collections.abc import Collection, Mapping
from statistics import median

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, Missing, Row, Value, number
from collectors.views.latchname import BUFFER_CHAINS
from rules.base import remembered
from rules.cache_map import look_up, why_not_inferred
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import function_of
from rules.samples import LATCH_EVENT
from rules.signals import SIGNALS
from rules.signals.instance import average_wait
from rules.signals.quantities import Subject, certain, enough_of_all, enough_sleeps, share
from rules.waiting_sessions import waits_of

PARENT_GET = ("kqrpre: find obj", "kqreqd: reget", "kqreqd")


def _total_sleeps(context: SignalContext) -> SignalValue:
    """Sleeps of all children. Unknown if they are not readable, or too few for a share."""
    sleeps = context.children_sleeps
    if sleeps is None:
        return context.why_unknown("v$latch_children", "sleeps")
    return enough_sleeps(context, sleeps, "v$latch_children")


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
    own, others = set(context.map.guarding(subject.caches)), context.hot_caches.others("latch", subject.caches)
    sleeps, left = _sleeps_of(context, own), total.value - _sleeps_of(context, others)
    whole = enough_sleeps(context, left, "v$latch_children")
    of = share(Known(sleeps), whole, {context.map.name(child) for child in others})
    unsure = _sleeps_of(context, _unsure(context, subject) - own)
    if unsure and isinstance(of, Known) and not certain(of.value, (sleeps + unsure) / left, subject.needs):
        return context.why_unknown("x$kqrst", "row of some caches")
    return of


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


def hottest_child_share_of_sleeps(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of all row cache latch sleeps that fell on one child: near 1 concentrated, below 0.5 diffuse."""
    total = _total_sleeps(context)
    hottest = max((number(row.get("sleeps")) or 0.0 for row in context.children), default=0.0)
    return share(Known(hottest), total)


def share_of_holders(context: SignalContext, subject: Subject, latch: str = ROW_CACHE_LATCH) -> SignalValue:
    """Share of a latch's sleeps whose holder was at the location, over all children: the view does not separate them."""
    rows = [row for row in context.delta.rows("v$latch_misses") if row.get("parent_name") == latch]
    total = context.sum_of(rows, "sleep_count")
    if total is None and (
        rows or latch != ROW_CACHE_LATCH or isinstance(context.delta.read("v$latch_misses"), Missing)
    ):
        return context.why_unknown("v$latch_misses", "sleep_count")
    here = sum(number(row.get("sleep_count")) or 0.0 for row in rows if row.get("location") == subject.location)
    return share(Known(here), enough_sleeps(context, total or 0.0, "v$latch_misses"))


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
    all_gets = enough_of_all(context, "gets")
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


def recurrent_sleep_ratio(context: SignalContext, subject: Subject) -> SignalValue:
    """Share of sleeps that repeat an earlier one of the same get. Above 0.3 the holder itself did not run."""
    repeated = context.latch.recurrent_sleep_ratio
    if repeated is None:
        return context.why_unknown("v$latch", "spin_gets")
    enough = enough_sleeps(context, context.latch.sleeps or 0.0, "v$latch")
    return enough if isinstance(enough, Unknown) else Known(repeated)


def evenness_of_holders(context: SignalContext, subject: Subject) -> SignalValue:
    """Least share of the sleeps among the three locations of a parent get. Near a third, sheer volume fills the latch."""
    each = [share_of_holders(context, Subject(location=location)) for location in PARENT_GET]
    known = [value for value in each if isinstance(value, Known)]
    if len(known) < len(each):
        return next(value for value in each if isinstance(value, Unknown))
    return min(known, key=lambda value: value.value)


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


def average_latch_wait(context: SignalContext, subject: Subject) -> SignalValue:
    """Average wait for `latch: row cache objects`. Tens of milliseconds mean that holders do not run."""
    waited = average_wait(context, subject, LATCH_EVENT)
    slept = SIGNALS["average_sleep"].read(context, subject)
    return slept if isinstance(waited, Unknown) and isinstance(slept, Known) else waited


# Signals of other latches. If they are slow too, the trouble is not in the dictionary.

LONG_SLEEP_MS = 50.0
MINIMUM_NEIGHBOUR_SLEEPS = 10
"""Fewer sleeps of one latch than this do not show how long a sleep lasts."""

ROUNDING_US = 500_000.0
"""A report prints the time waited for a latch in whole seconds, which is too coarse for a few sleeps."""


def slow_neighbours(context: SignalContext, subject: Subject) -> SignalValue:
    """Other latches, of a watched handful, with at least ten sleeps of 50 ms or more."""
    others = [
        row for row in context.delta.rows("v$latch") if row.get("name") not in (ROW_CACHE_LATCH, RESULT_CACHE_LATCH)
    ]
    if others and BUFFER_CHAINS not in {row.get("name") for row in others}:
        of = f"latch: {BUFFER_CHAINS}"
        waits = [waits_of(row) for row in context.delta.rows("v$system_event") if row.get("event") == of]
        others += [{"name": BUFFER_CHAINS, "sleeps": each, "wait_time": micro} for each, micro in waits]
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
