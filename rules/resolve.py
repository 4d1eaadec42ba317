"""Resolves the verdicts of `rules.judge` among each other: one verdict per cause, then what is in trouble and what it costs.

1. A near miss is a finding if nothing else explains its cache and no other near miss fits better.
2. A look-alike explains findings that lack proof of their own, and an open cause is closed where its waits cost nothing.
3. A general finding gives way to a special one that says the same and more.
4. A finding without proof stays open if a look-alike would explain it but for a missing figure.
5. A quiet interval needs none of this: a short way gives the same findings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from collectors.model import RESULT_CACHE_LATCH, Missing
from rules.base import Bound
from rules.cause import AnyOf, Cause, Condition, catalogue, conditions
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.judge import (
    CauseVerdict,
    ConditionResult,
    NearMiss,
    OpenCause,
    blocking_of,
    finding,
    full_release_of,
    may_dilute,
    of_own_cache,
    outcomes_of,
    ruled_out,
)
from rules.model import (
    Confidence,
    Finding,
    Impact,
    RuledOut,
    Severity,
    Surface,
    SurfaceImpact,
    Trouble,
    Unknown,
    worst,
)
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE, severity_of, untimed
from rules.waits import WAITING_SESSIONS as WAITING_SESSIONS

# The entry: all verdicts, in four rounds.


def weighed(
    context: SignalContext, causes: Mapping[str, Cause], verdicts: Sequence[CauseVerdict | NearMiss]
) -> list[CauseVerdict]:
    """One verdict per cause: look-alikes explain findings without their own proof, and cheap waits are closed."""
    strict = [verdict for verdict in verdicts if isinstance(verdict, Finding)]
    misses = [verdict for verdict in verdicts if isinstance(verdict, NearMiss)]
    nearly = {verdict.cause: verdict for verdict in verdicts if isinstance(verdict, OpenCause) and verdict.near}
    settled = [
        _settled(verdict, context, strict, misses, causes, nearly) if isinstance(verdict, NearMiss) else verdict
        for verdict in verdicts
    ]
    findings = {verdict.cause: verdict for verdict in settled if isinstance(verdict, Finding)}
    look_alike = next((finding for name, finding in findings.items() if causes[name].look_alike), None)
    beside = [_beside_look_alike(look_alike, context, causes, verdict) for verdict in settled]
    specific = [
        _giving_way(verdict, causes[verdict.cause], findings) if isinstance(verdict, Finding) else verdict
        for verdict in beside
    ]
    return [_exonerated(verdict, causes, nearly) if isinstance(verdict, Finding) else verdict for verdict in specific]


# 1. A near miss becomes a finding, stays open, or is ruled out.


def _settled(
    miss: NearMiss,
    context: SignalContext,
    strict: Sequence[Finding],
    misses: Sequence[NearMiss],
    causes: Mapping[str, Cause],
    nearly: Mapping[str, OpenCause],
) -> CauseVerdict:
    """A finding if nothing else explains its cache and no cause fits better, of low confidence if anything speaks against it.

    Otherwise the verdict that speaks against it.
    """
    cause, own = causes[miss.finding.cause], miss.finding
    if own.severity is Severity.INFO or any(_explains(finding, own, causes) for finding in strict):
        return _closed(miss, cause)
    if (unmeasured := _unmeasured_share(miss, context)) is not None:
        return OpenCause(cause.id, unmeasured, len(own.evidence), near=True)
    for name, other in nearly.items():
        if _may_explain(causes[name], own, cause) and (miss.spoken_against or causes[name].caches):
            return OpenCause(cause.id, other.reading)

    def distance(other: NearMiss) -> tuple[int, int, str]:
        return len(other.against), -len(other.finding.evidence), other.finding.cause

    rivals = [
        other
        for other in misses
        if other.backed and other.finding.surface == own.surface and other.finding.cache == own.cache
    ]
    if miss.backed and min(rivals, key=distance) is miss:
        if not miss.spoken_against:
            return own
        unknown = tuple(dict.fromkeys((*own.unknown, *map(_why, miss.against))))
        return own.model_copy(update={"confidence": Confidence.LOW, "unknown": unknown})
    look = "see which statements the waiters run, and whether they are of this kind"
    return OpenCause(cause.id, Unknown("v$session", _why(miss.against[0]), look))


def _explains(finding: Finding, other: Finding, causes: Mapping[str, Cause]) -> bool:
    """Whether a finding is about the same waits."""
    cause = causes[finding.cause]
    if finding.severity is Severity.INFO or finding.surface != other.surface or cause.look_alike:
        return False
    if not cause.caches:
        return other.cause not in cause.gives_way_to
    return finding.cache == other.cache and other.cause not in cause.special_cases


def _closed(miss: NearMiss, cause: Cause) -> CauseVerdict:
    """What speaks against a near miss. A missing figure does not; it leaves it open."""
    for outcome in miss.against:
        if isinstance(outcome.reading, Unknown):
            return OpenCause(cause.id, outcome.reading, len(miss.finding.evidence), near=True)
    return ruled_out(cause, miss.against[0])


def _unmeasured_share(miss: NearMiss, context: SignalContext) -> Unknown | None:
    """The missing reading that would show whether the waits of a near miss cost anything. Without it there is no finding.

    Waiting sessions may be a notable share of DB time, or none on a busy instance. A report needs no more than it has.
    """
    impact, polled = miss.finding.impact, context.delta.source == "views" and context.delta.basis.kind == "interval"
    if not polled or impact is None or impact.waiting_sessions is None or impact.share_of_db_time is not None:
        return None
    if context.inside_pdb:  # no share can be known there, and waiting sessions grade the waits
        return None
    return context.why_unknown("v$sys_time_model", "value")


def _may_explain(rival: Cause, other: Finding, cause: Cause) -> bool:
    """Whether a cause that was not ruled out may be about the same waits."""
    if other.surface not in rival.surfaces or rival.look_alike or rival.cap is Severity.INFO:
        return False
    return not rival.caches or bool(set(rival.caches) & set(cause.caches))


def _why(outcome: ConditionResult) -> str:
    if isinstance(outcome.reading, Unknown):
        return outcome.reading.why
    condition, value = outcome.condition, outcome.reading.value
    return f"{condition.signal} is {value:.3g} where {condition.needs} would speak for it, and other work moves it too"


# 2. A look-alike explains what lacks proof, and waits that cost nothing close what is open.


def _beside_look_alike(
    look_alike: Finding | None, context: SignalContext, causes: Mapping[str, Cause], verdict: CauseVerdict
) -> CauseVerdict:
    if isinstance(verdict, OpenCause) and context.gate_of(causes[verdict.cause].surfaces) is Severity.INFO:
        if verdict.near:
            return verdict  # the missing figures may show it, cheap as it is
        if verdict.reading.missing == WAITING_SESSIONS and unseen_waiters(context) is not None:
            return verdict  # the finished waits are cheap; the open ones may be anything
        return _too_cheap(verdict, context, context.waited_on(causes[verdict.cause].surfaces) or 0.0)
    if look_alike is None or not isinstance(verdict, Finding) or verdict.cause == look_alike.cause:
        return verdict
    return _explained_by(look_alike, verdict) if _without_proof(verdict, causes[verdict.cause]) else verdict


def _without_proof(verdict: Finding, cause: Cause) -> bool:
    """Whether a look-alike explains a finding, because its distinguishing sign was not seen."""
    if cause.look_alike or cause.cap is Severity.INFO:
        return False
    proof = {condition.signal for condition in conditions(cause) if condition.role in ("discriminating", "supporting")}
    return not any(evidence.signal in proof for evidence in verdict.evidence)


def _explained_by(other: Finding, verdict: Finding) -> RuledOut:
    first = other.evidence[0]
    return RuledOut(
        cause=verdict.cause,
        signal=first.signal,
        name=first.name,
        value=first.value,
        unit=first.unit,
        needs=f"not {first.needs}",
        because=f"{other.title} explains these waits ({other.cause})",
        explained_by=other.cause,
    )


def _too_cheap(verdict: OpenCause, context: SignalContext, waited: float) -> RuledOut:
    """An open cause may stay open even if the waits it would explain cost nothing."""
    db_time = context.shared_db_time
    name, unit, bound = "sessions that wait", "waiting sessions", IDLE_SESSIONS
    value = waited / (context.delta.basis.seconds or 1.0)
    if db_time and waited / db_time < NOTICEABLE_SHARE:
        name, unit, bound, value = "cost of the waits", "share of DB time", NOTICEABLE_SHARE, waited / db_time
    return RuledOut(
        cause=verdict.cause,
        signal="impact",
        name=name,
        bound=Bound(operator=">=", value=bound),
        value=value,
        unit=unit,
        needs=f">= {bound:g}",
        because="these waits cost next to nothing here",
    )


# Many sessions wait for something, and there was no look: they may hang.

CROWD_PER_CPU = 2.0
"""Waiting sessions on average, per processor. This many are some kind of trouble, of the row cache or another."""


def unseen_waiters(context: SignalContext) -> float | None:
    """Average number of sessions that wait for something, if they are many and there was no look. Otherwise None."""
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if context.look is not None or context.printed or db_time is None or not seconds:
        return None
    waiting = (db_time - (cpu or 0.0)) / seconds
    return waiting if waiting >= CROWD_PER_CPU * (context.cpus or 1.0) else None


# 3. A general finding gives way. 4. A finding without proof stays open.


def _giving_way(verdict: Finding, cause: Cause, findings: Mapping[str, Finding]) -> CauseVerdict:
    """A general finding beside a special one about the same waits. One of low confidence does not replace one with a cache."""
    for special in (findings[name] for name in cause.gives_way_to if name in findings):
        if special.surface == verdict.surface and (special.confidence is not Confidence.LOW or not cause.caches):
            return _explained_by(special, verdict)
    return verdict


def _exonerated(verdict: Finding, causes: Mapping[str, Cause], nearly: Mapping[str, OpenCause]) -> Finding | OpenCause:
    """A finding without proof of its own. It stays open if a look-alike would explain it but for a missing figure.

    A general cause replaces an open special one: it claims less about the same waits, not more.
    """
    cause = causes[verdict.cause]
    if not _without_proof(verdict, cause):
        return verdict
    likely = (causes[name] for name in nearly)
    rival = next((nearly[other.id] for other in likely if other.look_alike and verdict.surface in other.surfaces), None)
    return verdict if rival is None else OpenCause(cause.id, rival.reading, len(verdict.evidence))


# 5. A quiet interval: nothing waits and nothing hangs, so the findings need no weighing of every cause.
#
# The findings equal those of `rules.engine.diagnose`, which also gives what was ruled out and what stayed open.


def quiet_findings(context: SignalContext) -> list[CauseVerdict] | None:
    """The findings of a quiet interval, all of which cost nothing. None if every cause must be judged."""
    if not _quiet(context):
        return None
    candidates = _candidates(tuple(context.surfaces), full_release_of(context.delta))
    findings = [verdict for cause in candidates if (verdict := _finding(cause, context)) is not None]
    return weighed(context, catalogue(), findings)


def _quiet(context: SignalContext) -> bool:
    """Whether an interval between polls cost nothing on any surface, and no session was seen waiting."""
    delta = context.delta
    return (
        delta.source == "views"
        and delta.basis.kind == "interval"
        and not delta.confirmations
        and context.crowd is None
        and (context.look is None or not (context.look.sessions or context.look.before))
        and all(context.gate_of((surface,)) is Severity.INFO for surface in context.surfaces)
        and overall_gate(context) is Severity.INFO
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A cause with its conditions in the best order: quick ones and frequent failures first."""

    cause: Cause
    in_turn: tuple[Condition | AnyOf, ...]
    shaped: bool
    """Whether a shape may replace an unknown identity."""


