"""compare(): one Delta against another, figure by figure, per unit of work. Noise and ordinary variation are not a change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from math import inf
from statistics import median
from typing import Literal

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Basis, Delta, Missing, number
from rules.baseline import UsualRange, figures, sleeps_of
from rules.cause import Cause
from rules.comparison.changes import (
    OF_TIME,
    OF_WORK,
    ChangeVerification,
    ComparedFigure,
    ComparedSides,
    Comparison,
    FigureChange,
    NotVerified,
    Side,
    WorkDone,
    beyond_noise,
    both,
    cache_changes,
    counted,
    incomparable,
    known,
    level,
    location_changes,
    untold,
    work_changes,
    work_per_second,
)
from rules.context import MINIMUM_SLEEPS, SURFACE_EVENTS, Known, SignalContext, SignalValue, Unknown
from rules.formatting import count, percent, rough, sentence, whole_percent
from rules.model import DiagnosisBasis, Severity, Surface
from rules.signals.latch import hold_anomaly, sleeps_and_gets
from rules.signals.quantities import enough_of_all

UNEQUAL = 3.0
"""The comparison names windows, or loads, if one is this many times the other."""
ALIKE = 1.2
"""Work that differs by no more than this factor is the same."""
WORK = ("executions", "transactions", "logons", "db_time")
LEADING = ("child_sleeps", "latch_sleeps", "mutex_sleeps", "lock_waits", "result_cache_sleeps", "row_cache_wait_share")
"""The subject of the one sentence: the first of these that changed, else the first that is known."""


def compare(
    before: Delta, after: Delta, usual: Mapping[str, UsualRange] | None = None, mark: str | None = None
) -> Comparison:
    """Before against after. `usual` has baselines by the names of `baseline.figures`; `mark` is the change in between.

    A figure that one side lacks never counts as zero. If the sides are exchanged, every factor is inverted.
    """
    ordinary = (figures(before), figures(after)) if usual else ({}, {})
    pair = ComparedSides(SignalContext(before), SignalContext(after), usual or {}, ordinary)
    guarded = {side.mechanism for side in (pair.before, pair.after)} - {None}
    changes = (
        *cost_changes(pair),
        *child_changes(pair),
        *surface_changes(pair),
        *location_changes(pair),
        *cache_changes(pair),
        *work_changes(pair),
    )
    return Comparison(
        database=after.database,
        before=_side(pair.before),
        after=_side(pair.after),
        comparable=len(guarded) < 2,
        mark=mark,
        changes=changes,
        deciding=None if _crosses(pair) else _deciding(changes),
        work=_work_done(pair),
        notes=tuple(_notes(pair)),
        sentence=_sentence(pair, changes, mark),
    )


def _side(context: SignalContext) -> Side:
    delta = context.delta
    return Side(
        database=delta.database,
        release=delta.release,
        mechanism=context.mechanism,
        source=delta.source,
        basis=DiagnosisBasis(**asdict(delta.basis)),
        work=work_per_second(context),
    )


def _crosses(pair: ComparedSides) -> bool:
    """Whether latches guard one side and mutexes the other."""
    return {pair.before.mechanism, pair.after.mechanism} == {"latch", "mutex"}


def _deciding(changes: Sequence[FigureChange]) -> FigureChange:
    """The change to name: the first leading one that changed, else the first that is known."""
    return min(
        (change for change in changes if change.name in LEADING),
        key=lambda change: (change.verdict == "cannot tell", change.verdict != "changed", LEADING.index(change.name)),
    )


def _work_done(pair: ComparedSides) -> WorkDone | None:
    first, second = work_per_second(pair.before), work_per_second(pair.after)
    name = next((name for name in WORK if first.get(name) and name in second), None)
    if name is None:
        return None
    factor = second[name] / first[name]
    return WorkDone(name=name, before=first[name], after=second[name], factor=factor, same=1 / ALIKE <= factor <= ALIKE)


def _sentence(pair: ComparedSides, changes: Sequence[FigureChange], mark: str | None) -> str:
    lead = f"After the mark `{mark}`, " if mark else ""
    if _crosses(pair):
        cost = next(change for change in changes if change.name == "row_cache_wait_share")
        guards = ["mutexes" if side.mechanism == "mutex" else "latches" for side in (pair.before, pair.after)]
        return sentence(
            f"{lead}{guards[0]} guard the row cache before and {guards[1]} after, so their sleeps cannot be compared item by "
            f"item; {_lowered(cost)}."
        )
    top = _deciding(changes)
    # A side too small for DB time is too small for the verdict. One too small for a rare event may still be enough.
    weighed = (change for change in changes if change.name == "row_cache_wait_share" or change is top)
    little = next((change for change in weighed if change.too_little), None)
    if little is not None:
        lead = f"{little.why}; {lead[:1].lower()}{lead[1:]}"
    if top.verdict == "cannot tell":
        said = "" if top.too_little else f": {top.why}"
        return sentence(f"{lead}what changed is unknown{said}.")
    held = next((change for change in changes if change.name == "hold_anomaly" and top.name == "child_sleeps"), None)
    rest = "; some remain" if top.verdict == "changed" and top.direction == "fell" and top.after else ""
    cheap = {pair.before.gate, pair.after.gate} == {Severity.INFO}
    worth = "; row cache waits cost next to nothing on either side" if cheap else ""
    return sentence(f"{lead}{_lowered(top)}{_of_anomaly(held, top)}{rest}{worth}.")


def _lowered(change: FigureChange) -> str:
    """The sentence of a change for the middle of another sentence."""
    return change.sentence[:1].lower() + change.sentence[1:].rstrip(".")


def _of_anomaly(held: FigureChange | None, top: FigureChange) -> str:
    """How the hold anomaly changed, next to the sleeps of the same child."""
    if held is None or held.before is None or held.after is None or held.verdict != "changed":
        return ""
    went = "" if held.direction == top.direction else f" {held.direction}"
    return f" and the hold anomaly index{went} from {rough(held.before)} to {rough(held.after)}"


def _notes(pair: ComparedSides) -> Iterator[str]:
    """Differences between the two sides other than the figures."""
    before, after = pair.before.delta, pair.after.delta
    if before.database != after.database:
        yield f"two databases are compared: {before.database} and {after.database}"
    if before.release != after.release:
        yield f"the release is {before.release or 'unknown'} before and {after.release or 'unknown'} after"
    if before.source != after.source:
        yield "one side is a printed report, whose figures are rounded and whose caches are sums"
    yield from _instances(before, after)
    yield from _windows(before.basis, after.basis)
    if before.database == after.database:
        yield from _order(before.basis, after.basis)
    yield from _loads(pair)


def _instances(before: Delta, after: Delta) -> Iterator[str]:
    """Two instances of a database, or one that restarted. Two databases always started at different times."""
    if before.database != after.database:
        return
    first, second = (next(iter(delta.rows("v$instance")), {}) for delta in (before, after))
    numbers = [row.get("instance_number") for row in (first, second)]
    starts = [row.get("startup_time") for row in (first, second)]
    if numbers[0] != numbers[1] and None not in numbers:
        yield f"two instances are compared: {numbers[0]} and {numbers[1]}"
    elif starts[0] != starts[1] and None not in starts:
        yield f"the instance restarted between the two sides (started {starts[0]} and {starts[1]})"


def _windows(before: Basis, after: Basis) -> Iterator[str]:
    for name, basis in (("before", before), ("after", after)):
        if basis.kind == "totals":
            yield f"{name} are totals of unknown age: only shares and figures per piece of work are compared, no rates"
        elif basis.kind == "since_startup":
            yield f"{name} is an average since instance start"
    if before.seconds and after.seconds:
        short, long = sorted((before.seconds, after.seconds))
        if long >= UNEQUAL * short:
            yield f"the windows are unequal, {before.seconds:,.0f} s and {after.seconds:,.0f} s; the short one varies more"


def _order(before: Basis, after: Basis) -> Iterator[str]:
    if comparable_times(before.end, after.begin) and before.end and after.begin and before.end > after.begin:
        later = comparable_times(before.begin, after.end) and before.begin and after.end and before.begin >= after.end
        order = "after is the earlier of the two" if later else "the two windows overlap"
        yield "both sides are the same window" if before == after else order


def comparable_times(time: datetime | None, other: datetime | None) -> bool:
    """Whether two times are known and both with or both without a zone. A report prints no zone."""
    return time is not None and other is not None and (time.tzinfo is None) == (other.tzinfo is None)


def _loads(pair: ComparedSides) -> Iterator[str]:
    first, second = work_per_second(pair.before), work_per_second(pair.after)
    for name in ("executions", "transactions"):
        if first.get(name) and second.get(name):
            factor = second[name] / first[name]
            if not 1 / UNEQUAL < factor < UNEQUAL:
                yield (
                    f"{name} went from {rough(first[name])} to {rough(second[name])} per second; sleeps grow faster than "
                    "the load, so even sleeps per piece of work differ from those of the same load"
                )
                return


# What the waits cost, and the sleeps and waits on each surface.

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
            yield _waits(
                pair,
                item,
                partial(SignalContext.surface_wait_seconds, surface=surface),
                _lock_waits if surface == "lock" else sleeps_of,
            )


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


def _events(context: SignalContext) -> float | None:
    """Waits and sleeps behind the time lost on the row cache."""
    return (sleeps_of(context) or 0.0) + (_lock_waits(context) or 0.0)


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

            def read(context: SignalContext, column: str = column) -> SignalValue:
                return known(context, number(context.latch_row.get(column)), "v$latch", column)

            item = ComparedFigure(f"latch_{column}", f"{column} of the row cache latch", surface="latch", figure=figure)
            yield counted(item, pair, both(pair, read), OF_WORK)
    if "mutex" in guarded:
        item = ComparedFigure(
            "mutex_sleeps", "sleeps on row cache mutexes", surface="mutex", figure="sleeps_per_second"
        )
        readings = both(pair, lambda context: known(context, sleeps_of(context), "v$mutex_sleep", "sleeps"))
        yield counted(item, pair, readings, OF_WORK)
    item = ComparedFigure("lock_waits", f"number of waits for `{ROW_CACHE_LOCK_EVENT}`", surface="lock")
    lock = both(pair, lambda context: known(context, _lock_waits(context), "v$system_event", "total_waits"))
    yield counted(item, pair, lock, OF_WORK)
    slept = both(pair, _result_cache_sleeps)
    if any(isinstance(reading, Known) for reading in slept):
        item = ComparedFigure("result_cache_sleeps", "sleeps on the result cache latch", surface="result-cache")
        yield counted(item, pair, slept, OF_WORK)


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


# verified(): whether a change ended a trouble: sleeps fell beyond noise, and the work went on.

WORK_GOES_ON = 0.5
"""At least this share of the work before must still be done after."""
EXPECTED = 20.0
"""At the rate before, at least this many sleeps must be due after. Otherwise their absence means nothing."""
SLEEPS: dict[Surface, Sequence[str]] = {
    "latch": ("child_sleeps", "latch_sleeps"),
    "mutex": ("mutex_sleeps",),
    "lock": ("lock_waits",),
    "result-cache": ("result_cache_sleeps",),
}
"""What to check on each surface, the closest to the cache first."""
ASKING = {"dc_rollback_segments": "transactions", "dc_profiles": "logons"}
"""The work that uses a cache, where it is not any statement."""


def verified(comparison: Comparison | None, cause: Cause) -> ChangeVerification | NotVerified:
    """Whether a trouble of the cause ended because of a change mark; `comparison` is around that mark."""

    def open_because(
        reason: Literal["no data after", "too few events", "the load went too", "sleeps did not fall"], because: str
    ) -> NotVerified:
        return NotVerified(cause=cause.id, reason=reason, because=because)

    sleeps = None if comparison is None else _sleeps(comparison, cause)
    if comparison is None or sleeps is None or sleeps.counted_after is None:
        return open_because("no data after", f"how the sleeps changed is unknown{_unknown(comparison, sleeps)}")
    if not sleeps.counted_before or sleeps.counted_before < MINIMUM_SLEEPS:
        slept = "unknown" if sleeps.counted_before is None else count(sleeps.counted_before)
        return open_because("too few events", f"{slept} {sleeps.title} before, at least {MINIMUM_SLEEPS} are needed")
    load = _load(comparison, cause)
    if (gone := _load_that_went(load)) is not None:
        return open_because("the load went too", gone)
    if sleeps.before is None or sleeps.after is None:
        return open_because("no data after", f"there are no sleeps per piece of work: {sleeps.why}")
    if (sleeps.due_after or 0.0) < EXPECTED:
        due = f"only {rough(sleeps.due_after or 0.0)} {sleeps.title} were due after"
        return open_because("too few events", f"{due}; wait until more work is done")
    if sleeps.verdict != "changed" or sleeps.direction != "fell":
        return open_because("sleeps did not fall", sleeps.sentence)
    work = [f"{name.replace('_', ' ')} at {whole_percent(after / before)}" for name, before, after in load]
    because = f"{sleeps.sentence} The work went on: {' and '.join(work)} of before."
    return ChangeVerification(cause=cause.id, because=because, change=sleeps)


def _unknown(comparison: Comparison | None, sleeps: FigureChange | None) -> str:
    if comparison is not None and not comparison.comparable:
        return ": latches guard the row cache on one side and mutexes on the other"
    return f": {sleeps.why}" if sleeps is not None and sleeps.why else ": nothing was read after the change"


def _sleeps(comparison: Comparison, cause: Cause) -> FigureChange | None:
    """The sleeps of the cause on the surface where it slept most before; those of its own child if it is known."""
    changes = [_of_surface(comparison, cause, surface) for surface in cause.surfaces]
    known = [change for change in changes if change is not None]
    return max(known, key=lambda change: change.counted_before or 0.0, default=None)


def _of_surface(comparison: Comparison, cause: Cause, surface: Surface) -> FigureChange | None:
    for name in SLEEPS[surface]:
        change = comparison.find(name)
        own = change is not None and (change.of is None or bool(set(change.of.split("+")) & set(cause.caches)))
        if change is not None and own and change.verdict != "cannot tell":
            return change
    return comparison.find(SLEEPS[surface][-1])


def _load(comparison: Comparison, cause: Cause) -> list[tuple[str, float, float]]:
    """Work per second before and after: what uses the cause's caches, and the first general measure that both sides have."""
    before, after = comparison.before.work, comparison.after.work
    general = [name for name in WORK if before.get(name) and name in after][:1]
    asked = [ASKING[cache] for cache in cause.caches if cache in ASKING]
    names = dict.fromkeys([*(name for name in asked if before.get(name) and name in after), *general])
    return [(name, before[name], after[name]) for name in names]


def _load_that_went(load: Sequence[tuple[str, float, float]]) -> str | None:
    if not load:
        return "the amount of work is not known on both sides"
    for name, before, after in load:
        if after < WORK_GOES_ON * before:
            words = name.replace("_", " ")
            return f"{words} fell from {rough(before)} to {rough(after)} per second, to {percent(after / before)}"
    return None
