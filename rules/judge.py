"""Judges one cause on one Delta, each by itself; `rules.resolve` then weighs the verdicts against each other.

1. A cause of other releases, or of a surface that this instance lacks, is ruled out.
2. Its conditions are read in turn. The first that fails for certain rules it out.
3. A ratio that other work may dilute does not, where the cause's cache is in trouble: it only speaks against the cause.
4. Too few events leave it open, as does a missing figure where nothing that was captured speaks for it.
5. What is left is a Hypothesis with its Finding: cache, cost, confidence, evidence, remedy and confirming query.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from typing import Literal

from collectors.model import ConfirmationResult, Delta, Missing, number, text
from rules.base import UsualBetween, bound_of, meets
from rules.cache_map import cache_ref
from rules.cause import CACHE, HOLDER, WHY_LEFT, AnyOf, Cause, Condition, filled, in_slot
from rules.confidence import CacheKind, EvidenceKind, RivalKind, SightKind, SignKind
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.fixes import FIX_MISSING, ended_by, fix_line
from rules.formatting import against_bound, within
from rules.hangs.blockers import holder_of, why_left
from rules.hangs.tree import chains_of, platform_of
from rules.model import (
    CacheRef,
    Confidence,
    Evidence,
    Finding,
    Identity,
    Impact,
    NearestBound,
    RuledOut,
    Severity,
    Surface,
    Undetermined,
)
from rules.remedy import Confirmation, Query, RemedyStep, paragraph, risks
from rules.signals import SIGNALS, Subject
from rules.waits import hanging, most_waited_for, severity_of
from rules.words import slots

# What the judgement of one cause can give.


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """A condition, the reading of its signal, and whether it holds (None: cannot tell)."""

    condition: Condition
    reading: SignalValue
    holds: bool | None


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
class Hypothesis:
    """A cause that no figure rules out, and that something captured speaks for. Complete, it is a finding on its own."""

    finding: Finding
    """With the title of a sure one; `rules.resolve` says how sure it is."""
    named: bool
    """Whether sleeps or waiters name its cache."""
    signs: frozenset[str]
    """Its distinguishing signals and shapes that hold."""
    sign: SignKind
    """The best of them: of the cause itself, as a ratio to other work, or of the whole latch, mutex or event."""
    sight: SightKind
    """Whether everything was seen; against: a ratio, a supporting condition or the map speaks against it."""
    against: tuple[ConditionResult, ...] = ()
    """Ratios to the whole instance that fail. Other work dilutes them, so they do not rule it out."""
    missing: tuple[ConditionResult, ...] = ()
    """What was not captured and might speak against it."""

    @property
    def cause(self) -> str:
        return self.finding.cause

    @property
    def complete(self) -> bool:
        return not (self.against or self.missing)

    def evidence(self, rival: RivalKind) -> EvidenceKind:
        """What it rests on, beside what else was found."""
        cache: CacheKind = "named" if self.named else "not named"
        if self.finding.identity == "inferred" or self.finding.cache is None:
            cache = "inferred" if self.finding.cache else "none"
        return EvidenceKind(cache, self.sign, rival, self.sight)


Verdict = Hypothesis | OpenCause | RuledOut
"""The verdict on a cause by itself."""

# The entry: one cause, from its release to its verdict.

LOOKS = ("v$session", "waiting_sessions", "row_cache_blockers", "library_cache_sessions")
"""Looks at who waits and who holds, which run only on demand."""
KQRST = "x$kqrst"
WHOLE_SURFACE = ("v$latch_misses", "v$mutex_sleep")
"""Views without caches. If two caches are in trouble, their holder locations are those of both."""
SAMPLED_SIGNALS = ("share_of_mutex_waiters", "share_of_lock_waiters")
NAMING = ("share_of_sleeps", *SAMPLED_SIGNALS)
LOOK_SIGNAL = "longest_wait_seconds"
"""From it a cause without a cache of its own finds the cache that hanging sessions wait for."""


def judge(cause: Cause, context: SignalContext) -> Verdict:
    """The verdict on a cause by itself."""
    other = elsewhere(cause, context)
    if other is not None:
        return other
    outcomes = _outcomes(cause, context)
    if isinstance(outcomes, RuledOut):
        return outcomes
    naming = [outcome for outcome in outcomes if outcome.condition.signal in NAMING]
    named = any(outcome.holds for outcome in naming)
    against = [outcome for outcome in outcomes if _against(outcome)]
    unnamed = None if named or not any(map(_diluted, against)) else _unnamed(cause, naming, context)
    for outcome in against:
        if not (_diluted(outcome) and (named or unnamed)):
            return ruled_out(cause, outcome)
    missing = [outcome for outcome in outcomes if missing_in(outcome, context)]
    blocking = too_little(outcomes, missing) or (unnamed if against else None)
    if blocking is None and missing and not (named or any(each.holds and _is_sign(each) for each in outcomes)):
        blocking = missing[0].reading if isinstance(missing[0].reading, Unknown) else None
    if blocking is not None:
        return _open(cause, blocking, outcomes, context)
    return hypothesis(cause, context, outcomes, against, missing)


def hypothesis(
    cause: Cause,
    context: SignalContext,
    outcomes: list[ConditionResult],
    against: Sequence[ConditionResult] = (),
    missing: Sequence[ConditionResult] = (),
) -> Hypothesis:
    """A cause that something speaks for, and what speaks against it or is missing."""
    held = [outcome for outcome in outcomes if outcome.holds]
    signs = [outcome for outcome in held if _is_sign(outcome)]
    found = finding(cause, context, outcomes)
    unknown = any(_half_known(outcome) for outcome in outcomes if outcome.condition.role != "supporting")
    sight: SightKind = "partial" if missing or unknown or context.printed else "whole"
    doubted = any(outcome.holds is False for outcome in outcomes) or not _map_fits(context, found)
    return Hypothesis(
        found,
        any(outcome.condition.signal in NAMING for outcome in held),
        frozenset(outcome.condition.signal for outcome in signs),
        max((_sign_of(outcome) for outcome in signs), key=WEIGHT.index, default="none"),
        "against" if doubted else sight,
        tuple(against),
        tuple(missing),
    )


def _half_known(outcome: ConditionResult) -> bool:
    return outcome.holds is None or (isinstance(outcome.reading, Known) and outcome.reading.few)


def _is_sign(outcome: ConditionResult) -> bool:
    return outcome.condition.role in ("discriminating", "shape")


WEIGHT: tuple[SignKind, ...] = ("none", "surface", "ratio", "direct")
ONE_WAY = "_time_to_waits"
"""The time of an activity contains its waits, so a small one refutes, but a large one shows little."""
OF_THE_SURFACE = (*WHOLE_SURFACE, "v$system_event")


def _sign_of(outcome: ConditionResult) -> SignKind:
    """Whether a sign is about the cause itself, a ratio to other work, or a figure of the whole latch, mutex or event."""
    condition, signal = outcome.condition, SIGNALS[outcome.condition.signal]
    if condition.role == "shape" or signal.of in OF_THE_SURFACE or condition.signal.endswith(ONE_WAY):
        return "surface"
    return "ratio" if _diluted(outcome) else "direct"


def _map_fits(context: SignalContext, found: Finding) -> bool:
    """Whether the map of children does not contradict the hot child, where the cache is known by it."""
    if found.identity == "sampled":
        return True
    return all(disagreement.child != context.hot_child for disagreement in context.map.disagreements)


# Step 1: can it happen on this instance at all?


def elsewhere(cause: Cause, context: SignalContext) -> RuledOut | None:
    """The verdict on a cause of other releases, one whose surface this instance does not have, or one whose fix is installed."""
    if not any(surface in context.surfaces for surface in cause.surfaces):
        guards = "mutexes" if context.mechanism == "mutex" else "latches"
        because, needs = f"{guards} guard the row cache of this release", " or ".join(cause.surfaces)
        return RuledOut(cause=cause.id, signal="mechanism", name="mechanism", value=None, needs=needs, because=because)
    if (ended := ended_by(cause, context.delta)) is not None:
        needs = f"bug {ended.fix.bug} without its fix"
        called = SIGNALS[FIX_MISSING].called
        return RuledOut(
            cause=cause.id, signal=FIX_MISSING, name=called, value=None, needs=needs, because=within(ended.sentence)
        )
    release = context.full_release
    if release is not None and not cause.releases.include(release):
        needs = f"{cause.releases.since or 'the oldest'} to {cause.releases.until or 'the newest'}"
        because = f"this is {release}, and the cause is not known to occur there"
        return RuledOut(cause=cause.id, signal="release", name="release", value=None, needs=needs, because=because)
    return None


# Step 2: its conditions, each read and compared with what it needs.


def _outcomes(cause: Cause, context: SignalContext) -> list[ConditionResult] | RuledOut:
    """The outcome of every condition, or the verdict at the first condition that decides against the cause alone."""
    outcomes: list[ConditionResult] = []
    for condition in cause.when:
        for outcome in outcomes_of(condition, cause, context):
            own = of_own_cache(outcome, context)
            if _against(own) and not _diluted(own) and not any(map(_against, outcomes)):
                return ruled_out(cause, own)
            outcomes.append(own)
    return outcomes


_subject = lru_cache(4096)(Subject)
"""Created once, because the conditions ask the same of every poll of every database."""


def outcomes_of(condition: Condition | AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
    """The outcome of a condition. Of alternatives: those that hold, else one that is open, else one that fails.

    Alternatives about a surface that this instance does not have are left out. If one is open for lack of events
    on a surface that costs nothing, the others settle it.
    """
    if isinstance(condition, Condition):
        location = condition.location or cause.location
        subject = _subject(cause.caches, location, condition.parameter, cause.surfaces, condition.needs)
        reading = SIGNALS[condition.signal].read(context, subject)
        if isinstance(reading, Unknown) and condition.must_be_known(context.delta.release):
            condition = condition.model_copy(update={"role": "required"})
        return [
            ConditionResult(
                condition, reading, meets(reading.value, condition.needs) if isinstance(reading, Known) else None
            )
        ]
    outcomes = _alternatives(condition, cause, context)
    holding = [outcome for outcome in outcomes if outcome.holds]
    undecided = [outcome for outcome in outcomes if outcome.holds is None and not _moot(outcome, context)]
    undecided.sort(key=lambda outcome: _absent(outcome, context) is None)
    failing = [outcome for outcome in outcomes if outcome.holds is False]
    return holding or undecided[:1] or failing[:1] or outcomes[:1]


def _alternatives(condition: AnyOf, cause: Cause, context: SignalContext) -> list[ConditionResult]:
    """The outcome of each alternative about a surface of this instance; of all if there is none."""
    here = [member for member in condition.any_of if SIGNALS[member.signal].surface in (None, *context.surfaces)]
    return [outcome for member in here or condition.any_of for outcome in outcomes_of(member, cause, context)]


def _moot(outcome: ConditionResult, context: SignalContext) -> bool:
    surface = SIGNALS[outcome.condition.signal].surface
    return surface is not None and context.gate_of((surface,)) is Severity.INFO


def of_own_cache(outcome: ConditionResult, context: SignalContext) -> ConditionResult:
    """The outcome. A view without caches never speaks against one of several caches in trouble together."""
    signal = SIGNALS[outcome.condition.signal]
    whole = signal.of in WHOLE_SURFACE and signal.surface is not None and outcome.condition.role == "shape"
    if outcome.holds is not False or not whole or signal.surface is None:
        return outcome
    if signal.surface == "latch" and not context.printed and context.children_sleeps is None:
        return replace(outcome, reading=context.why_unknown("v$latch_children", "sleeps"), holds=None)
    if not context.hot_caches.mixed(signal.surface):
        return outcome
    why = f"{signal.of} knows no caches, and several share these sleeps"
    return replace(outcome, reading=Unknown(signal.of, why, context.busier), holds=None)


def _against(outcome: ConditionResult) -> bool:
    return outcome.holds is False and outcome.condition.role != "supporting"


def ruled_out(cause: Cause, outcome: ConditionResult) -> RuledOut:
    """The verdict on a cause that a condition speaks against."""
    assert isinstance(outcome.reading, Known)
    condition, signal, value = outcome.condition, SIGNALS[outcome.condition.signal], outcome.reading.value
    return RuledOut(
        cause=cause.id,
        signal=condition.signal,
        name=signal.called,
        value=value,
        unit=signal.unit,
        needs=condition.needs,
        bound=bound_of(condition.needs),
        because=against_bound(signal.called, value, signal.unit, condition.needs),
        nearest_bound=nearest_bound([(condition.signal, value, signal.unit, condition.needs)], NEARLY),
    )


NEARLY = 3.0
"""A cause that is ruled out is close to a finding up to so many times from its bound."""
SETTINGS = ("value", "release update")
"""Units of what somebody chose: a parameter, a release. It is as it is, and close to nothing."""


def nearest_bound(readings: Iterable[tuple[str, float, str, str]], farthest: float = inf) -> NearestBound | None:
    """The reading closest to its bound, as a ratio, at most `farthest` times away. Each: signal, value, unit, need."""
    near = [
        (_apart(value, needs), signal, value, unit, needs)
        for signal, value, unit, needs in readings
        if unit not in SETTINGS
    ]
    times, signal, value, unit, needs = min(near, default=(inf, "", 0.0, "", ""))
    if times > farthest or times == inf:
        return None
    return NearestBound(signal=signal, value=value, unit=unit, needs=needs)


def _apart(value: float, needs: str) -> float:
    """How many times a value is its bound, or its bound the value. Infinite where zero is one of them."""
    bound = bound_of(needs)
    low, high = sorted((value, bound.value if bound else 0.0))
    return high / low if low > 0 else inf


# Step 3: a ratio to the whole instance, which other work dilutes.


def _diluted(outcome: ConditionResult) -> bool:
    """Whether other work in the instance can make a condition fail."""
    return outcome.condition.needs[:2] in SIGNALS[outcome.condition.signal].diluted


def _unnamed(cause: Cause, naming: Sequence[ConditionResult], context: SignalContext) -> Unknown | None:
    """The missing reading that would show whether sessions wait for the cause's caches. None if there is one.

    This holds for alternatives too: the one that names the cache counts on its own, even if another one holds.
    """
    if _written(context):
        return None
    others = [
        outcome
        for condition in cause.when
        if isinstance(condition, AnyOf)
        for outcome in _alternatives(condition, cause, context)
        if outcome.condition.signal in NAMING and outcome.holds is None and not _moot(outcome, context)
    ]
    return next((reading for outcome in (*naming, *others) if (reading := _not_captured(outcome, context))), None)


def _not_captured(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that a complete capture would show. The map of the children counts as one."""
    reading = outcome.reading
    if isinstance(reading, Unknown) and reading.missing == KQRST and not _written(context):
        return reading
    return _absent(outcome, context)