@cache
def _candidates(surfaces: Sequence[Surface], release: str | None) -> tuple[_Candidate, ...]:
    """The causes that can happen on an instance with these surfaces."""

    def turn(condition: Condition | AnyOf) -> int:
        return 3 if isinstance(condition, AnyOf) else {"required": 0, "identity": 1}.get(condition.role, 2)

    return tuple(
        _Candidate(
            cause,
            tuple(sorted(cause.when, key=turn)),
            any(condition.role == "shape" for condition in conditions(cause)),
        )
        for cause in catalogue().values()
        if set(cause.surfaces) & set(surfaces)
        and (release is None or cause.releases.include(release))
        and not cause.handbook
    )


def _finding(candidate: _Candidate, context: SignalContext) -> Finding | None:
    """The finding of a cause in a quiet interval. None at the first condition that fails or is unknown.

    There is no near miss here: that needs waits that cost something.
    """
    cause = candidate.cause
    for condition in candidate.in_turn:
        for outcome in outcomes_of(condition, cause, context):
            role, holds = outcome.condition.role, of_own_cache(outcome, context).holds
            if holds is False and role != "supporting":
                return None
            if holds is None and (role == "required" or (role == "identity" and not candidate.shaped)):
                return None
    read = (outcome for condition in cause.when for outcome in outcomes_of(condition, cause, context))
    outcomes = [of_own_cache(outcome, context) for outcome in read]
    if blocking_of(outcomes, context) is not None or any(may_dilute(outcome, context) for outcome in outcomes):
        return None
    return finding(cause, context, outcomes)


