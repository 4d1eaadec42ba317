"""Compares the troubles as Changes: what they cost, and the sleeps and waits on each surface."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from statistics import median

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Missing, number
from rules.baseline import sleeps_of
from rules.comparison.changes import (
    OF_TIME,
    OF_WORK,
    ComparedFigure,
    ComparedSides,
    FigureChange,
    beyond_noise,
    both,
    counted,
    incomparable,
    known,
    level,
    untold,
)
from rules.context import MINIMUM_SLEEPS, SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, rough
from rules.model import Surface
from rules.signals.latch import hold_anomaly, sleeps_and_gets
from rules.signals.quantities import enough_of_all

PRINTED_SECONDS = 1.0
"""A report prints time in whole seconds, so less than one is noise."""
ANOMALY_FACTOR = 2.0
"""An index based on few sleeps of other children is an estimate. A smaller difference than this means it is the same."""
FEW_SLEEPS = 10.0
"""With fewer sleeps of the other children, or if the usual one has none, the index is a lower bound that grows with gets."""
SAME_GETS = 1.5
"""Lower bounds are compared only if the gets of one side are at most this many times those of the other."""


def cost_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """The cost of row cache waits, in total and by surface, as a share of DB time if that is known."""
    whole = ComparedFigure("row_cache_wait_share", "row cache waits", figure="row_cache_wait_share")
    yield _waits(pair, whole, lambda context: context.row_cache_wait_seconds, _events)
    for surface, name in SURFACE_EVENTS.items():
        if surface in pair.before.surfaces and surface in pair.after.surfaces:
            item = ComparedFigure(f"{surface}_wait_share", f"waits for `{name}`", surface=surface)
            yield _waits(pair, item, _seconds(surface), _sleeps_behind(surface))


def _waits(
    pair: ComparedSides,
    item: ComparedFigure,
    waited: Callable[[SignalContext], float | None],
    events: Callable[[SignalContext], float | None],
) -> FigureChange:
    """Seconds waited. They come in waits of an average length, so their noise counts twice that length for the spread."""
    readings = both(pair, lambda context: known(context, waited(context), "v$system_event", "time_waited_micro"))
    seconds = sum(reading.value for reading in readings if isinstance(reading, Known))
    waits = sum(events(side) or 0.0 for side in (pair.before, pair.after))
    printed = PRINTED_SECONDS if pair.before.printed or pair.after.printed else 0.0
    each = 2 * seconds / waits if seconds and waits else 1.0
    return counted(item, pair, readings, OF_TIME, size=max(each, printed))


def _seconds(surface: Surface) -> Callable[[SignalContext], float | None]:
    return lambda context: context.surface_wait_seconds(surface)


def _events(context: SignalContext) -> float | None:
    """Waits and sleeps behind the time lost on the row cache."""
    return (sleeps_of(context) or 0.0) + (_lock_waits(context) or 0.0)


def _sleeps_behind(surface: Surface) -> Callable[[SignalContext], float | None]:
    return _lock_waits if surface == "lock" else sleeps_of


def _lock_waits(context: SignalContext) -> float | None:
    """Waits for row cache lock. Zero if the view was read and does not list them."""
    if isinstance(context.delta.read("v$system_event"), Missing):
        return None
    named = any(row.get("event") == ROW_CACHE_LOCK_EVENT for row in context.delta.rows("v$system_event"))
    return context.delta.cell("v$system_event", "event", ROW_CACHE_LOCK_EVENT, "total_waits") if named else 0.0


def surface_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """Latch, mutexes, lock and result cache latch as a whole, each if both sides have it."""
    guarded = [surface for surface in pair.before.surfaces if surface in pair.after.surfaces]
    if "latch" in guarded:
        for column in ("gets", "misses", "sleeps"):
            figure = {"gets": "latch_gets_per_second", "sleeps": "sleeps_per_second"}.get(column)
            item = ComparedFigure(f"latch_{column}", f"{column} of the row cache latch", surface="latch", figure=figure)
            yield counted(item, pair, both(pair, _latch(column)), OF_WORK)
    if "mutex" in guarded:
        item = ComparedFigure(
            "mutex_sleeps", "sleeps on row cache mutexes", surface="mutex", figure="sleeps_per_second"
        )
        readings = both(pair, lambda context: known(context, sleeps_of(context), "v$mutex_sleep", "sleeps"))
        yield counted(item, pair, readings, OF_WORK)
    item = ComparedFigure("lock_waits", f"number of waits for `{ROW_CACHE_LOCK_EVENT}`", surface="lock")
    lock = both(pair, lambda context: known(context, _lock_waits(context), "v$system_event", "total_waits"))
    yield counted(item, pair, lock, OF_WORK)
    yield from _result_cache(pair)


def _latch(column: str) -> Callable[[SignalContext], SignalValue]:
    return lambda context: known(context, number(context.latch_row.get(column)), "v$latch", column)


def _result_cache(pair: ComparedSides) -> Iterator[FigureChange]:
    readings = both(pair, _result_cache_sleeps)
    if any(isinstance(reading, Known) for reading in readings):
        item = ComparedFigure("result_cache_sleeps", "sleeps on the result cache latch", surface="result-cache")
        yield counted(item, pair, readings, OF_WORK)


def _result_cache_sleeps(context: SignalContext) -> SignalValue:
    return known(context, context.delta.cell("v$latch", "name", RESULT_CACHE_LATCH, "sleeps"), "v$latch", "sleeps")


def child_changes(pair: ComparedSides) -> Iterator[FigureChange]:
    """The hot child of the side that slept more: its sleeps and its hold anomaly. Empty if mutexes guard one side."""
    if "mutex" in (pair.before.mechanism, pair.after.mechanism):
        return
    cache = sick_cache(pair)
    if cache is None:
        return
    slept, held = (
        ComparedFigure("child_sleeps", f"sleeps on {cache}", of=cache, surface="latch"),
        ComparedFigure("hold_anomaly", f"the hold anomaly index of {cache}", of=cache, surface="latch"),
    )
    yield counted(slept, pair, both(pair, lambda context: child_sleeps(context, cache)), OF_WORK)
    yield _held(held, pair, cache)


def sick_cache(pair: ComparedSides) -> str | None:
    """The cache behind the child with the most sleeps of either side. None if no child's cache is known."""
    hottest: list[tuple[float, str]] = []
    for context in (pair.before, pair.after):
        if context.hot is not None and context.hot.name is not None:
            row = next(row for row in context.children if row.get("child#") == context.hot_child)
            slept = number(row.get("sleeps")) or 0.0
            hottest.append((slept / (context.delta.basis.seconds or 1.0), context.hot.name))
    return max(hottest, default=(0.0, None))[1]


