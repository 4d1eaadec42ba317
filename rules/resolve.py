"""Weighs verdicts against each other: near misses, look-alikes, special causes, and waits that cost nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rules.bounds import Bound, bound_of
from rules.catalogue import conditions
from rules.cause import Cause
from rules.context import Known, SignalContext
from rules.finding import ConditionResult
from rules.formatting import against_bound
from rules.hangs import VIEW as WAITING_SESSIONS
from rules.impact import IDLE_SESSIONS, NOTICEABLE_SHARE
from rules.model import Confidence, Finding, RuledOut, Severity, Undetermined, Unknown
from rules.signals import SIGNALS
from rules.unseen import unseen_waiters


@dataclass(frozen=True, slots=True)
class OpenCause:
    """A cause that could not be judged, and the missing reading."""

    cause: str
    reading: Unknown
    held: int = 0
    """The number of conditions that hold, without those that only lower confidence."""
    near: bool = False
    """Whether it would be found if no missing figure spoke against it."""

    @property
    def undetermined(self) -> Undetermined:
        """The verdict in the form of a Diagnosis."""
        reading = self.reading
        return Undetermined(cause=self.cause, missing=reading.missing, why=reading.why, way_out=reading.way_out)


CauseVerdict = Finding | RuledOut | OpenCause


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A cause whose cache is in trouble, with nothing against it but ratios to the whole instance, known or missing."""

    finding: Finding
    against: tuple[ConditionResult, ...]
    backed: bool
    """Whether something besides the cache speaks for it."""

    @property
    def spoken_against(self) -> bool:
        """Whether a known ratio speaks against it. Then an open cause without a cache may explain the waits as well."""
        return any(outcome.holds is False for outcome in self.against)


def ruled_out(cause: Cause, outcome: ConditionResult) -> RuledOut:
    """The verdict on a cause that a condition speaks against."""
    assert isinstance(outcome.reading, Known)
    condition = outcome.condition
    return RuledOut(
        cause=cause.id,
        signal=condition.signal,
        name=SIGNALS[condition.signal].called,
        value=outcome.reading.value,
        unit=SIGNALS[condition.signal].unit,
        needs=condition.needs,
        bound=bound_of(condition.needs),
        because=against_bound(
            SIGNALS[condition.signal].called, outcome.reading.value, SIGNALS[condition.signal].unit, condition.needs
        ),
    )


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
    found = {verdict.cause: verdict for verdict in settled if isinstance(verdict, Finding)}
    look_alike = next((verdict for name, verdict in found.items() if causes[name].look_alike), None)
    in_its_light = [_in_the_light_of(look_alike, context, causes, verdict) for verdict in settled]
    settled = [
        _giving_way(verdict, causes[verdict.cause], found) if isinstance(verdict, Finding) else verdict
        for verdict in in_its_light
    ]
    return [_exonerated(verdict, causes, nearly) if isinstance(verdict, Finding) else verdict for verdict in settled]


def _exonerated(verdict: Finding, causes: Mapping[str, Cause], nearly: Mapping[str, OpenCause]) -> Finding | OpenCause:
    """A finding without proof of its own. It stays open if a look-alike would explain it but for a missing figure.

    A general cause replaces an open special one: it claims less about the same waits, not more.
    """
    cause = causes[verdict.cause]
    if not _without_proof(verdict, cause):
        return verdict
    rivals = (
        other for name, other in nearly.items() if causes[name].look_alike and verdict.surface in causes[name].surfaces
    )
    rival = next(rivals, None)
    return verdict if rival is None else OpenCause(cause.id, rival.reading, len(verdict.evidence))


def _without_proof(verdict: Finding, cause: Cause) -> bool:
    """Whether a look-alike explains a finding, because its distinguishing sign was not seen."""
    proof = {condition.signal for condition in conditions(cause) if condition.role in ("discriminating", "supporting")}
    if cause.look_alike or cause.cap is Severity.INFO:
        return False
    return not any(evidence.signal in proof for evidence in verdict.evidence)


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
    if (untold := _untold_share(miss, context)) is not None:
        return OpenCause(cause.id, untold, len(own.evidence), near=True)
    for name, other in nearly.items():
        if _may_explain(causes[name], own, cause) and (miss.spoken_against or causes[name].caches):
            return OpenCause(cause.id, other.reading)
    rivals = [
        other
        for other in misses
        if other.backed and other.finding.surface == own.surface and other.finding.cache == own.cache
    ]
    if miss.backed and min(rivals, key=_distance) is miss:
        if not miss.spoken_against:
            return own
        unknown = tuple(dict.fromkeys((*own.unknown, *map(_why, miss.against))))
        return own.model_copy(update={"confidence": Confidence.LOW, "unknown": unknown})
    look = "see which statements the waiters run, and whether they are of this kind"
    return OpenCause(cause.id, Unknown("v$session", _why(miss.against[0]), look))


