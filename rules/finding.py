"""From a cause whose conditions hold to a Finding: which cache, how it is known, how sure, on what evidence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.model import text
from rules.blockers import holder_of
from rules.bounds import UsualBetween, bound_of
from rules.cache_map import cache_ref
from rules.cause import Cause, Condition
from rules.confirming import confirmation_of, confirmed
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.formatting import sentence
from rules.hang_chains import chains_of, platform_of
from rules.hangs import hanging, most_waited_for
from rules.model import CacheRef, Confidence, Evidence, Finding, Identity, Surface
from rules.ranking import confidence, severity
from rules.remedy import RemedyStep, paragraph, risks
from rules.signals import SIGNALS, Subject
from rules.wording import CACHE, HOLDER, filled, hedged, in_slot, slots


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """A condition, the reading of its signal, and whether it holds (None: cannot tell)."""

    condition: Condition
    reading: SignalValue
    holds: bool | None


def finding(cause: Cause, context: SignalContext, outcomes: list[ConditionResult]) -> Finding:
    """The Finding of a cause, from the outcomes of its conditions."""
    identity, surfaces = _identity(context, outcomes), _shown_on(cause, context, outcomes)
    impact = context.at_least(context.impact_by(context.hot_caches.waited_for(surfaces, cause.caches)), surfaces)
    sure = _confidence(cause, context, outcomes, identity)
    child = _child(cause, context) if identity in (Identity.READ, Identity.INFERRED) else None
    guarded = context.map.children[child] if child is not None else None
    cache = guarded.name if guarded else _named(cause, context, identity)
    values, steps = _slot_values(cause, context, cache), _steps(cause, context)
    title = filled(cause.measured_title, cause.title, values)
    return Finding(
        cause=cause.id,
        name=cause.name,
        title=hedged(title, cause.hedge_after, sure, confirmed(cause, context.delta) is False),
        lede=filled(cause.measured_lede, cause.lede, values),
        do_now=filled(cause.measured_do_now, cause.do_now, values),
        check_first=cause.check_first,
        do_not=filled(cause.measured_do_not, cause.do_not, values),
        surface=context.costliest(surfaces),
        severity=severity(context, surfaces, cause.cap, sure, impact),
        confidence=sure,
        status=cause.status,
        impact=impact,
        child=child,
        cache=cache,
        caches=guarded.caches if guarded else _cache_refs(cause, context, identity),
        identity=None if identity is None else _IDENTITY_NAMES[identity],
        location=cause.location,
        explanation=cause.explanation,
        evidence=tuple(_evidence(outcome) for outcome in outcomes if outcome.holds),
        unknown=tuple(
            dict.fromkeys(outcome.reading.why for outcome in outcomes if isinstance(outcome.reading, Unknown))
        ),
        confirm=confirmation_of(cause, context.delta),
        remedy=paragraph(steps),
        risk=risks(steps),
        remedy_steps=steps,
        expected_effect=cause.expected_effect,
        false_positives=cause.false_positives,
        references=cause.references,
    )


def _steps(cause: Cause, context: SignalContext) -> tuple[RemedyStep, ...]:
    """The steps of the remedy on this database: on its platform, in a cluster or not, with the command of the wait chain."""
    clustered, delta = _clustered(context), context.delta
    steps = (_ending(step, context) if step.from_chain else step for step in cause.remedy_steps)
    there = (step for step in steps if step is not None and not _of_another_release(step, delta.release))
    return tuple(step.on(clustered).at(platform_of(delta)) for step in there)


def _of_another_release(step: RemedyStep, release: str | None) -> bool:
    """Whether every text of its statement is for a newer release."""
    return step.sql is not None and step.text(release) is None


def _ending(step: RemedyStep, context: SignalContext) -> RemedyStep | None:
    """The step with the command of the wait chain. None unless exactly one chain gives a command."""
    actions = [chain.action for chain in chains_of(context).chains if chain.action is not None]
    if len(actions) != 1:
        return None
    (action,) = actions
    reading = f"{sentence(action.first)}. Run it {action.where}: {action.why_safe}."
    risk = f"{sentence(action.risk)}. {step.risk or ''}".strip()
    return step.model_copy(update={"sql": action.command, "run_in": None, "reading": reading, "risk": risk})


def _clustered(context: SignalContext) -> bool | None:
    """Whether the instance is one of a cluster. None if unknown."""
    parallel = next((text(row.get("parallel")) for row in context.delta.rows("v$instance")), None)
    return None if parallel is None else parallel == "YES"


def _slot_values(cause: Cause, context: SignalContext, cache: str | None) -> dict[str, str]:
    """Slot → its value, for each known slot of the cause's sentences."""
    values = {CACHE: cache} if cache else {}
    subject = Subject(cause.caches, cause.location, surfaces=cause.surfaces)
    wanted = slots(*cause.sentences) - {CACHE}
    if HOLDER in wanted and (holder := holder_of(context)) is not None:
        values[HOLDER] = holder
    for name in wanted - {HOLDER}:
        reading = SIGNALS[name].read(context, subject)
        if isinstance(reading, Known):
            values[name] = in_slot(reading.value, SIGNALS[name].unit)
    return values


def _shown_on(cause: Cause, context: SignalContext, outcomes: list[ConditionResult]) -> tuple[Surface, ...]:
    """Where the cause was seen: the surfaces on which sleeps or waiters name its cache, else all on which it can appear here."""
    naming = [
        SIGNALS[outcome.condition.signal].surface
        for outcome in outcomes
        if outcome.holds and outcome.condition.signal in NAMING
    ]
    here = [surface for surface in cause.surfaces if surface in context.surfaces]
    return tuple(child for child in here if child in naming) or tuple(here)