# What is in trouble, each surface and each hot cache separately.


def troubles(context: SignalContext, findings: Sequence[Finding]) -> tuple[Trouble, ...]:
    """Every surface, or hot cache on it, with notable waits; the most expensive first."""
    costly = [trouble for surface in context.surfaces for trouble in _on(context, surface, findings)]
    return tuple(sorted(costly, key=lambda trouble: -(trouble.share_of_db_time or trouble.waiting_sessions or 0.0)))


def _on(context: SignalContext, surface: Surface, findings: Sequence[Finding]) -> Iterator[Trouble]:
    hot = context.hot_caches.named(surface)
    for place, names in enumerate(hot or [()]):
        impact = context.impact_by(context.hot_caches.waited_for((surface,), names))
        if impact is None or severity_of(impact) in (None, Severity.INFO):
            continue
        child = context.hot_caches.children[place] if surface == "latch" and names else None
        causes = []
        for verdict in findings:
            waited_as = context.hot_caches.waited_as([verdict.cache]) if names and verdict.cache is not None else names
            here = verdict.surface == surface and (not names or bool(set(waited_as) & set(names)))
            if here and verdict.severity is not Severity.INFO:
                causes.append(verdict.cause)
        yield Trouble(
            surface=surface,
            cache=context.map.name(child) if child is not None else names[0] if names else None,
            child=child,
            share_of_db_time=impact.share_of_db_time,
            waiting_sessions=impact.waiting_sessions,
            causes=tuple(causes),
        )