def _closed(miss: NearMiss, cause: Cause) -> CauseVerdict:
    """What speaks against a near miss. A missing figure does not; it leaves it open."""
    for outcome in miss.against:
        if isinstance(outcome.reading, Unknown):
            return OpenCause(cause.id, outcome.reading, len(miss.finding.evidence), near=True)
    return ruled_out(cause, miss.against[0])


def _untold_share(miss: NearMiss, context: SignalContext) -> Unknown | None:
    """The missing reading that would show whether the waits of a near miss cost anything. Without it there is no finding.

    Waiting sessions may be a notable share of DB time, or none on a busy instance. A report needs no more than it has.
    """
    impact, asked = miss.finding.impact, context.delta.source == "views" and context.delta.basis.kind == "interval"
    if not asked or impact is None or impact.waiting_sessions is None or impact.share_of_db_time is not None:
        return None
    if context.inside_pdb:  # no share can be known there, and waiting sessions grade the waits
        return None
    return context.why_unknown("v$sys_time_model", "value")


def _distance(miss: NearMiss) -> tuple[int, int, str]:
    return (len(miss.against), -len(miss.finding.evidence), miss.finding.cause)


def _why(outcome: ConditionResult) -> str:
    if isinstance(outcome.reading, Unknown):
        return outcome.reading.why
    condition, value = outcome.condition, outcome.reading.value
    return f"{condition.signal} is {value:.3g} where {condition.needs} would speak for it, and other work moves it too"


def _explains(finding: Finding, other: Finding, causes: Mapping[str, Cause]) -> bool:
    """Whether a finding is about the same waits."""
    known = causes[finding.cause]
    if finding.severity is Severity.INFO or finding.surface != other.surface or known.look_alike:
        return False
    if not known.caches:
        return other.cause not in known.gives_way_to
    return finding.cache == other.cache and other.cause not in known.special_cases


def _may_explain(open_one: Cause, other: Finding, known: Cause) -> bool:
    """Whether a cause that was not ruled out may be about the same waits."""
    if other.surface not in open_one.surfaces or open_one.look_alike or open_one.cap is Severity.INFO:
        return False
    return not open_one.caches or bool(set(open_one.caches) & set(known.caches))


def _giving_way(verdict: Finding, cause: Cause, found: Mapping[str, Finding]) -> CauseVerdict:
    """A general finding beside a more special one that says the same and more."""
    special = next(
        (found[name] for name in cause.gives_way_to if name in found and _same(found[name], verdict, cause)), None
    )
    return verdict if special is None else _explained_by(special, verdict)


def _same(special: Finding, general: Finding, cause: Cause) -> bool:
    """Whether a special finding is about the waits of a general one. One of low confidence does not replace one with a cache."""
    return special.surface == general.surface and (special.confidence is not Confidence.LOW or not cause.caches)


def _in_the_light_of(
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
    because = "these waits cost next to nothing here"
    if db_time and waited / db_time < NOTICEABLE_SHARE:
        return RuledOut(
            cause=verdict.cause,
            signal="impact",
            name="cost of the waits",
            bound=Bound(operator=">=", value=NOTICEABLE_SHARE),
            value=waited / db_time,
            unit="share of DB time",
            needs=f">= {NOTICEABLE_SHARE:g}",
            because=because,
        )
    return RuledOut(
        cause=verdict.cause,
        signal="impact",
        name="sessions that wait",
        bound=Bound(operator=">=", value=IDLE_SESSIONS),
        value=waited / (context.delta.basis.seconds or 1.0),
        unit="waiting sessions",
        needs=f">= {IDLE_SESSIONS:g}",
        because=because,
    )
