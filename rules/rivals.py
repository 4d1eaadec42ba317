"""Causes beside each other: which of those that stand for the same waits says most, and which finding comes first.

What one cause says about another stands under `relations` in its file. The rest follows from what speaks for each.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rules.base import bound_of
from rules.cause import Cause
from rules.context import LOOKUPS, ROW_CACHE_SURFACES
from rules.finding import finding
from rules.formatting import compared
from rules.judge import SIGN_KINDS, Hypothesis, OpenCause, Outcome, Verdict, ruled_out
from rules.model import Finding, Known, RuledOut, Severity, Unknown

# 3. What stands for the same waits.


def relate(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of hypotheses about the same waits those that say most; the others are ruled out, or open with what would decide."""
    standing = [verdict for verdict in verdicts if isinstance(verdict, Hypothesis)]
    opened = [verdict for verdict in verdicts if isinstance(verdict, OpenCause)]
    return [_related(verdict, standing, opened) if isinstance(verdict, Hypothesis) else verdict for verdict in verdicts]


def _related(one: Hypothesis, standing: Sequence[Hypothesis], opened: Sequence[OpenCause]) -> Verdict:
    better = [other for other in standing if other.complete and explains(other, one)]
    if better:
        # One that is explained away itself is no answer to "why", so it is named only where nothing else is.
        last = (other for other in better if not any(each.complete and explains(each, other) for each in standing))
        return _explained_by(next(last, better[0]), one)
    return (_but_for_a_gap if one.complete else _incomplete)(one, standing, opened)


def explains(other: Hypothesis, one: Hypothesis) -> bool:
    """Whether another hypothesis says why the same waits happen, and says more.

    By a relation; else one that drags the row cache explains what has no sign of its own, one that names a cache what names
    none, and a direct sign a ratio to the rest of the work.
    """
    rival, cause = other.cause, one.cause
    if other is one or cause.cap is Severity.INFO:
        return False
    if cause.id in rival.explains:
        return rival.drags or other.surface == one.surface
    if rival.id in cause.explains or akin(rival, cause):
        return False
    if rival.drags:
        return not (cause.drags or one.proven) and touches(rival, cause)
    if cause.drags or not other.costs or not same_waits(other, one) or one.sign == "direct" or not rival.caches:
        return False
    return not cause.caches or other.sign == "direct"


def touches(rival: Cause, cause: Cause) -> bool:
    """Whether a cause that drags the row cache drags a cache of another cause."""
    return not cause.caches or not set(cause.caches) <= set(rival.spares)


def akin(one: Cause, other: Cause) -> bool:
    """Whether both are true where both are found."""
    return other.id in one.shares or one.id in other.shares