def surface_impacts(context: SignalContext) -> tuple[SurfaceImpact, ...]:
    """The cost of each surface with known waits."""
    costs = ((surface, context.impact_of((surface,))) for surface in context.surfaces)
    return tuple(
        SurfaceImpact(surface=surface, share_of_db_time=cost.share_of_db_time, waiting_sessions=cost.waiting_sessions)
        for surface, cost in costs
        if cost is not None and (cost.share_of_db_time is not None or cost.waiting_sessions is not None)
    )


def whole_impact(context: SignalContext, findings: Iterable[Finding]) -> Impact | None:
    """The cost of the row cache, and of the result cache latch if that is in trouble."""
    shown = {finding.surface for finding in findings if finding.severity is not Severity.INFO}
    beside: tuple[Surface, ...] = ("result-cache",) if "result-cache" in shown else ()
    return context.impact_of((*ROW_CACHE_SURFACES, *beside))


# The severity of all waits by their cost, whether or not a cause is known.

TELLING = ("v$latch", "v$latch_children", "v$mutex_sleep", "v$rowcache", "v$system_event", "v$session")
"""At least one of these views is necessary for any statement."""
SEVERAL_DOZEN = 36
"""This many sessions that wait for the row cache in one look are a trouble, whatever the averages say (our bound)."""


def overall_gate(context: SignalContext) -> Severity | None:
    """Severity of all waits, whether the cause is known or not. None if no cost is known and no session was seen waiting."""
    gates = [gate for gate in (row_cache_gate(context), context.gate_of(["result-cache"])) if gate is not None]
    return worst(gates) if gates else None


def cost_is_open(context: SignalContext) -> bool:
    """Whether a cost that may be a trouble was not captured. Totals have no cost, and a report lacks none that was timed."""
    if context.printed:
        return untimed(context.delta)
    if context.delta.basis.kind == "totals":
        return False
    if row_cache_gate(context) is None:
        return anything_read(context)
    named = any(row.get("name") == RESULT_CACHE_LATCH for row in context.delta.rows("v$latchname"))
    return named and context.gate_of(["result-cache"]) is None


def totals_without_waits(context: SignalContext) -> bool:
    """Whether these are totals in which the time of no wait was captured: they accuse nobody, and clear nobody."""
    return context.delta.basis.kind == "totals" and context.lost.on(ROW_CACHE_SURFACES) is None


def anything_read(context: SignalContext) -> bool:
    """Whether any view was read that a statement on the row cache needs."""
    return any(not isinstance(context.delta.read(view), Missing) for view in TELLING)


def row_cache_gate(context: SignalContext) -> Severity | None:
    """Severity of the waits for the row cache: by their cost, and by the sessions in one look."""
    by_sessions = Severity.WARNING if crowd_at_once(context) >= SEVERAL_DOZEN else None
    gates = [gate for gate in (context.gate, by_sessions) if gate is not None]
    return worst(gates) if gates else None


def crowd_at_once(context: SignalContext) -> int:
    """Most sessions seen waiting for the row cache in one look."""
    now = len(context.look.of(ROW_CACHE_SURFACES)) if context.look else 0
    return max(now, context.crowd.most_at_once if context.crowd else 0)
