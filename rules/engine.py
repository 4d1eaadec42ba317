"""diagnose(): every cause of the catalogue judged on one Delta, into found, ruled out and cannot tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.model import Delta, Missing, NotComparable, number
from rules.catalogue import catalogue, conditions
from rules.model import (
    AnyOf,
    Cause,
    Condition,
    Confidence,
    Confirmation,
    Diagnosis,
    DiagnosisBasis,
    Evidence,
    Finding,
    Identity,
    RuledOut,
    Severity,
    Undetermined,
    worst,
)
from rules.ranking import confidence, ranked, severity
from rules.scene import Known, Reading, Scene, Unknown
from rules.signals import SIGNALS, Subject
from rules.walk import headline, steps

Verdict = Finding | RuledOut | Undetermined


@dataclass(frozen=True, slots=True)
class Outcome:
    """A condition, the reading of its signal, and whether it holds (None: cannot tell)."""

    condition: Condition
    reading: Reading
    holds: bool | None


def diagnose(delta: Delta, causes: Mapping[str, Cause] | None = None) -> Diagnosis:
    """The Diagnosis of a Delta. The order of view rows makes no difference to it."""
    scene = Scene(delta)
    known = catalogue() if causes is None else causes
    verdicts = _weighed(scene, known, [_judge(cause, scene) for cause in known.values()])
    findings = ranked(one for one in verdicts if isinstance(one, Finding))
    basis, told = delta.basis, worst(one.severity for one in findings)
    return Diagnosis(
        database=delta.database,
        release=delta.release,
        mechanism=scene.mechanism,
        basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
        severity=_unexplained(scene) if told is Severity.INFO else told,
        headline=headline(scene, findings),
        impact=scene.impact,
        steps=steps(scene, findings),
        findings=findings,
        ruled_out=tuple(one for one in verdicts if isinstance(one, RuledOut)),
        undetermined=tuple(one for one in verdicts if isinstance(one, Undetermined)),
        notes=_notes(scene),
    )


def cannot_tell(gap: NotComparable, causes: Mapping[str, Cause] | None = None) -> Diagnosis:
    """The Diagnosis where there is no Delta, as before the second poll or across a restart: everything undetermined."""
    known = catalogue() if causes is None else causes
    return Diagnosis(
        database=gap.database,
        release=gap.release,
        mechanism=None,
        basis=None,
        severity=Severity.INFO,
        headline=f"Cannot tell yet: {gap.why}",
        impact=None,
        steps=(),
        findings=(),
        ruled_out=(),
        undetermined=tuple(
            Undetermined(cause=one, missing="interval", why=gap.why, way_out=gap.way_out) for one in known
        ),
    )


def _judge(cause: Cause, scene: Scene) -> Verdict:
    if scene.mechanism not in (None, *cause.mechanisms):
        guarded = "mutexes" if scene.mechanism == "mutex" else "latches"
        because = f"{guarded} guard the row cache of this release"
        return RuledOut(
            cause=cause.id, signal="mechanism", value=0.0, needs=" or ".join(cause.mechanisms), because=because
        )
    outcomes = [outcome for one in cause.when for outcome in _outcomes(one, cause, scene)]
    for outcome in outcomes:
        if outcome.holds is False:
            return _ruled_out(cause, outcome)
    blocking = _blocking(outcomes)
    if blocking is not None:
        return Undetermined(cause=cause.id, missing=blocking.missing, why=blocking.why, way_out=blocking.way_out)
    return _finding(cause, scene, outcomes)


def _outcomes(one: Condition | AnyOf, cause: Cause, scene: Scene) -> list[Outcome]:
    """The outcome of a condition; of alternatives, those that hold, else one that cannot be told, else one that fails."""
    if isinstance(one, Condition):
        reading = SIGNALS[one.signal].read(scene, Subject(cause.caches, one.location or cause.location))
        return [Outcome(one, reading, one.holds(reading.value) if isinstance(reading, Known) else None)]
    each = [outcome for condition in one.any_of for outcome in _outcomes(condition, cause, scene)]
    holding = [outcome for outcome in each if outcome.holds]
    open_ones = [outcome for outcome in each if outcome.holds is None]
    return holding or open_ones[:1] or each[:1]


def _blocking(outcomes: Sequence[Outcome]) -> Unknown | None:
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


def _ruled_out(cause: Cause, outcome: Outcome) -> RuledOut:
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


def _finding(cause: Cause, scene: Scene, outcomes: list[Outcome]) -> Finding:
    identity = _identity(cause, scene, outcomes)
    sure = _confidence(cause, scene, outcomes, identity)
    child = _child(cause, scene) if identity in (Identity.READ, Identity.INFERRED) else None
    guarded = scene.map.children[child] if child is not None else None
    name = guarded.name if guarded else (cause.caches[0] if cause.caches else None)
    confirm = cause.confirm
    return Finding(
        cause=cause.id,
        title=cause.title,
        severity=severity(scene, cause.cap, sure),
        confidence=sure,
        child=child,
        cache=name,
        caches=guarded.caches if guarded else (),
        identity=None if identity is None else _IDENTITY_NAMES[identity],
        location=cause.location,
        explanation=cause.explanation,
        evidence=tuple(_evidence(outcome) for outcome in outcomes if outcome.holds),
        unknown=tuple(dict.fromkeys(one.reading.why for one in outcomes if isinstance(one.reading, Unknown))),
        confirm=confirm
        and Confirmation(sql=confirm.sql, reading=confirm.reading, result=scene.delta.confirmations.get(cause.id)),
        remedy=cause.remedy,
        risk=cause.risk,
        expected_effect=cause.expected_effect,
        false_positives=cause.false_positives,
        references=cause.references,
    )


def _child(cause: Cause, scene: Scene) -> int | None:
    """The cause's own child with the most sleeps; not always the hot one, since another may have just as many."""
    own = scene.map.guarding(cause.caches)
    sleeps = {row.get("child#"): number(row.get("sleeps")) or 0.0 for row in scene.children}
    return max(own, key=lambda child: (sleeps.get(child, 0.0), -child), default=None)


