"""diagnose(): every cause of the catalogue judged on one Delta, into found, ruled out and cannot tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from collectors.model import Delta, NotComparable, text
from rules.baseline import UsualRange
from rules.blockers import blockers_of
from rules.cache_map import CacheMap
from rules.catalogue import catalogue
from rules.cause import AnyOf, Cause, Condition
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
from rules.notes import notes
from rules.signals import SIGNALS, Subject
from rules.troubles import overall_gate, surface_impacts, troubles, whole_impact
from rules.weighing import CauseVerdict, NearMiss, ruled_out, weighed

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
    context = SignalContext(delta, caches)
    known = catalogue() if causes is None else causes
    judged = {name: cause for name, cause in known.items() if not cause.handbook}
    verdicts = weighed(context, judged, [_judge(cause, context) for cause in judged.values()])
    findings = ranked((verdict for verdict in verdicts if isinstance(verdict, Finding)), judged)
    basis = delta.basis
    open_causes = [(judged[verdict.cause], verdict) for verdict in verdicts if isinstance(verdict, Undetermined)]
    return Diagnosis(
        database=delta.database,
        release=delta.release,
        mechanism=context.mechanism,
        basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
        severity=_severity(context, judged, findings),
        headline=headline(context, findings, usual or {}, open_causes),
        impact=whole_impact(context, findings),
        surfaces=surface_impacts(context),
        troubles=troubles(context, findings),
        steps=steps(context, findings),
        findings=findings,
        ruled_out=tuple(verdict for verdict in verdicts if isinstance(verdict, RuledOut)),
        undetermined=tuple(verdict for verdict in verdicts if isinstance(verdict, Undetermined)),
        who=groups(context),
        waiting=waiting_groups(context),
        blockers=blockers_of(context),
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
    outcomes = [outcome for condition in cause.when for outcome in _outcomes(condition, cause, context)]
    outcomes = [_as_known(outcome, context) for outcome in outcomes]
    known = any(outcome.holds for outcome in outcomes if outcome.condition.signal in NAMING)
    against = [outcome for outcome in outcomes if outcome.holds is False and outcome.condition.role != "supporting"]
    for outcome in against:
        if not (known and _diluted(outcome)):
            return ruled_out(cause, outcome)
    blocking = _blocking(outcomes)
    if blocking is not None:
        return Undetermined(cause=cause.id, missing=blocking.missing, why=blocking.why, way_out=blocking.way_out)
    found = finding(cause, context, outcomes)
    backed = any(outcome.holds and outcome.condition.role in ("discriminating", "shape") for outcome in outcomes)
    return NearMiss(found, tuple(against), backed) if against else found


def _as_known(outcome: ConditionResult, context: SignalContext) -> ConditionResult:
    """The outcome; of a view that knows no caches, nothing against one of several caches that are in trouble together."""
    signal = SIGNALS[outcome.condition.signal]
    whole = signal.of in WHOLE_SURFACE and signal.surface is not None and outcome.condition.role == "shape"
    if (
        outcome.holds is not False
        or not whole
        or signal.surface is None
        or not context.hot_caches.mixed(signal.surface)
    ):
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
    release = _full_release(context.delta)
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


def _full_release(delta: Delta) -> str | None:
    """The release with its update where the instance tells it (18c and later)."""
    return text(next(iter(delta.rows("v$instance")), {}).get("version_full")) or delta.release


def _outcomes(condition: Condition | AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
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
    each = [outcome for member in here for outcome in _outcomes(member, cause, context)]
    holding = [outcome for outcome in each if outcome.holds]
    open_ones = [outcome for outcome in each if outcome.holds is None and not _moot(outcome, context)]
    failing = [outcome for outcome in each if outcome.holds is False]
    return holding or open_ones[:1] or failing[:1] or each[:1]


def _moot(outcome: ConditionResult, context: SignalContext) -> bool:
    surface = SIGNALS[outcome.condition.signal].surface
    return surface is not None and context.gate_of((surface,)) is Severity.INFO


def _blocking(outcomes: Sequence[ConditionResult]) -> Unknown | None:
    """The reading that keeps a cause from being found, if any.

    A required one; the identity, when no shape stands in for it; or what sets the cause apart, when none of it is known.
    """
    shaped = any(outcome.condition.role == "shape" and outcome.holds for outcome in outcomes)
    for outcome in outcomes:
        must = outcome.condition.role == "required" or (outcome.condition.role == "identity" and not shaped)
        if must and isinstance(outcome.reading, Unknown):
            return outcome.reading
    apart = [outcome for outcome in outcomes if outcome.condition.role in ("discriminating", "shape")]
    if any(outcome.holds for outcome in apart):
        return None
    return next((outcome.reading for outcome in apart if isinstance(outcome.reading, Unknown)), None)


def _severity(context: SignalContext, causes: Mapping[str, Cause], findings: Sequence[Finding]) -> Severity:
    """What the waits cost, whether or not a cause is known; what exonerates the row cache decides by itself."""
    found = worst(finding.severity for finding in findings)
    if any(causes[finding.cause].look_alike for finding in findings):
        return found
    return worst((found, overall_gate(context) or Severity.INFO))
