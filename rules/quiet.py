"""The short form of a Diagnosis: where nothing waits and nothing hangs, no cause needs weighing to say so.

Severity, headline, findings and costs are those of `rules.engine.diagnose`; steps, what was ruled out and what stayed open are
left to it, for whoever asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from collectors.model import Delta
from rules.baseline import UsualRange
from rules.cache_map import CacheMap
from rules.catalogue import catalogue, conditions
from rules.cause import AnyOf, Cause, Condition
from rules.context import SignalContext
from rules.engine import severity_by_cost
from rules.explanation.headline import headline
from rules.finding import finding, ranked
from rules.judging import as_known, blocking_of, full_release_of, may_dilute, outcomes_of
from rules.model import Diagnosis, DiagnosisBasis, Finding, Severity, Surface
from rules.nameless import gaps_of
from rules.troubles import overall_gate, surface_impacts, whole_impact
from rules.weighing import weighed


def short_form(
    delta: Delta, usual: Mapping[str, UsualRange] | None = None, caches: CacheMap | None = None
) -> Diagnosis | None:
    """The Diagnosis of a quiet interval without its reasons; None where it takes the whole. Arguments as of `diagnose`."""
    delta = delta.without(gaps_of(delta))
    context = SignalContext(delta, caches)
    if not _quiet(context):
        return None
    asked = _candidates(tuple(context.surfaces), full_release_of(delta))
    found = [each for candidate in asked if (each := _found(candidate, context)) is not None]
    findings = ranked((each for each in weighed(context, catalogue(), found) if isinstance(each, Finding)), catalogue())
    basis = delta.basis
    return Diagnosis.model_construct(
        database=delta.database,
        release=delta.release,
        mechanism=context.mechanism,
        basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
        severity=severity_by_cost(context, catalogue(), findings),
        headline=headline(context, findings, usual or {}),
        impact=whole_impact(context, findings),
        surfaces=surface_impacts(context),
        findings=findings,
        steps=(),
        ruled_out=(),
        undetermined=(),
    )


def _quiet(context: SignalContext) -> bool:
    """Whether an interval between polls cost nothing on any surface, and nobody was met waiting."""
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
    """A cause as it is asked: what is quick to tell and most often speaks against it comes first."""

    cause: Cause
    in_turn: tuple[Condition | AnyOf, ...]
    shaped: bool
    """Whether a shape may stand in for an identity that is not known."""


@cache
def _candidates(surfaces: Sequence[Surface], release: str | None) -> tuple[_Candidate, ...]:
    """The causes that can happen on an instance with these surfaces."""
    shown = [cause for cause in catalogue().values() if set(cause.surfaces) & set(surfaces)]
    here = [cause for cause in shown if release is None or cause.releases.include(release)]
    return tuple(
        _Candidate(cause, tuple(sorted(cause.when, key=_turn)), any(one.role == "shape" for one in conditions(cause)))
        for cause in here
        if not cause.handbook
    )


def _turn(condition: Condition | AnyOf) -> int:
    return 3 if isinstance(condition, AnyOf) else {"required": 0, "identity": 1}.get(condition.role, 2)


def _found(candidate: _Candidate, context: SignalContext) -> Finding | None:
    """The finding of a cause in a quiet interval; None at the first thing that speaks against it or that it lacks.

    A near miss is none here: it takes waits that cost something.
    """
    cause = candidate.cause
    for condition in candidate.in_turn:
        for outcome in outcomes_of(condition, cause, context):
            role, holds = outcome.condition.role, as_known(outcome, context).holds
            if holds is False and role != "supporting":
                return None
            if holds is None and (role == "required" or (role == "identity" and not candidate.shaped)):
                return None
    outcomes = [as_known(each, context) for condition in cause.when for each in outcomes_of(condition, cause, context)]
    if blocking_of(outcomes, context) is not None or any(may_dilute(outcome, context) for outcome in outcomes):
        return None
    return finding(cause, context, outcomes)
