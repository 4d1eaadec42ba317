"""Judges a cause: found, ruled out, a near miss, or open because a figure is missing or there were too few events."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from collectors.model import Delta, text
from rules.bounds import meets
from rules.cause import AnyOf, Cause, Condition
from rules.context import Known, SignalContext, Unknown
from rules.finding import NAMING, ConditionResult, finding
from rules.model import RuledOut, Severity
from rules.signals import SIGNALS, Subject
from rules.weighing import CauseVerdict, NearMiss, OpenCause, ruled_out

LOOKS = ("v$session", "waiting_sessions", "row_cache_blockers")
"""Looks at who waits and who holds, which run only on demand."""
KQRST = "x$kqrst"
_subject = lru_cache(4096)(Subject)
"""Created once, because the conditions ask the same of every poll of every database."""
WHOLE_SURFACE = ("v$latch_misses", "v$mutex_sleep")
"""Views without caches. If two caches are in trouble, their holder locations are those of both."""


def judge(cause: Cause, context: SignalContext) -> CauseVerdict | NearMiss:
    other = elsewhere(cause, context)
    if other is not None:
        return other
    outcomes = _outcomes(cause, context)
    if isinstance(outcomes, RuledOut):
        return outcomes
    naming = [outcome for outcome in outcomes if outcome.condition.signal in NAMING]
    known = any(outcome.holds for outcome in naming)
    against = [outcome for outcome in outcomes if _against(outcome)]
    unnamed = None if known or not any(map(_diluted, against)) else _unnamed(cause, naming, context)
    for outcome in against:
        if not (_diluted(outcome) and (known or unnamed)):
            return ruled_out(cause, outcome)
    doubts = [outcome for outcome in outcomes if may_dilute(outcome, context)]
    blocking = blocking_of(outcomes, context) or (unnamed if against else None)
    if blocking is None and doubts and not known:
        blocking = doubts[0].reading if isinstance(doubts[0].reading, Unknown) else None
    if blocking is not None:
        return _open(cause, blocking, outcomes, context)
    found = finding(cause, context, outcomes)
    backed = any(outcome.holds and outcome.condition.role in ("discriminating", "shape") for outcome in outcomes)
    return NearMiss(found, (*against, *doubts), backed) if against or doubts else found


def _outcomes(cause: Cause, context: SignalContext) -> list[ConditionResult] | RuledOut:
    """The outcome of every condition, or the verdict at the first condition that decides against the cause alone."""
    outcomes: list[ConditionResult] = []
    for condition in cause.when:
        for outcome in outcomes_of(condition, cause, context):
            known = as_known(outcome, context)
            if _against(known) and not _diluted(known) and not any(map(_against, outcomes)):
                return ruled_out(cause, known)
            outcomes.append(known)
    return outcomes


def _against(outcome: ConditionResult) -> bool:
    return outcome.holds is False and outcome.condition.role != "supporting"


def _unnamed(cause: Cause, naming: Sequence[ConditionResult], context: SignalContext) -> Unknown | None:
    """The missing reading that would show whether sessions wait for the cause's caches. None if there is one.

    This holds for alternatives too: the one that names the cache counts on its own, even if another one holds.
    """
    if _written(context):
        return None
    each = [
        outcome
        for condition in cause.when
        if isinstance(condition, AnyOf)
        for outcome in _each(condition, cause, context)
    ]
    others = [
        outcome
        for outcome in each
        if outcome.condition.signal in NAMING and outcome.holds is None and not _moot(outcome, context)
    ]
    return next((reading for outcome in (*naming, *others) if (reading := _not_captured(outcome, context))), None)


def _not_captured(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that a complete capture would show. The map of the children counts as one."""
    reading = outcome.reading
    if isinstance(reading, Unknown) and reading.missing == KQRST and not _written(context):
        return reading
    return _absent(outcome, context)


def _open(cause: Cause, blocking: Unknown, outcomes: Sequence[ConditionResult], context: SignalContext) -> OpenCause:
    held = sum(1 for outcome in outcomes if outcome.holds and outcome.condition.role != "supporting")
    captured = [
        replace(outcome, reading=Known(0.0), holds=True)
        if isinstance(outcome.reading, Unknown) and (outcome.reading.absent or outcome.reading.missing == KQRST)
        else outcome
        for outcome in outcomes
    ]
    return OpenCause(cause.id, blocking, held, near=not _written(context) and _too_little(captured) is None)


def _written(context: SignalContext) -> bool:
    """Whether some views were not read on purpose: a report prints only some, and totals of unknown age came from a ticket."""
    return context.printed or context.delta.basis.kind == "totals"