def same_waits(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether two hypotheses may be about the same waits: on one surface, for a cache of both or an unknown one."""
    shared = set(one.cause.caches) & set(other.cause.caches)
    return one.surface == other.surface and (bool(shared) or not (one.named and other.named))


def _but_for_a_gap(one: Hypothesis, standing: Sequence[Hypothesis], opened: Sequence[OpenCause]) -> Verdict:
    """A complete hypothesis, or the same open where one would explain it but for a gap, or for a ratio that is nearly met."""
    if one.cause.cap is Severity.INFO or one.cause.drags:
        return one
    for other in standing:
        if not (other.complete or other.cause.drags) and explains(other, one) and (other.gaps or diluted(other)):
            return OpenCause(one, _undecided(other))
    for left in opened:
        rival = left.hypothesis
        here = one.surface in rival.cause.surfaces and touches(rival.cause, one.cause)
        if left.near and rival.cause.drags and not one.proven and here:
            return OpenCause(one, left.reading)
    return one


def _incomplete(one: Hypothesis, standing: Sequence[Hypothesis], opened: Sequence[OpenCause]) -> Verdict:
    """An incomplete hypothesis with a sign where nothing else may be as good a reason for the same waits. Else it stays open,
    or is ruled out by its doubts where a complete one has these waits, or where they cost nothing."""
    # What drags the row cache along explains what has no sign of its own, and is not another reason for the same waits.
    rivals = [other for other in standing if other is not one and other.costs and not other.cause.drags]
    rivals = [other for other in rivals if same_waits(other, one)]
    if not one.costs or any(other.complete and (other.named or other.sign == "direct") for other in rivals):
        return OpenCause(one, _undecided(one), near=True) if one.gaps else ruled_out(one.cause, one.doubts[0])
    # Without DB time nobody knows whether its waits matter, so less than everything must not accuse it.
    if (unmeasured := _unmeasured_share(one)) is not None:
        return OpenCause(one, unmeasured, near=True)
    ahead = (
        not one.cause.drags
        and _signed(one)
        and not any(other.complete and not (one.signs and explains(one, other)) for other in rivals)
        and not any(one.cause.id in other.cause.explains or _strength(other) >= _strength(one) for other in rivals)
        and not any(_may_be(left, one) for left in opened)
    )
    return one if ahead else OpenCause(one, _undecided(one), near=bool(one.gaps))


def _signed(one: Hypothesis) -> bool:
    """Whether more than the cache speaks for it: a direct sign, or where the cache is waited for, any sign with ratios no
    further off than other work brings them. Without a sign it is enough that this cache has most look-ups."""
    if not one.cause.caches and one.surface in ROW_CACHE_SURFACES:
        return one.sign == "surface" and not one.doubts
    if one.sign == "direct":
        return True
    if one.sign == "none":
        return one.named and bool(one.doubts) and diluted(one)
    return one.named and (one.sign == "surface" or all(map(nearly, one.doubts)))


MANY_WAITING = 0.5
"""Sessions waiting on average that are a problem on any instance (the bound of a warning by sessions)."""


def _unmeasured_share(one: Hypothesis) -> Unknown | None:
    """The missing reading that would show whether the waits of an incomplete hypothesis cost anything.

    Waiting sessions may be a notable share of DB time, or none on a busy instance. A report needs no more than it has.
    """
    context, impact = one.context, one.own_waits
    polled = context.delta.source == "views" and context.delta.basis.kind == "interval"
    if not polled or (impact is not None and impact.share_of_db_time is not None):
        return None
    if impact is None or impact.waiting_sessions is None:
        return context.why_unknown("v$system_event", "time_waited_micro")
    if context.inside_pdb or impact.waiting_sessions >= MANY_WAITING:  # then waiting sessions grade the waits
        return None
    return context.why_unknown("v$sys_time_model", "value")


def _strength(one: Hypothesis) -> tuple[bool, int, int]:
    """How much speaks for a hypothesis: the cache, its best sign, and how many signs."""
    return one.named, SIGN_KINDS.index(one.sign), len(one.signs)


def _may_be(left: OpenCause, one: Hypothesis) -> bool:
    """Whether an open cause that only lacks what was not captured may be about the same waits, or say why they happen."""
    rival = left.hypothesis.cause
    if one.surface not in rival.surfaces or rival.drags or rival.cap is Severity.INFO:
        return False
    special = one.cause.id in rival.explains and left.reading.absent
    return special or (left.near and bool(set(rival.caches) & set(one.cause.caches)))


DILUTED_AT_MOST = 3.0
"""A ratio of look-ups this many times below its bound is diluted; a smaller one is another cause's (our bound)."""
OTHER_LOOKUPS = ("gets_per_parse", "lookups_per_execution", "modification_ratio", "share_of_lookups")
"""Ratios that other work with the same cache makes smaller."""


def nearly(outcome: Outcome) -> bool:
    """Whether a ratio of look-ups misses its bound by no more than other work may dilute it."""
    bound = bound_of(outcome.condition.needs)
    if outcome.condition.signal not in OTHER_LOOKUPS or bound is None or not isinstance(outcome.reading, Known):
        return False
    return outcome.reading.value * DILUTED_AT_MOST >= bound.value


def diluted(one: Hypothesis) -> bool:
    """Whether ratios alone speak against a hypothesis about the busiest cache, as far off as other work may bring them."""
    busiest = next(iter(one.context.by_name(LOOKUPS)), None)
    return busiest in one.cause.caches and all(map(nearly, one.doubts))


def _undecided(one: Hypothesis) -> Unknown:
    """The reading that would decide an incomplete hypothesis."""
    gap = next((each.why_unknown for each in one.gaps if each.why_unknown), None)
    look = "see which statements the waiters run, and whether they are of this kind"
    return gap or Unknown("v$session", why_doubted(one.doubts[0]), look)


def why_doubted(outcome: Outcome) -> str:
    """What a ratio is, and that other work moves it."""
    assert isinstance(outcome.reading, Known)
    condition, value = outcome.condition, outcome.reading.value
    return f"{condition.signal} is {value:.3g} where {condition.needs} would speak for it, and other work moves it too"


def _explained_by(other: Hypothesis, one: Hypothesis) -> RuledOut:
    """Ruled out by a cause that says more, with the figure that shows that cause best."""
    better = finding(other)
    shown = next((each for each in better.evidence if each.role == "discriminating"), better.evidence[0])
    reason, (value, needs) = other.cause.explains.get(one.cause.id), compared(shown)
    return RuledOut(
        cause=one.cause.id,
        signal=shown.signal,
        name=shown.name,
        value=shown.value,
        unit=shown.unit,
        needs=f"waits that {other.cause.id} does not explain",
        because=f"{better.title} explains these waits ({other.cause.id}), shown by {shown.name} of {value}, "
        f"where it needs {needs}{f': {reason}' if reason else ''}",
        explained_by=other.cause.id,
    )


# 5. The order of several findings.


def rank(findings: Iterable[Finding], causes: Mapping[str, Cause]) -> tuple[Finding, ...]:
    """Findings, the one to act on first: by severity, exoneration of the row cache, cost, special case, confidence."""
    listed = list(findings)
    names = {finding.cause for finding in listed}

    def order(finding: Finding) -> tuple[Any, ...]:
        cause = causes[finding.cause]
        general = bool(names & set(cause.shares))
        return (
            -finding.severity.rank,
            not cause.drags or general,
            -round((finding.impact and finding.impact.share_of_db_time) or 0.0, 2),
            general,
            -finding.confidence.rank,
            -len(finding.evidence),
            finding.cause,
        )

    return tuple(sorted(listed, key=order))
