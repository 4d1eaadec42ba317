"""A quiet interval: nothing waits and nothing hangs, so the findings need no weighing of every cause.

The findings equal those of `rules.engine.diagnose`, which also gives what was ruled out and what stayed open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from rules.catalogue import catalogue, conditions
from rules.cause import AnyOf, Cause, Condition
from rules.context import SignalContext
from rules.finding import finding
from rules.judging import as_known, blocking_of, full_release_of, may_dilute, outcomes_of
from rules.model import Finding, Severity, Surface
from rules.troubles import overall_gate
from rules.weighing import CauseVerdict, weighed


def quiet_findings(context: SignalContext) -> list[CauseVerdict] | None:
    """The findings of a quiet interval, all of which cost nothing. None if every cause must be judged."""
    if not _quiet(context):
        return None
    asked = _candidates(tuple(context.surfaces), full_release_of(context.delta))
    return weighed(
        context, catalogue(), [verdict for cause in asked if (verdict := _found(cause, context)) is not None]
    )


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
    shown = [cause for cause in catalogue().values() if set(cause.surfaces) & set(surfaces)]
    here = [cause for cause in shown if release is None or cause.releases.include(release)]
    return tuple(
        _Candidate(
            cause,
            tuple(sorted(cause.when, key=_turn)),
            any(condition.role == "shape" for condition in conditions(cause)),
        )
        for cause in here
        if not cause.handbook
    )


def _turn(condition: Condition | AnyOf) -> int:
    return 3 if isinstance(condition, AnyOf) else {"required": 0, "identity": 1}.get(condition.role, 2)


def _found(candidate: _Candidate, context: SignalContext) -> Finding | None:
    """The finding of a cause in a quiet interval. None at the first condition that fails or is unknown.

    There is no near miss here: that needs waits that cost something.
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