def _absent(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that was not captured and might speak against the cause.

    Reports and totals of unknown age are judged by what they have. A look at who waits runs only on demand. Without a look the
    cause stays a candidate, but a gap in a look that ran may speak against it.
    """
    reading = outcome.reading
    if not isinstance(reading, Unknown) or _written(context) or _nobody_looked(reading.missing, context):
        return None
    return reading if reading.absent and (reading.blocks or not _diluted(outcome)) else None


def _nobody_looked(view: str, context: SignalContext) -> bool:
    return view in LOOKS and not context.delta.rows(view)


def may_dilute(outcome: ConditionResult, context: SignalContext) -> bool:
    """Whether an outcome that was captured in part may make the cause a near miss. Not more, if its cache is known."""
    reading = outcome.reading
    if not isinstance(reading, Unknown) or _written(context) or outcome.condition.role == "supporting":
        return False
    return reading.absent and not reading.blocks and _diluted(outcome)


def as_known(outcome: ConditionResult, context: SignalContext) -> ConditionResult:
    """The outcome. A view without caches never speaks against one of several caches in trouble together."""
    signal = SIGNALS[outcome.condition.signal]
    whole = signal.of in WHOLE_SURFACE and signal.surface is not None and outcome.condition.role == "shape"
    if outcome.holds is not False or not whole or signal.surface is None:
        return outcome
    if signal.surface == "latch" and not context.printed and context.children_sleeps is None:
        return replace(outcome, reading=context.why_unknown("v$latch_children", "sleeps"), holds=None)
    if not context.hot_caches.mixed(signal.surface):
        return outcome
    why = f"{signal.of} knows no caches, and several share these sleeps"
    return replace(outcome, reading=Unknown(signal.of, why, context.busier), holds=None)


def _diluted(outcome: ConditionResult) -> bool:
    """Whether other work in the instance can make a condition fail."""
    return outcome.condition.needs[:2] in SIGNALS[outcome.condition.signal].diluted


def elsewhere(cause: Cause, context: SignalContext) -> RuledOut | None:
    """The verdict on a cause of other releases, or one whose surface this instance does not have."""
    if not set(cause.surfaces) & set(context.surfaces):
        guarded = "mutexes" if context.mechanism == "mutex" else "latches"
        because = f"{guarded} guard the row cache of this release"
        return RuledOut(
            cause=cause.id,
            signal="mechanism",
            name="mechanism",
            value=None,
            needs=" or ".join(cause.surfaces),
            because=because,
        )
    release = full_release_of(context.delta)
    if release is not None and not cause.releases.include(release):
        needs = f"{cause.releases.since or 'the oldest'} to {cause.releases.until or 'the newest'}"
        return RuledOut(
            cause=cause.id,
            signal="release",
            name="release",
            value=None,
            needs=needs,
            because=f"this is {release}, and the cause is not known to occur there",
        )
    return None


def full_release_of(delta: Delta) -> str | None:
    """The release with its update where the instance tells it (18c and later)."""
    return text(next(iter(delta.rows("v$instance")), {}).get("version_full")) or delta.release


def outcomes_of(condition: Condition | AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
    """The outcome of a condition. Of alternatives: those that hold, else one that is open, else one that fails.

    Alternatives about a surface that this instance does not have are left out. If one is open for lack of events
    on a surface that costs nothing, the others settle it.
    """
    if isinstance(condition, Condition):
        location = condition.location or cause.location
        subject = _subject(cause.caches, location, condition.parameter, cause.surfaces, condition.needs)
        reading = SIGNALS[condition.signal].read(context, subject)
        return [
            ConditionResult(
                condition, reading, meets(reading.value, condition.needs) if isinstance(reading, Known) else None
            )
        ]
    each = _each(condition, cause, context)
    holding = [outcome for outcome in each if outcome.holds]
    open_ones = [outcome for outcome in each if outcome.holds is None and not _moot(outcome, context)]
    open_ones.sort(key=lambda outcome: _absent(outcome, context) is None)
    failing = [outcome for outcome in each if outcome.holds is False]
    return holding or open_ones[:1] or failing[:1] or each[:1]


def _each(condition: AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
    """The outcome of each alternative about a surface of this instance; of all if there is none."""
    here = [member for member in condition.any_of if SIGNALS[member.signal].surface in (None, *context.surfaces)]
    return [outcome for member in here or condition.any_of for outcome in outcomes_of(member, cause, context)]


def _moot(outcome: ConditionResult, context: SignalContext) -> bool:
    surface = SIGNALS[outcome.condition.signal].surface
    return surface is not None and context.gate_of((surface,)) is Severity.INFO


def blocking_of(outcomes: Sequence[ConditionResult], context: SignalContext) -> Unknown | None:
    """The reading that prevents a finding, if any.

    A missing figure might speak against the cause, so it prevents it. For too few events see `_too_little`.
    """
    must = [outcome for outcome in outcomes if outcome.condition.role != "supporting"]
    return _too_little(outcomes) or next((reading for outcome in must if (reading := _absent(outcome, context))), None)


def _too_little(outcomes: Sequence[ConditionResult]) -> Unknown | None:
    """A required reading; the identity, if no shape replaces it; or the distinguishing sign, if none is known."""
    shaped = any(outcome.condition.role == "shape" and outcome.holds for outcome in outcomes)
    for outcome in outcomes:
        must = outcome.condition.role == "required" or (outcome.condition.role == "identity" and not shaped)
        if must and isinstance(outcome.reading, Unknown):
            return outcome.reading
    apart = [outcome for outcome in outcomes if outcome.condition.role in ("discriminating", "shape")]
    if any(outcome.holds for outcome in apart):
        return None
    return next((outcome.reading for outcome in apart if isinstance(outcome.reading, Unknown)), None)
