"""diagnose(): every cause of the catalogue judged on one Delta, into found, ruled out and cannot tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from collectors.model import Delta, NotComparable, text
from rules.baseline import UsualRange
from rules.blockers import blockers_of
from rules.cache_map import CacheMap
from rules.catalogue import catalogue
from rules.cause import AnyOf, Cause, Condition
from rules.contention.remedy import prediction_of
from rules.context import Known, SignalContext, Unknown
from rules.explanation.hangs import waiting_groups
from rules.explanation.headline import headline
from rules.explanation.steps import groups, steps
from rules.finding import NAMING, ConditionResult, finding, ranked
from rules.model import (
    Candidate,
    Diagnosis,
    DiagnosisBasis,
    Finding,
    RuledOut,
    Severity,
    Undetermined,
    meets,
    worst,
)
from rules.nameless import without_nameless
from rules.notes import notes
from rules.signals import SIGNALS, Subject
from rules.troubles import cost_is_open, overall_gate, surface_impacts, troubles, whole_impact
from rules.weighing import CauseVerdict, NearMiss, OpenCause, ruled_out, weighed

LOOKS = ("v$session", "waiting_sessions", "row_cache_blockers")
"""Looks at who waits and who holds, taken when something calls for them."""
WHOLE_SURFACE = ("v$latch_misses", "v$mutex_sleep")
"""Views that know no caches: with two of them in trouble, the places of the holders are those of both."""


def diagnose(
    delta: Delta,
    causes: Mapping[str, Cause] | None = None,
    usual: Mapping[str, UsualRange] | None = None,
    caches: CacheMap | None = None,
) -> Diagnosis:
    """The Diagnosis of a Delta. The order of view rows makes no difference to it.

    `caches` is the map of this Delta where the caller has it already.
    `usual` holds what is ordinary for this database by the names of `rules.baseline.figures`; it adds to the headline how
    many times the usual the cost is, and changes no verdict.
    """
    delta = without_nameless(delta)
    context = SignalContext(delta, caches)
    known = catalogue() if causes is None else causes
    judged = {name: cause for name, cause in known.items() if not cause.handbook}
    verdicts = weighed(context, judged, [_judge(cause, context) for cause in judged.values()])
    findings = ranked((verdict for verdict in verdicts if isinstance(verdict, Finding)), judged)
    basis = delta.basis
    open_causes = [(judged[verdict.cause], verdict) for verdict in verdicts if isinstance(verdict, OpenCause)]
    return Diagnosis(
        database=delta.database,
        release=delta.release,
        mechanism=context.mechanism,
        basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
        severity=severity_by_cost(context, judged, findings),
        headline=headline(context, findings, usual or {}, open_causes),
        impact=whole_impact(context, findings),
        surfaces=surface_impacts(context),
        troubles=troubles(context, findings),
        steps=steps(context, findings),
        findings=findings,
        ruled_out=tuple(verdict for verdict in verdicts if isinstance(verdict, RuledOut)),
        undetermined=tuple(verdict.told for _, verdict in open_causes),
        who=groups(context),
        waiting=waiting_groups(context),
        blockers=blockers_of(context),
        prediction=prediction_of(context, judged, findings),
        candidates=_candidates(context, known, findings),
        notes=notes(context),
    )


def _candidates(
    context: SignalContext, causes: Mapping[str, Cause], findings: Sequence[Finding]
) -> tuple[Candidate, ...]:
    """Handbook entries of the release that fit a surface in trouble, and a cache in trouble where they speak of one."""
    troubled = [finding for finding in findings if finding.severity is not Severity.INFO]
    caches = {cache for finding in troubled for cache in causes[finding.cause].caches}
    if context.hot is not None and context.gate not in (None, Severity.INFO):
        caches |= {cache.parameter for cache in context.hot.caches if cache.parameter}
    surfaces = {finding.surface for finding in troubled}
    return tuple(
        Candidate(cause=cause.id, title=cause.title, check=cause.explanation)
        for cause in causes.values()
        if cause.handbook
        and surfaces & set(cause.surfaces)
        and (not cause.caches or caches & set(cause.caches))
        and _elsewhere(cause, context) is None
    )


def cannot_tell(
    gap: NotComparable, causes: Mapping[str, Cause] | None = None, *, more_to_come: bool = True
) -> Diagnosis:
    """The Diagnosis where there is no Delta, as before the second poll or across a restart: everything undetermined.

    `more_to_come`: whether another poll may change that; of a file nothing more will come.
    """
    known = catalogue() if causes is None else causes
    return Diagnosis(
        database=gap.database,
        release=gap.release,
        mechanism=None,
        basis=None,
        severity=Severity.INFO,
        headline=f"Cannot tell{' yet' * more_to_come}: {gap.why}",
        impact=None,
        steps=(),
        findings=(),
        ruled_out=(),
        undetermined=tuple(
            Undetermined(cause=name, missing="interval", why=gap.why, way_out=gap.way_out)
            for name, cause in known.items()
            if not cause.handbook
        ),
    )


def _judge(cause: Cause, context: SignalContext) -> CauseVerdict | NearMiss:
    elsewhere = _elsewhere(cause, context)
    if elsewhere is not None:
        return elsewhere
    outcomes = [outcome for condition in cause.when for outcome in outcomes_of(condition, cause, context)]
    outcomes = [as_known(outcome, context) for outcome in outcomes]
    naming = [outcome for outcome in outcomes if outcome.condition.signal in NAMING]
    known = any(outcome.holds for outcome in naming)
    unnamed = None if known else _unnamed(naming, context)
    against = [outcome for outcome in outcomes if outcome.holds is False and outcome.condition.role != "supporting"]
    for outcome in against:
        if not (_diluted(outcome) and (known or unnamed)):
            return ruled_out(cause, outcome)
    blocking = blocking_of(outcomes, context) or (unnamed if against else None)
    if blocking is not None:
        return _open(cause, blocking, outcomes, context)
    found = finding(cause, context, outcomes)
    backed = any(outcome.holds and outcome.condition.role in ("discriminating", "shape") for outcome in outcomes)
    return NearMiss(found, tuple(against), backed) if against else found


def _unnamed(naming: Sequence[ConditionResult], context: SignalContext) -> Unknown | None:
    """The reading without which nobody knows whether the cause's caches are those waited for; None where it is there."""
    for outcome in naming:
        reading = outcome.reading
        if _absent(outcome, context) or (isinstance(reading, Unknown) and reading.missing == "x$kqrst"):
            return None if _written(context) or not isinstance(reading, Unknown) else reading
    return None


