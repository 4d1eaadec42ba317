"""compare(): one Delta against another, figure by figure, per unit of work. Noise and ordinary variation are not a change."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from collectors.model import Basis, Delta
from rules.baseline import UsualRange, figures
from rules.cause import Cause
from rules.comparison.changes import (
    ChangeVerification,
    ComparedSides,
    Comparison,
    FigureChange,
    NotVerified,
    Side,
    WorkDone,
    cache_changes,
    location_changes,
    work_changes,
    work_per_second,
)
from rules.comparison.waits import child_changes, cost_changes, surface_changes
from rules.context import MINIMUM_SLEEPS, SignalContext
from rules.formatting import count, percent, rough, sentence, whole_percent
from rules.model import DiagnosisBasis, Severity, Surface

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
        basis=DiagnosisBasis(
            kind=delta.basis.kind, begin=delta.basis.begin, end=delta.basis.end, seconds=delta.basis.seconds
        ),
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
        return sentence(
            f"{lead}{_guards(pair.before)} guard the row cache before and {_guards(pair.after)} after, so their sleeps "
            f"cannot be compared item by item; {_lowered(cost)}."
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
    return sentence(f"{lead}{_lowered(top)}{_anomaly(held, top)}{_rest(top)}{_worth(pair)}.")


def _guards(context: SignalContext) -> str:
    return "mutexes" if context.mechanism == "mutex" else "latches"


def _lowered(change: FigureChange) -> str:
    """The sentence of a change for the middle of another sentence."""
    return change.sentence[:1].lower() + change.sentence[1:].rstrip(".")


def _anomaly(held: FigureChange | None, top: FigureChange) -> str:
    """How the hold anomaly changed, next to the sleeps of the same child."""
    if held is None or held.before is None or held.after is None or held.verdict != "changed":
        return ""
    went = "" if held.direction == top.direction else f" {held.direction}"
    return f" and the hold anomaly index{went} from {rough(held.before)} to {rough(held.after)}"


def _rest(top: FigureChange) -> str:
    return "; some remain" if top.verdict == "changed" and top.direction == "fell" and top.after else ""


def _worth(pair: ComparedSides) -> str:
    """A remark that both sides cost next to nothing. Empty otherwise."""
    gates = {pair.before.gate, pair.after.gate}
    return "; row cache waits cost next to nothing on either side" if gates == {Severity.INFO} else ""


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
        same = before == after
        yield (
            "both sides are the same window"
            if same
            else ("after is the earlier of the two" if later else "the two windows overlap")
        )


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
    gone = _load_that_went(comparison, cause)
    if gone is not None:
        return open_because("the load went too", gone)
    if sleeps.before is None or sleeps.after is None:
        return open_because("no data after", f"there are no sleeps per piece of work: {sleeps.why}")
    if (sleeps.due_after or 0.0) < EXPECTED:
        due = f"only {rough(sleeps.due_after or 0.0)} {sleeps.title} were due after"
        return open_because("too few events", f"{due}; wait until more work is done")
    if sleeps.verdict != "changed" or sleeps.direction != "fell":
        return open_because("sleeps did not fall", sleeps.sentence)
    return ChangeVerification(
        cause=cause.id, because=f"{sleeps.sentence} {_work_words(comparison, cause)}", change=sleeps
    )


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


def _asked(cause: Cause) -> list[str]:
    """The kinds of work that must have gone on for this cause."""
    return list(dict.fromkeys(ASKING[name] for name in cause.caches if name in ASKING))


def _load(comparison: Comparison, cause: Cause) -> list[tuple[str, float, float]]:
    """Work per second before and after: what uses the cause's caches, and the first general measure that both sides have."""
    before, after = comparison.before.work, comparison.after.work
    general = [name for name in WORK if before.get(name) and name in after][:1]
    names = dict.fromkeys([*(name for name in _asked(cause) if before.get(name) and name in after), *general])
    return [(name, before[name], after[name]) for name in names]


def _load_that_went(comparison: Comparison, cause: Cause) -> str | None:
    load = _load(comparison, cause)
    if not load:
        return "the amount of work is not known on both sides"
    for name, before, after in load:
        if after < WORK_GOES_ON * before:
            words = name.replace("_", " ")
            return f"{words} fell from {rough(before)} to {rough(after)} per second, to {percent(after / before)}"
    return None


def _work_words(comparison: Comparison, cause: Cause) -> str:
    words = [
        f"{name.replace('_', ' ')} at {whole_percent(after / before)}"
        for name, before, after in _load(comparison, cause)
    ]
    return f"The work went on: {' and '.join(words)} of before."