_IDENTITY_NAMES: dict[Identity, str] = {
    Identity.READ: "read",
    Identity.INFERRED: "inferred",
    Identity.CANDIDATE: "candidate",
}


def _identity(cause: Cause, scene: Scene, outcomes: list[Outcome]) -> Identity | None:
    """How the finding's cache is known; None for causes that are no cache, or not about the hot child."""
    for outcome in outcomes:
        if outcome.condition.signal == "share_of_sleeps":
            if isinstance(outcome.reading, Unknown):
                return Identity.CANDIDATE
            return scene.hot.identity if scene.hot else Identity.CANDIDATE
    return None


def _confidence(cause: Cause, scene: Scene, outcomes: list[Outcome], identity: Identity | None) -> Confidence:
    def held(role: str) -> int:
        return sum(1 for outcome in outcomes if outcome.condition.role == role and outcome.holds)

    confirmed: bool | None = None
    result = scene.delta.confirmations.get(cause.id)
    if result is not None and cause.confirm is not None and cause.confirm.needs is not None:
        test = Condition(signal="confirmation", needs=cause.confirm.needs, because=cause.confirm.reading)
        confirmed = test.holds(result)
    map_fits = all(one.child != scene.hot_child for one in scene.map.disagreements)
    unknown = sum(1 for outcome in outcomes if outcome.holds is None)
    return confidence(identity, held("discriminating"), held("shape"), unknown, confirmed, map_fits)


def _evidence(outcome: Outcome) -> Evidence:
    assert isinstance(outcome.reading, Known)
    return Evidence(
        signal=outcome.condition.signal,
        value=outcome.reading.value,
        unit=SIGNALS[outcome.condition.signal].unit,
        needs=outcome.condition.needs,
        because=outcome.condition.because,
        derivation=outcome.reading.derivation,
    )


def _weighed(scene: Scene, causes: Mapping[str, Cause], verdicts: list[Verdict]) -> list[Verdict]:
    """Verdicts in each other's light: look-alikes explain what has no proof of its own, and what costs nothing is closed."""
    look_alike = next((one for one in verdicts if isinstance(one, Finding) and causes[one.cause].look_alike), None)
    return [_in_the_light_of(look_alike, scene, causes, verdict) for verdict in verdicts]


def _in_the_light_of(
    look_alike: Finding | None, scene: Scene, causes: Mapping[str, Cause], verdict: Verdict
) -> Verdict:
    if isinstance(verdict, Undetermined) and scene.gate is Severity.INFO:
        return _too_cheap(verdict, scene)
    if look_alike is None or not isinstance(verdict, Finding) or verdict.cause == look_alike.cause:
        return verdict
    cause = causes[verdict.cause]
    proof = {one.signal for one in conditions(cause) if one.role == "discriminating"}
    if cause.look_alike or cause.cap is Severity.INFO or any(one.signal in proof for one in verdict.evidence):
        return verdict
    first = look_alike.evidence[0]
    because = f"{look_alike.title} explains these waits ({look_alike.cause})"
    needs = f"not {first.needs}"
    return RuledOut(
        cause=verdict.cause, signal=first.signal, value=first.value, unit=first.unit, needs=needs, because=because
    )


def _too_cheap(verdict: Undetermined, scene: Scene) -> RuledOut:
    """What could not be told need not be told apart when row cache waits cost nothing."""
    assert scene.impact is not None
    because = "row cache waits cost next to nothing here"
    share, sessions = scene.impact.share_of_db_time, scene.impact.waiting_sessions
    if share is not None and share < 0.005:
        return RuledOut(
            cause=verdict.cause,
            signal="impact",
            value=share,
            unit="share of DB time",
            needs=">= 0.005",
            because=because,
        )
    return RuledOut(
        cause=verdict.cause,
        signal="impact",
        value=sessions or 0.0,
        unit="waiting sessions",
        needs=">= 0.01",
        because=because,
    )


def _unexplained(scene: Scene) -> Severity:
    """Without a finding above info, what row cache waits cost is still said, though never as an incident."""
    return (scene.gate or Severity.INFO).at_most(Severity.WARNING)


def _notes(scene: Scene) -> tuple[str, ...]:
    """Assumptions of the source, counters left out, disagreements of the map, views that gave nothing."""
    readings = sorted(scene.delta.readings.items())
    assumed = [
        f"assumed: {note}" for _, reading in readings if not isinstance(reading, Missing) for note in reading.notes
    ]
    refused = [
        f"{reading.why}; {reading.way_out}"
        for _, reading in readings
        if isinstance(reading, Missing) and reading.kind in ("refused", "failed")
    ]
    odd = [str(oddity) for oddity in scene.delta.oddities]
    return (*assumed, *(str(one) for one in scene.map.disagreements), *sorted(odd), *refused)