# Step 4: a missing figure, or too few events.


def missing_in(outcome: ConditionResult, context: SignalContext) -> bool:
    """Whether an outcome was not captured and might speak against the cause."""
    return outcome.condition.role != "supporting" and _gap(outcome, context) is not None


def too_little(outcomes: Sequence[ConditionResult], missing: Sequence[ConditionResult] = ()) -> Unknown | None:
    """A required reading; the identity, if no shape replaces it; or the distinguishing sign, if none is known.

    What is missing in a capture leaves these unknown too, but does not count as too few events.
    """
    shaped = any(outcome.condition.role == "shape" and outcome.holds for outcome in outcomes)
    absent = {id(outcome) for outcome in missing}
    there = [outcome for outcome in outcomes if id(outcome) not in absent]
    for outcome in there:
        must = outcome.condition.role == "required" or (outcome.condition.role == "identity" and not shaped)
        if must and isinstance(outcome.reading, Unknown):
            return outcome.reading
    if any(outcome.holds for outcome in there if _is_sign(outcome)):
        return None
    return next((each.reading for each in there if _is_sign(each) and isinstance(each.reading, Unknown)), None)


def _absent(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that was not captured, if it is no ratio that may stay unknown where the cache is named."""
    reading = _gap(outcome, context)
    return reading if reading is not None and (reading.blocks or not _diluted(outcome)) else None


def _gap(outcome: ConditionResult, context: SignalContext) -> Unknown | None:
    """The reading of an outcome that was not captured.

    Reports and totals of unknown age are judged by what they have. A look at who waits runs only on demand. Without a look the
    cause stays a candidate, but a gap in a look that ran may speak against it.
    """
    reading = outcome.reading
    if not isinstance(reading, Unknown) or not reading.absent or _written(context):
        return None
    nobody_looked = reading.missing in LOOKS and not context.delta.rows(reading.missing)
    return None if nobody_looked else reading


def _written(context: SignalContext) -> bool:
    """Whether some views were not read on purpose: a report prints only some, and totals of unknown age came from a ticket."""
    return context.printed or context.delta.basis.kind == "totals"


def _open(cause: Cause, blocking: Unknown, outcomes: Sequence[ConditionResult], context: SignalContext) -> OpenCause:
    held = sum(1 for outcome in outcomes if outcome.holds and outcome.condition.role != "supporting")
    captured = [
        replace(outcome, reading=Known(0.0), holds=True)
        if isinstance(outcome.reading, Unknown) and (outcome.reading.absent or outcome.reading.missing == KQRST)
        else outcome
        for outcome in outcomes
    ]
    return OpenCause(cause.id, blocking, held, near=not _written(context) and too_little(captured) is None)


# Step 5: the Finding, from the cache it is about to the remedy.


def finding(cause: Cause, context: SignalContext, outcomes: list[ConditionResult]) -> Finding:
    """The Finding of a cause, from the outcomes of its conditions. How sure it is follows from its rivals: `rules.resolve`."""
    identity, surfaces = _identity(context, outcomes), _surfaces(cause, context, outcomes)
    impact = context.at_least(context.impact_by(context.hot_caches.waited_for(surfaces, cause.caches)), surfaces)
    level = severity(context, surfaces, cause.cap, impact)
    if level is Severity.INFO and severity_of(impact) not in (None, Severity.INFO):
        impact = None  # the waits cost something, but not because of this cause
    child = _child(cause, context) if identity in (Identity.READ, Identity.INFERRED) else None
    guarded = context.map.children[child] if child is not None else None
    cache = guarded.name if guarded else _cache(cause, context, identity)
    values, steps = _slot_values(cause, context, cache), _remedy(cause, context)
    evidence = tuple(_evidence(outcome) for outcome in outcomes if outcome.holds)
    return Finding(
        cause=cause.id,
        name=cause.name,
        title=filled(cause.measured_title, cause.title, values),
        lede=filled(cause.measured_lede, cause.lede, values),
        do_now=filled(cause.measured_do_now, cause.do_now, values),
        check_first=cause.check_first,
        do_not=filled(cause.measured_do_not, cause.do_not, values),
        surface=context.costliest(surfaces),
        severity=level,
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
        fix=fix_line(cause, context.delta),
        nearest_bound=nearest_bound((held.signal, held.value, held.unit, held.needs) for held in evidence),
    )


_IDENTITY_NAMES: dict[Identity, Literal["read", "sampled", "inferred", "candidate"]] = {
    Identity.READ: "read",
    Identity.SAMPLED: "sampled",
    Identity.INFERRED: "inferred",
    Identity.CANDIDATE: "candidate",
}


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


def _surfaces(cause: Cause, context: SignalContext, outcomes: list[ConditionResult]) -> tuple[Surface, ...]:
    """Where the cause was seen: the surfaces on which sleeps or waiters name its cache, else all on which it can appear here."""
    naming = [
        SIGNALS[outcome.condition.signal].surface
        for outcome in outcomes
        if outcome.holds and outcome.condition.signal in NAMING
    ]
    here = [surface for surface in cause.surfaces if surface in context.surfaces]
    return tuple(surface for surface in here if surface in naming) or tuple(here)


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


# How bad it is, by what the waits cost.


def severity(
    context: SignalContext,
    surfaces: Iterable[Surface],
    cap: Severity,
    own: Impact | None = None,
) -> Severity:
    """The cost of the waits on some surfaces, or its own part of them. A warning where the cost is unknown."""
    surfaces = tuple(surfaces)
    gate = context.gate_of(surfaces)
    own_gate = severity_of(own)
    if gate is not None and own_gate is not None and severity_of(context.impact_of(surfaces)) is gate:
        gate = own_gate
    untold = context.lost.untold(surfaces)
    if (
        untold
        and gate in (None, Severity.INFO)
        and severity_of(context.impact_by(context.waited_on(surfaces))) is not None
    ):
        gate = Severity.NOTICE  # the captured waits cost next to nothing; those not captured may cost anything
    if gate is None:
        gate = Severity.WARNING
    return gate.at_most(cap)


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


# Its confirming query: the text for this release, the result and its container, and what prevents it.

GRANTS = "`latchscope grants --confirm` prints the grant"
ROOT = "CDB$ROOT"
ONLY_THEN = "Run it while the problem lasts. It shows the present, not the time of the report."
"""Printed with a query about the present, beside a report."""


def confirmation_of(cause: Cause, delta: Delta) -> Confirmation | None:
    """The confirming query of a cause on the instance of a Delta. None if the cause has none."""
    query = cause.confirm
    if query is None:
        return None
    result = delta.confirmations.get(cause.id)
    too_late = delta.source == "report" and not query.lasts(delta.release)
    place = _place(result, delta)
    return Confirmation(
        sql=query.text(delta.release) or query.text(None) or "",
        names_sql=query.naming(delta.release),
        reading=f"{ONLY_THEN} {query.scale}" if too_late else query.scale,
        bands=query.bands,
        needs=query.needs,
        obstacle=None if result and result.value is not None else obstacle(cause, query, delta),
        result=result.value if result else None,
        asked_at=datetime.fromtimestamp(result.at, UTC) if result and result.at is not None else None,
        seen=None if result is None or result.value is None else seen(query, delta.release, *place),
        names=result.names if result else (),
        unnamed=result.unnamed if result else None,
        confirms=confirms(query, delta.release, result, place[1]) if result else None,
    )


def confirmed(cause: Cause, delta: Delta) -> bool | None:
    """Whether the record confirms a cause, see `confirms`. None as well without a record."""
    result = delta.confirmations.get(cause.id)
    if result is None or cause.confirm is None:
        return None
    return confirms(cause.confirm, delta.release, result, _place(result, delta)[1])


def confirms(query: Query, release: str | None, result: ConfirmationResult, con_id: int | None) -> bool | None:
    """Whether a result meets the bound. None without a bound, and if a number that misses it did not cover everything."""
    if query.needs is None or result.value is None:
        return None
    return meets(result.value, query.needs) or (None if not query.sees_all(release, con_id) else False)


def seen(query: Query, release: str | None, container: str | None, con_id: int | None) -> str | None:
    """Where a number was read: "in CDB$ROOT, over all containers", "in PDB ERP1 only". None without containers."""
    if not con_id or container is None:
        return None
    whole = query.sees_all(release, con_id)
    if con_id == 1:
        return f"in {container}, over all containers" if whole else f"in {container} only"
    return f"in PDB {container}, of the whole instance" if whole else f"in PDB {container} only"


def obstacle(cause: Cause, query: Query, delta: Delta) -> str | None:
    """Why the query cannot run where this Delta is from, and the way out. None if nothing is known against it."""
    release = delta.release
    if release is not None and not cause.releases.include(release):
        return f"{cause.id} is unknown on {release}, and its query may not fit"
    if query.text(release) is None:
        return f"it is written for {query.since} and newer, and this is {release}"
    container, con_id = _place(None, delta)
    if query.root and con_id is not None and con_id > 1:
        return f"inside the PDB {container} its number means nothing; run it in {ROOT}"
    # Oracle does not say which of several views it refused. A view that another cause's query read with it may be open.
    views = query.views(delta.release)
    closed = {view for view in views if isinstance(missing := delta.read(view), Missing) and missing.kind == "refused"}
    for name, result in delta.confirmations.items():
        if name == cause.id or len(result.refused) == 1:
            closed |= set(result.refused)
    refused = tuple(view for view in views if view in closed)
    return missing_grant(refused) if refused else None


def missing_grant(views: tuple[str, ...]) -> str:
    """What to do if the user may not read views that a confirming query reads."""
    return f"needs read or select on {', '.join(views)}; {GRANTS}"


def _place(result: ConfirmationResult | None, delta: Delta) -> tuple[str | None, int | None]:
    """Name and number of the container of a result. If the result has none, of the container that was polled."""
    if result is not None and result.con_id is not None:
        return result.container, result.con_id
    polled = next(iter(delta.rows("sys_context")), {})
    con_id = number(polled.get("con_id"))
    return text(polled.get("con_name")), None if con_id is None else int(con_id)