def _open(cause: Cause, blocking: Unknown, outcomes: Sequence[ConditionResult], context: SignalContext) -> OpenCause:
    held = sum(1 for outcome in outcomes if outcome.holds and outcome.condition.role != "supporting")
    captured = [
        replace(outcome, reading=Known(0.0), holds=True)
        if isinstance(outcome.reading, Unknown) and outcome.reading.absent
        else outcome
        for outcome in outcomes
    ]
    return OpenCause(cause.id, blocking, held, near=not _written(context) and _too_little(captured) is None)


def _written(context: SignalContext) -> bool:
    """Whether not all was asked for: a report prints some views only, and totals of unknown age came out of a ticket."""
    return context.printed or context.delta.basis.kind == "totals"


def _absent(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that was not captured and might speak against the cause.

    Reports and totals of unknown age are judged by what they hold. Who waits is looked at when something calls for it; that
    nobody looked leaves a candidate, as ever.
    """
    reading = outcome.reading
    if not isinstance(reading, Unknown) or _written(context) or reading.missing in LOOKS:
        return None
    return reading if reading.absent and reading.blocks else None


def as_known(outcome: ConditionResult, context: SignalContext) -> ConditionResult:
    """The outcome; of a view that knows no caches, nothing against one of several caches that are in trouble together."""
    signal = SIGNALS[outcome.condition.signal]
    whole = signal.of in WHOLE_SURFACE and signal.surface is not None and outcome.condition.role == "shape"
    if outcome.holds is not False or not whole or signal.surface is None:
        return outcome
    if signal.surface == "latch" and not context.printed and context.sum_of(context.children, "sleeps") is None:
        return replace(outcome, reading=context.why_unknown("v$latch_children", "sleeps"), holds=None)
    if not context.hot_caches.mixed(signal.surface):
        return outcome
    why = f"{signal.of} knows no caches, and several share these sleeps"
    return replace(outcome, reading=Unknown(signal.of, why, context.busier), holds=None)


def _diluted(outcome: ConditionResult) -> bool:
    """Whether other work in the instance can make a condition fail."""
    return outcome.condition.needs[:2] in SIGNALS[outcome.condition.signal].diluted


def _elsewhere(cause: Cause, context: SignalContext) -> RuledOut | None:
    """The verdict on a cause that belongs to other releases or shows where this instance has nothing to show."""
    if not set(cause.surfaces) & set(context.surfaces):
        guarded = "mutexes" if context.mechanism == "mutex" else "latches"
        because = f"{guarded} guard the row cache of this release"
        return RuledOut(
            cause=cause.id, signal="mechanism", value=0.0, needs=" or ".join(cause.surfaces), because=because
        )
    release = full_release_of(context.delta)
    if release is not None and not cause.releases.include(release):
        needs = f"{cause.releases.since or 'the oldest'} to {cause.releases.until or 'the newest'}"
        return RuledOut(
            cause=cause.id,
            signal="release",
            value=0.0,
            needs=needs,
            because=f"this is {release}, where it is not known",
        )
    return None


def full_release_of(delta: Delta) -> str | None:
    """The release with its update where the instance tells it (18c and later)."""
    return text(next(iter(delta.rows("v$instance")), {}).get("version_full")) or delta.release


def outcomes_of(condition: Condition | AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
    """The outcome of a condition; of alternatives, those that hold, else one that cannot be told, else one that fails.

    Alternatives that speak of a surface this instance has not got are none; one that cannot be told for want of events
    on a surface that costs nothing is settled by the others.
    """
    if isinstance(condition, Condition):
        location = condition.location or cause.location
        subject = Subject(cause.caches, location, condition.parameter, cause.surfaces, condition.needs)
        reading = SIGNALS[condition.signal].read(context, subject)
        return [
            ConditionResult(
                condition, reading, meets(reading.value, condition.needs) if isinstance(reading, Known) else None
            )
        ]
    here = [
        member for member in condition.any_of if SIGNALS[member.signal].surface in (None, *context.surfaces)
    ] or condition.any_of
    each = [outcome for member in here for outcome in outcomes_of(member, cause, context)]
    holding = [outcome for outcome in each if outcome.holds]
    open_ones = [outcome for outcome in each if outcome.holds is None and not _moot(outcome, context)]
    open_ones.sort(key=lambda outcome: _absent(outcome, context) is None)
    failing = [outcome for outcome in each if outcome.holds is False]
    return holding or open_ones[:1] or failing[:1] or each[:1]


def _moot(outcome: ConditionResult, context: SignalContext) -> bool:
    surface = SIGNALS[outcome.condition.signal].surface
    return surface is not None and context.gate_of((surface,)) is Severity.INFO


def blocking_of(outcomes: Sequence[ConditionResult], context: SignalContext) -> Unknown | None:
    """The reading that keeps a cause from being found, if any.

    What was not captured might speak against it, so it does; of what there is too little of, see `_too_little`.
    """
    must = [outcome for outcome in outcomes if outcome.condition.role != "supporting"]
    return _too_little(outcomes) or next((reading for one in must if (reading := _absent(one, context))), None)


def _too_little(outcomes: Sequence[ConditionResult]) -> Unknown | None:
    """A required reading; the identity, when no shape stands in for it; or what sets the cause apart, when none is known."""
    shaped = any(outcome.condition.role == "shape" and outcome.holds for outcome in outcomes)
    for outcome in outcomes:
        must = outcome.condition.role == "required" or (outcome.condition.role == "identity" and not shaped)
        if must and isinstance(outcome.reading, Unknown):
            return outcome.reading
    apart = [outcome for outcome in outcomes if outcome.condition.role in ("discriminating", "shape")]
    if any(outcome.holds for outcome in apart):
        return None
    return next((outcome.reading for outcome in apart if isinstance(outcome.reading, Unknown)), None)


def severity_by_cost(context: SignalContext, causes: Mapping[str, Cause], findings: Sequence[Finding]) -> Severity:
    """What the waits cost, whether or not a cause is known; what exonerates the row cache decides by itself."""
    found = worst(finding.severity for finding in findings)
    if any(causes[finding.cause].look_alike for finding in findings):
        return found
    unknown = Severity.NOTICE if cost_is_open(context) else Severity.INFO
    return worst((found, overall_gate(context) or Severity.INFO, unknown))