def children_of(context: SignalContext, cache: str) -> tuple[int, ...]:
    """The children that guard a cache, or each of several joined by +."""
    return context.map.guarding(cache.split("+"))


def child_sleeps(context: SignalContext, cache: str) -> SignalValue:
    """Sleeps on the children that guard a cache."""
    own = children_of(context, cache)
    rows = [row for row in context.children if row.get("child#") in own]
    if not own and context.children:
        return Unknown("x$kqrst", f"which child guards {cache} is not known", context.why_unknown("x$kqrst").way_out)
    return known(context, context.sum_of(rows, "sleeps"), "v$latch_children", "sleeps")


def _held(item: ComparedFigure, pair: ComparedSides, cache: str) -> FigureChange:
    """The index of both sides. As a lower bound it changes only with the child's own sleeps per get, over similar windows."""
    before, after = readings = both(pair, lambda context: _anomaly(context, cache))
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return untold(item, before, after)
    (own, others), (own_after, others_after) = (
        _slept_and_asked(context, cache) for context in (pair.before, pair.after)
    )
    slept = [sum(sleeps for sleeps, _ in side) for side in (others, others_after)]
    if min(slept) >= FEW_SLEEPS and not any(_floored(side) for side in (others, others_after)):
        return level(item, pair, readings, "", ANOMALY_FACTOR)
    low, high = sorted(sum(gets for _, gets in side) for side in (others, others_after))
    if high > SAME_GETS * low:
        few = f"too few sleeps of other children over windows that differ ({count(slept[0])} and {count(slept[1])})"
        each = " and ".join(rough(sleeps / gets) for sleeps, gets in (own, own_after))
        return incomparable(item, before.value, after.value, f"{few}; sleeps per get of {cache} itself are {each}")
    moved = beyond_noise(own[0], own_after[0], own[1], own_after[1])
    return level(item, pair, readings, "", ANOMALY_FACTOR if moved else inf)


def _floored(others: Sequence[tuple[float, float]]) -> bool:
    """Whether the child that is the usual of the index slept never and counts as one sleep."""
    plain, floored = (median(max(sleeps, least) / gets for sleeps, gets in others) for least in (0.0, 1.0))
    return plain != floored


def _slept_and_asked(context: SignalContext, cache: str) -> tuple[tuple[float, float], Sequence[tuple[float, float]]]:
    """Sleeps and gets of the child of a cache, and of each other child, in a scene with a known index."""
    gets = enough_of_all(context, "gets")
    own, others = sleeps_and_gets(context, _child(context, cache), gets.value if isinstance(gets, Known) else 0.0)
    return own or (0.0, 1.0), tuple(others.values())


def _anomaly(context: SignalContext, cache: str) -> SignalValue:
    slept = child_sleeps(context, cache)
    if isinstance(slept, Unknown):
        return slept
    total = context.children_sleeps or 0.0
    if total < MINIMUM_SLEEPS:
        return Unknown("v$latch_children", f"too few events: {total:,.0f} sleeps of all children", context.busier)
    return hold_anomaly(context, _child(context, cache))


def _child(context: SignalContext, cache: str) -> int:
    """The child with the most sleeps of those that guard a cache."""
    sleeps = {row.get("child#"): number(row.get("sleeps")) or 0.0 for row in context.children}
    return max(children_of(context, cache), key=lambda child: (sleeps.get(child, 0.0), -child))