def _named(cause: Cause, context: SignalContext, identity: Identity | None) -> str | None:
    """The cause's cache: the one most waiters name, else its first one."""
    if not cause.caches and identity is Identity.SAMPLED and context.look is not None:
        hanging_for = most_waited_for(hanging(context.look.of(cause.surfaces)))
        return None if hanging_for is None or hanging_for[1] == "unknown" else hanging_for[1]
    if identity is Identity.SAMPLED and context.crowd is not None:
        named = [cache for cache, _ in context.crowd.caches().most_common() if cache in cause.caches]
        return named[0] if named else next(iter(cause.caches), None)
    return cause.caches[0] if cause.caches else None


def _cache_refs(cause: Cause, context: SignalContext, identity: Identity | None) -> tuple[CacheRef, ...]:
    if identity is not Identity.SAMPLED:
        return ()
    named = cause.caches or (_named(cause, context, identity),)
    rows = [row for row in context.delta.rows("v$rowcache") if row.get("parameter") in named]
    return tuple(sorted((cache_ref(row, text(row.get("parameter"))) for row in rows), key=str))


def _child(cause: Cause, context: SignalContext) -> int | None:
    """The cause's own child with the most sleeps. Another child may have as many, so it is not always the hot one."""
    own = context.map.guarding(cause.caches)
    sleeps = context.delta.by_number("v$latch_children", "child#", "sleeps")
    return max(own, key=lambda child: (sleeps.get(child, 0.0), -child), default=None)


_IDENTITY_NAMES: dict[Identity, Literal["read", "sampled", "inferred", "candidate"]] = {
    Identity.READ: "read",
    Identity.SAMPLED: "sampled",
    Identity.INFERRED: "inferred",
    Identity.CANDIDATE: "candidate",
}
SAMPLED_SIGNALS = ("share_of_mutex_waiters", "share_of_lock_waiters")
NAMING = ("share_of_sleeps", *SAMPLED_SIGNALS)
LOOK_SIGNAL = "longest_wait_seconds"
"""From it a cause without a cache of its own finds the cache that hanging sessions wait for."""


def _identity(context: SignalContext, outcomes: list[ConditionResult]) -> Identity | None:
    """How the finding's cache is known: by the surest signal that names it. None for causes without a cache.

    A cause that only needs its waiters to agree with its distinguishing sign is not a candidate for lack of samples.
    """
    identities: list[Identity] = []
    for outcome in outcomes:
        if outcome.holds is None and outcome.condition.role == "discriminating":
            continue
        if outcome.condition.signal == "share_of_sleeps":
            identities.append(context.hot.identity if outcome.holds and context.hot else Identity.CANDIDATE)
        elif outcome.condition.signal in SAMPLED_SIGNALS:
            identities.append(Identity.SAMPLED if outcome.holds else Identity.CANDIDATE)
        elif outcome.condition.signal == LOOK_SIGNAL and outcome.holds:
            identities.append(Identity.SAMPLED)
    return max(identities, default=None)


def _confidence(
    cause: Cause, context: SignalContext, outcomes: list[ConditionResult], identity: Identity | None
) -> Confidence:
    def held(role: str) -> int:
        return sum(1 for outcome in outcomes if outcome.condition.role == role and outcome.holds)

    doubts = sum(1 for outcome in outcomes if outcome.condition.role == "supporting" and outcome.holds is False)
    map_fits = identity is Identity.SAMPLED or all(
        disagreement.child != context.hot_child for disagreement in context.map.disagreements
    )
    unknown = sum(1 for outcome in outcomes if outcome.holds is None and outcome.condition.role != "supporting")
    telling = held("discriminating") + held("supporting")
    sure = confidence(identity, telling, held("shape"), unknown, confirmed(cause, context.delta), map_fits)
    return sure.at_most(Confidence.MEDIUM) if context.printed or doubts else sure


def _evidence(outcome: ConditionResult) -> Evidence:
    assert isinstance(outcome.reading, Known)
    condition, signal = outcome.condition, SIGNALS[outcome.condition.signal]
    return Evidence(
        signal=condition.signal,
        name=signal.called,
        value=outcome.reading.value,
        unit=signal.unit,
        of=signal.share_of,
        numerator=outcome.reading.part,
        denominator=outcome.reading.whole,
        needs=condition.needs,
        bound=bound_of(condition.needs),
        usual=condition.usual and UsualBetween(low=condition.usual[0], high=condition.usual[1]),
        role=condition.role,
        because=outcome.condition.because,
        derivation=outcome.reading.derivation,
    )


def ranked(findings: Iterable[Finding], causes: Mapping[str, Cause] | None = None) -> tuple[Finding, ...]:
    """Findings, the one to act on first: by severity, exoneration of the row cache, cost, special case, confidence."""
    listed, known = list(findings), causes or {}
    names = {finding.cause for finding in listed}
    return tuple(
        sorted(
            listed,
            key=lambda finding: (
                -finding.severity.rank,
                not (finding.cause in known and known[finding.cause].look_alike),
                -round((finding.impact and finding.impact.share_of_db_time) or 0.0, 2),
                finding.cause in known and bool(names & set(known[finding.cause].special_cases)),
                -finding.confidence.rank,
                -len(finding.evidence),
                finding.cause,
            ),
        )
    )
