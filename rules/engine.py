"""diagnose(): every cause of the catalogue judged on one Delta, into found, ruled out and cannot tell."""

from collections.abc import Mapping, Sequence

from collectors.model import Delta, NotComparable
from rules.baseline import UsualRange
from rules.blockers import blockers_of
from rules.cache_map import CacheMap
from rules.catalogue import catalogue, conditions
from rules.cause import AnyOf, Cause, Condition
from rules.context import ROW_CACHE_SURFACES, Known, SignalContext, Unknown
from rules.explanation.hangs import waiting_groups
from rules.explanation.headline import headline
from rules.explanation.steps import groups, steps
from rules.finding import ConditionResult, finding, ranked
from rules.hangs import VIEW as WAITING_SESSIONS
from rules.hangs import hanging
from rules.impact import IDLE_SESSIONS, NOTICEABLE_SHARE
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
from rules.unseen import unseen_waiters

CROWD = 2
"""From so many sessions on that hang, it is an incident whatever the cause."""

CauseVerdict = Finding | RuledOut | Undetermined


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
    verdicts = _weighed(context, judged, [_judge(cause, context) for cause in judged.values()])
    findings = ranked(verdict for verdict in verdicts if isinstance(verdict, Finding))
    basis, severity = delta.basis, worst(finding.severity for finding in findings)
    return Diagnosis(
        database=delta.database,
        release=delta.release,
        mechanism=context.mechanism,
        basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
        severity=_unexplained(context) if severity is Severity.INFO else severity,
        headline=headline(context, findings, usual or {}),
        impact=context.impact,
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


def _judge(cause: Cause, context: SignalContext) -> CauseVerdict:
    elsewhere = _elsewhere(cause, context)
    if elsewhere is not None:
        return elsewhere
    outcomes = [outcome for condition in cause.when for outcome in _outcomes(condition, cause, context)]
    for outcome in outcomes:
        if outcome.holds is False:
            return _ruled_out(cause, outcome)
    blocking = _blocking(outcomes)
    if blocking is not None:
        return Undetermined(cause=cause.id, missing=blocking.missing, why=blocking.why, way_out=blocking.way_out)
    return finding(cause, context, outcomes)


def _elsewhere(cause: Cause, context: SignalContext) -> RuledOut | None:
    """The verdict on a cause that belongs to other releases or shows where this instance has nothing to show."""
    if not set(cause.surfaces) & set(context.surfaces):
        guarded = "mutexes" if context.mechanism == "mutex" else "latches"
        because = f"{guarded} guard the row cache of this release"
        return RuledOut(
            cause=cause.id, signal="mechanism", value=0.0, needs=" or ".join(cause.surfaces), because=because
        )
    release = context.full_release
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


def _ruled_out(cause: Cause, outcome: ConditionResult) -> RuledOut:
    assert isinstance(outcome.reading, Known)
    condition = outcome.condition
    return RuledOut(
        cause=cause.id,
        signal=condition.signal,
        value=outcome.reading.value,
        unit=SIGNALS[condition.signal].unit,
        needs=condition.needs,
        because=condition.because,
    )


def _weighed(context: SignalContext, causes: Mapping[str, Cause], verdicts: list[CauseVerdict]) -> list[CauseVerdict]:
    """Verdicts in each other's light: look-alikes explain what has no proof of its own, and what costs nothing is closed."""
    found = {verdict.cause: verdict for verdict in verdicts if isinstance(verdict, Finding)}
    look_alike = next((verdict for name, verdict in found.items() if causes[name].look_alike), None)
    weighed = [_in_the_light_of(look_alike, context, causes, verdict) for verdict in verdicts]
    return [
        _giving_way(verdict, causes[verdict.cause], found) if isinstance(verdict, Finding) else verdict
        for verdict in weighed
    ]


def _giving_way(verdict: Finding, cause: Cause, found: Mapping[str, Finding]) -> CauseVerdict:
    """A general finding beside the more special one that says the same and more."""
    special = next((found[name] for name in cause.gives_way_to if name in found), None)
    return verdict if special is None else _explained_by(special, verdict)


def _in_the_light_of(
    look_alike: Finding | None, context: SignalContext, causes: Mapping[str, Cause], verdict: CauseVerdict
) -> CauseVerdict:
    if isinstance(verdict, Undetermined) and context.gate_of(causes[verdict.cause].surfaces) is Severity.INFO:
        if verdict.missing == WAITING_SESSIONS and unseen_waiters(context) is not None:
            return verdict  # the waits that ended are cheap, and those that have not may be anything
        return _too_cheap(verdict, context, context.waited_on(causes[verdict.cause].surfaces) or 0.0)
    if look_alike is None or not isinstance(verdict, Finding) or verdict.cause == look_alike.cause:
        return verdict
    cause = causes[verdict.cause]
    proof = {condition.signal for condition in conditions(cause) if condition.role == "discriminating"}
    if cause.look_alike or cause.cap is Severity.INFO or any(evidence.signal in proof for evidence in verdict.evidence):
        return verdict
    return _explained_by(look_alike, verdict)


def _explained_by(other: Finding, verdict: Finding) -> RuledOut:
    first = other.evidence[0]
    return RuledOut(
        cause=verdict.cause,
        signal=first.signal,
        value=first.value,
        unit=first.unit,
        needs=f"not {first.needs}",
        because=f"{other.title} explains these waits ({other.cause})",
    )


def _too_cheap(verdict: Undetermined, context: SignalContext, waited: float) -> RuledOut:
    """What could not be told need not be told apart when the waits it would explain cost nothing."""
    db_time = context.seconds_of("DB time")
    because = "these waits cost next to nothing here"
    if db_time and waited / db_time < NOTICEABLE_SHARE:
        return RuledOut(
            cause=verdict.cause,
            signal="impact",
            value=waited / db_time,
            unit="share of DB time",
            needs=f">= {NOTICEABLE_SHARE:g}",
            because=because,
        )
    return RuledOut(
        cause=verdict.cause,
        signal="impact",
        value=waited / (context.delta.basis.seconds or 1.0),
        unit="waiting sessions",
        needs=f">= {IDLE_SESSIONS:g}",
        because=because,
    )


def _unexplained(context: SignalContext) -> Severity:
    """Without a finding above info, what row cache waits cost is still said; as an incident only where sessions hang."""
    stuck = len(hanging(context.look.of(ROW_CACHE_SURFACES))) if context.look else 0
    return (context.gate or Severity.INFO).at_most(Severity.CRITICAL if stuck >= CROWD else Severity.WARNING)
