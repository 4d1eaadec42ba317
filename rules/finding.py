"""The Finding of a hypothesis: the cache it is about, its evidence, and its sentences and remedy on this database."""

from typing import Literal

from collectors.model import text
from rules.base import UsualBetween, bound_of
from rules.cache_map import cache_ref
from rules.cause import CACHE, HOLDER, WHY_LEFT, Cause, filled, in_slot
from rules.confirmation import confirmation_of
from rules.context import Known, SignalContext
from rules.fixes import fix_line
from rules.formatting import slots
from rules.hangs.blockers import holder_of, why_left
from rules.hangs.tree import chains_of, platform_of
from rules.judge import SAMPLED_SIGNALS, Hypothesis, Outcome, nearest_bound
from rules.model import CacheRef, Confidence, Evidence, Finding, Identity, Severity
from rules.remedy import RemedyStep, paragraph, risks
from rules.signals import SIGNALS, Subject
from rules.waiting_sessions import hanging, most_waited_for
from rules.waits import severity_of

LOOK_SIGNAL = "longest_wait_seconds"
"""From it a cause without a cache of its own finds the cache that hanging sessions wait for."""


def finding(one: Hypothesis) -> Finding:
    """The Finding of a hypothesis that stands, with the title of a sure one. `rules.grade` says how sure it is."""
    cause, context = one.cause, one.context
    identity, impact = _identity(one), one.own_waits
    if not one.costs and severity_of(impact) not in (None, Severity.INFO):
        impact = None  # the waits cost something, but not because of this cause
    child = _child(cause, context) if identity in (Identity.READ, Identity.INFERRED) else None
    guarded = context.map.children[child] if child is not None else None
    cache = guarded.name if guarded else _cache(cause, context, identity)
    values, steps = _slot_values(cause, context, cache), _remedy(cause, context)
    evidence = tuple(_evidence(outcome) for outcome in one.outcomes if outcome.holds)
    return Finding(
        cause=cause.id,
        name=cause.name,
        title=filled(cause.measured_title, cause.title, values),
        lede=filled(cause.measured_lede, cause.lede, values),
        do_now=filled(cause.measured_do_now, cause.do_now, values),
        then=cause.then,
        check_first=cause.check_first,
        do_not=filled(cause.measured_do_not, cause.do_not, values),
        surface=one.surface,
        severity=one.severity,
        confidence=Confidence.LOW,
        status=cause.status,
        impact=impact,
        child=child,
        cache=cache,
        caches=guarded.caches if guarded else _cache_refs(cause, context, identity),
        identity=None if identity is None else _IDENTITY_NAMES[identity],
        location=cause.location,
        explanation=cause.explanation,
        evidence=evidence,
        unknown=tuple(dict.fromkeys(outcome.why_unknown.why for outcome in one.outcomes if outcome.why_unknown)),
        confirm=confirmation_of(cause, context.delta),
        remedy=paragraph(steps),
        risk=risks(steps),
        remedy_steps=steps,
        expected_effect=cause.expected_effect,
        false_positives=cause.false_positives,
        references=cause.references,
        fix=fix_line(cause, context.delta),
        nearest_bound=nearest_bound((held.signal, held.value, held.unit, held.needs) for held in evidence),
    )


_IDENTITY_NAMES: dict[Identity, Literal["read", "sampled", "inferred", "candidate"]] = {
    Identity.READ: "read",
    Identity.SAMPLED: "sampled",
    Identity.INFERRED: "inferred",
    Identity.CANDIDATE: "candidate",
}


def _identity(one: Hypothesis) -> Identity | None:
    """How the finding's cache is known: by the surest signal that names it. None for causes without a cache.

    A cause that only needs its waiters to agree with its distinguishing sign is not a candidate for lack of samples.
    """
    context = one.context
    identities: list[Identity] = []
    for outcome in one.outcomes:
        if outcome.why_unknown and outcome.condition.role == "discriminating":
            continue
        if outcome.condition.signal == "share_of_sleeps":
            identities.append(context.hot.identity if outcome.holds and context.hot else Identity.CANDIDATE)
        elif outcome.condition.signal in SAMPLED_SIGNALS:
            identities.append(Identity.SAMPLED if outcome.holds else Identity.CANDIDATE)
        elif outcome.condition.signal == LOOK_SIGNAL and outcome.holds:
            identities.append(Identity.SAMPLED)
    return max(identities, default=None)


def _child(cause: Cause, context: SignalContext) -> int | None:
    """The cause's own child with the most sleeps. Another child may have as many, so it is not always the hot one."""
    own = context.map.guarding(cause.caches)
    sleeps = context.delta.by_number("v$latch_children", "child#", "sleeps")
    return max(own, key=lambda child: (sleeps.get(child, 0.0), -child), default=None)


def _cache(cause: Cause, context: SignalContext, identity: Identity | None) -> str | None:
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
    named = cause.caches or (_cache(cause, context, identity),)
    rows = [row for row in context.delta.rows("v$rowcache") if row.get("parameter") in named]
    return tuple(sorted((cache_ref(row, text(row.get("parameter"))) for row in rows), key=str))


def _evidence(outcome: Outcome) -> Evidence:
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


# The slots of its sentences, and its remedy on this database.


def _slot_values(cause: Cause, context: SignalContext, cache: str | None) -> dict[str, str]:
    """Slot → its value, for each known slot of the cause's sentences."""
    values = {CACHE: cache} if cache else {}
    subject = Subject(cause.caches, cause.location, surfaces=cause.surfaces)
    wanted = slots(*cause.sentences) - {CACHE}
    if HOLDER in wanted and (holder := holder_of(context)) is not None:
        values[HOLDER] = holder
    if WHY_LEFT in wanted and (why := why_left(context)) is not None:
        values[WHY_LEFT] = why
    for name in wanted - {HOLDER, WHY_LEFT}:
        reading = SIGNALS[name].read(context, subject)
        if isinstance(reading, Known):
            values[name] = in_slot(reading.value, SIGNALS[name].unit)
    return values


def _remedy(cause: Cause, context: SignalContext) -> tuple[RemedyStep, ...]:
    """The steps of the remedy on this database: on its platform, in a cluster or not, what its wait chain allows."""
    delta, steps = context.delta, []
    parallel = next((text(row.get("parallel")) for row in delta.rows("v$instance")), None)
    clustered = None if parallel is None else parallel == "YES"
    for step in cause.remedy_steps:
        if step.from_chain and not any(chain.action for chain in chains_of(context).chains):
            continue
        if step.sql is not None and step.text(delta.release) is None:
            continue  # every text of the statement is for a newer release
        steps.append(step.on(clustered).at(platform_of(delta)))
    return tuple(steps)
