"""Judges every cause on one Delta by itself: what its conditions say for and against it, and whether it stands.

`rules.engine` calls five functions in this order:

1. `hypotheses`: the causes that can happen on this instance, each with the outcomes of its conditions.
2. `refute`: each is ruled out, stays open for lack of figures, or stands. EFFECTS says what an outcome means.
3. `relate` (`rules.rivals`): of those that stand for the same waits, those that say most.
4. `grade` (`rules.grade`): how bad and how sure each finding is.
5. `rank` (`rules.rivals`): the one to act on first.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Literal

from rules.base import Bound, bound_of, meets
from rules.cause import AnyOf, Cause, Condition
from rules.context import Known, SignalContext, SignalValue, Unknown
from rules.cost import severity, unseen_waiters
from rules.fixes import FIX_MISSING, ended_by
from rules.formatting import against_bound, within
from rules.library_cache import LIBRARY_CACHE_SESSIONS
from rules.model import ConditionRole, Finding, Impact, NearestBound, RuledOut, Severity, Surface, Undetermined
from rules.signals import SIGNALS, Subject
from rules.waiting_sessions import WAITING_SESSIONS
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE

# What an outcome of a condition means for its cause.

Result = Literal["holds", "fails", "diluted", "gap", "few"]
"""diluted: it fails, and other work may be why. gap: its figure was not captured. few: too few events, or no look."""
Effect = Literal[
    "agrees", "sign", "doubts", "refutes", "gap", "blocks", "blocks unless shaped", "blocks unless signed", "–"
]
_SIGN: Mapping[Result, Effect] = {
    "holds": "sign",
    "fails": "refutes",
    "diluted": "doubts",
    "gap": "gap",
    "few": "blocks unless signed",
}
EFFECTS: Mapping[ConditionRole, Mapping[Result, Effect]] = {
    "required": {"holds": "agrees", "fails": "refutes", "diluted": "doubts", "gap": "gap", "few": "blocks"},
    "identity": {
        "holds": "agrees",
        "fails": "refutes",
        "diluted": "refutes",
        "gap": "gap",
        "few": "blocks unless shaped",
    },
    "discriminating": _SIGN,
    "shape": _SIGN,
    "supporting": {"holds": "agrees", "fails": "–", "diluted": "–", "gap": "–", "few": "–"},
    "refuting": {"holds": "agrees", "fails": "refutes", "diluted": "–", "gap": "gap", "few": "–"},
}
"""Role of a condition → its result → what that means for the cause. "unless": the cause stands all the same where one holds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A condition, the reading of its signal, and what came out."""

    condition: Condition
    reading: SignalValue
    result: Result

    @property
    def holds(self) -> bool:
        return self.result == "holds"

    @property
    def effect(self) -> Effect:
        return EFFECTS[self.condition.role][self.result]

    @property
    def why_unknown(self) -> Unknown | None:
        """The reading, if it is unknown."""
        return self.reading if isinstance(self.reading, Unknown) else None

    @property
    def names(self) -> bool:
        """Whether it can name the cache, as sleeps and sampled waiters do."""
        return self.condition.signal in NAMING


# A cause with its outcomes, and the three verdicts on it.

SignKind = Literal["none", "surface", "ratio", "direct"]
SIGN_KINDS: tuple[SignKind, ...] = ("none", "surface", "ratio", "direct")
"""The weakest first: of the whole latch, mutex or event; as a ratio to other work; of the cause itself."""
LOOKS = ("v$session", "waiting_sessions", "row_cache_blockers", "library_cache_sessions")
"""Looks at who waits and who holds, which run only on demand."""
KQRST = "x$kqrst"
WHOLE_SURFACE = ("v$latch_misses", "v$mutex_sleep")
"""Views without caches. If two caches are in trouble, their holder locations are those of both."""
OF_THE_SURFACE = (*WHOLE_SURFACE, "v$system_event")
SAMPLED_SIGNALS = ("share_of_mutex_waiters", "share_of_lock_waiters")
NAMING = ("share_of_sleeps", *SAMPLED_SIGNALS)
ONE_WAY = "_time_to_waits"
"""The time of an activity contains its waits, so a small one refutes, but a large one shows little."""


@dataclass(frozen=True)
class Hypothesis:
    """A cause that can happen here, and the outcomes of its conditions up to the first that refutes it."""

    cause: Cause
    outcomes: tuple[Outcome, ...]
    context: SignalContext

    def having(self, *effects: Effect) -> tuple[Outcome, ...]:
        """The outcomes with one of these effects, in the order of the cause's conditions."""
        pairs = zip(self.outcomes, self._effects, strict=True)
        return tuple([outcome for outcome, effect in pairs if effect in effects])

    @cached_property
    def _effects(self) -> tuple[Effect, ...]:
        return tuple([outcome.effect for outcome in self.outcomes])

    @cached_property
    def named(self) -> bool:
        """Whether sleeps or waiters name its cache."""
        return any(outcome.holds and outcome.names for outcome in self.outcomes)

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its distinguishing signals and shapes that hold."""
        return frozenset(outcome.condition.signal for outcome in self.having("sign"))

    @cached_property
    def sign(self) -> SignKind:
        """The best of them."""
        return max(map(_sign_kind, self.having("sign")), key=SIGN_KINDS.index, default="none")

    @cached_property
    def doubts(self) -> tuple[Outcome, ...]:
        """Ratios to other work that fail. Other work may be why, so they do not rule it out."""
        return self.having("doubts")

    @cached_property
    def gaps(self) -> tuple[Outcome, ...]:
        """What was not captured and might speak against it."""
        return self.having("gap")

    @property
    def complete(self) -> bool:
        return not (self.doubts or self.gaps)

    @property
    def proven(self) -> bool:
        """Whether a distinguishing or supporting condition holds."""
        return any(each.holds and each.condition.role in ("discriminating", "supporting") for each in self.outcomes)

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """Where it was seen: the surfaces on which sleeps or waiters name its cache, else all on which it can appear here."""
        naming = [SIGNALS[each.condition.signal].surface for each in self.outcomes if each.holds and each.names]
        here = [surface for surface in self.cause.surfaces if surface in self.context.surfaces]
        return tuple(surface for surface in here if surface in naming) or tuple(here)

    @cached_property
    def surface(self) -> Surface:
        """The costliest of them."""
        return self.context.costliest(self.surfaces)

    @cached_property
    def own_waits(self) -> Impact | None:
        """What the waits of its own caches cost there."""
        context = self.context
        waited = context.hot_caches.waited_for(self.surfaces, self.cause.caches, self.cause.spares)
        return context.at_least(context.impact_by(waited), self.surfaces)

    @cached_property
    def severity(self) -> Severity:
        """By that cost, at most the cause's cap."""
        return severity(self.context, self.surfaces, self.cause.cap, self.own_waits)

    @property
    def costs(self) -> bool:
        return self.severity is not Severity.INFO

    def lacking(self) -> Unknown | None:
        """The unknown reading that keeps it open: one that it needs, else a sign of which none is known."""
        # A shape stands in for the name of the cache, and one sign for all others that too few events leave unknown.
        shaped = any(each.condition.role == "shape" for each in self.having("sign"))
        needed = self.having("blocks") if shaped else self.having("blocks", "blocks unless shaped")
        apart = () if self.signs else self.having("blocks unless signed")
        return next((each.why_unknown for each in (*needed, *apart)), None)


@dataclass(frozen=True, slots=True)
class OpenCause:
    """A cause that could not be judged, and the reading that would decide it."""

    hypothesis: Hypothesis
    reading: Unknown
    near: bool = False
    """Whether only what was not captured keeps it open."""

    @property
    def cause(self) -> str:
        return self.hypothesis.cause.id

    @property
    def held(self) -> int:
        """How many of its conditions hold, without those that only lower confidence or only speak against it."""
        silent = ("supporting", "refuting")
        return sum(each.holds and each.condition.role not in silent for each in self.hypothesis.outcomes)

    @property
    def undetermined(self) -> Undetermined:
        """The verdict in the form of a Diagnosis."""
        reading = self.reading
        return Undetermined(cause=self.cause, missing=reading.missing, why=reading.why, way_out=reading.way_out)


CauseVerdict = Finding | RuledOut | OpenCause
Verdict = Hypothesis | OpenCause | RuledOut
"""Before it is graded: a hypothesis is one that stands."""


def _sign_kind(outcome: Outcome) -> SignKind:
    condition, signal = outcome.condition, SIGNALS[outcome.condition.signal]
    if condition.role == "shape" or signal.of in OF_THE_SURFACE or condition.signal.endswith(ONE_WAY):
        return "surface"
    return "ratio" if dilutes(condition) else "direct"


# 1. The causes that can happen here, with the outcomes of their conditions.


def hypotheses(context: SignalContext, causes: Iterable[Cause]) -> Iterator[Hypothesis | RuledOut]:
    """Each cause with its outcomes, or ruled out where it cannot happen."""
    for cause in causes:
        yield elsewhere(cause, context) or Hypothesis(cause, tuple(_outcomes(cause, context)), context)


def elsewhere(cause: Cause, context: SignalContext) -> RuledOut | None:
    """The verdict on a cause of other releases, one whose surface this instance does not have, or one whose fix is installed."""
    if not set(cause.surfaces) & set(context.surfaces):
        guards = "mutexes" if context.mechanism == "mutex" else "latches"
        because, needs = f"{guards} guard the row cache of this release", " or ".join(cause.surfaces)
        return RuledOut(cause=cause.id, signal="mechanism", name="mechanism", value=None, needs=needs, because=because)
    if cause.fixes and (ended := ended_by(cause, context.delta)) is not None:
        needs = f"bug {ended.fix.bug} without its fix"
        called = SIGNALS[FIX_MISSING].called
        return RuledOut(
            cause=cause.id, signal=FIX_MISSING, name=called, value=None, needs=needs, because=within(ended.sentence)
        )
    release = context.full_release if cause.releases.since or cause.releases.until else None
    if release is not None and not cause.releases.include(release):
        needs = f"{cause.releases.since or 'the oldest'} to {cause.releases.until or 'the newest'}"
        because = f"this is {release}, and the cause is not known to occur there"
        return RuledOut(cause=cause.id, signal="release", name="release", value=None, needs=needs, because=because)
    return None


def _outcomes(cause: Cause, context: SignalContext) -> Iterator[Outcome]:
    """The outcome of each condition in turn, up to the one that decides against the cause alone."""
    doubted = False
    for condition in cause.when:
        for outcome in outcomes_of(condition, cause, context):
            own = of_own_cache(outcome, context)
            yield own
            effect = own.effect
            if effect == "refutes" and not doubted:
                return
            doubted = doubted or effect == "doubts"


_subject = lru_cache(4096)(Subject)
"""Created once, because the conditions ask the same of every poll of every database."""


def outcomes_of(condition: Condition | AnyOf, cause: Cause, context: SignalContext) -> list[Outcome]:
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
        return [Outcome(condition, reading, _result(condition, reading, context))]
    # One that holds settles it; one that was not captured might have held, so it comes before one that is known to fail.
    outcomes = _alternatives(condition, cause, context)
    if holding := [outcome for outcome in outcomes if outcome.holds]:
        return holding
    undecided = [outcome for outcome in outcomes if outcome.why_unknown and not _moot(outcome, context)]
    if undecided:
        return [min(undecided, key=lambda outcome: not _keeps_open(outcome))]
    return ([outcome for outcome in outcomes if not outcome.why_unknown] or outcomes)[:1]


def _result(condition: Condition, reading: SignalValue, context: SignalContext) -> Result:
    """What came out. Reports and totals of unknown age are judged by what they have; a look runs only on demand."""
    if isinstance(reading, Known):
        if meets(reading.value, condition.needs):
            return "holds"
        return "diluted" if dilutes(condition) else "fails"
    nobody_looked = reading.missing in LOOKS and not context.delta.rows(reading.missing)
    return "gap" if reading.absent and not (_written(context) or nobody_looked) else "few"


def dilutes(condition: Condition) -> bool:
    """Whether other work in the instance can make a condition fail."""
    return condition.needs[:2] in SIGNALS[condition.signal].diluted


def _written(context: SignalContext) -> bool:
    """Whether some views were not read on purpose: a report prints only some, and totals of unknown age came from a ticket."""
    return context.printed or context.delta.basis.kind == "totals"


def _alternatives(condition: AnyOf, cause: Cause, context: SignalContext) -> list[Outcome]:
    """The outcome of each alternative about a surface of this instance; of all if there is none."""
    found = list[Outcome]()
    for member in condition.any_of:
        if SIGNALS[member.signal].surface in (None, *context.surfaces):
            found += outcomes_of(member, cause, context)
    return found or [outcome for member in condition.any_of for outcome in outcomes_of(member, cause, context)]


def _moot(outcome: Outcome, context: SignalContext) -> bool:
    surface = SIGNALS[outcome.condition.signal].surface
    return surface is not None and context.gate_of((surface,)) is Severity.INFO


def _keeps_open(outcome: Outcome) -> bool:
    """Whether it was not captured, and is no ratio that may stay unknown where the cache is named."""
    unknown = outcome.why_unknown
    return unknown is not None and outcome.result == "gap" and (unknown.blocks or not dilutes(outcome.condition))


def of_own_cache(outcome: Outcome, context: SignalContext) -> Outcome:
    """The outcome. A view without caches never speaks against one of several caches in trouble together."""
    condition, signal = outcome.condition, SIGNALS[outcome.condition.signal]
    whole = signal.of in WHOLE_SURFACE and condition.role == "shape"
    if outcome.result not in ("fails", "diluted") or not whole or signal.surface is None:
        return outcome
    if signal.surface == "latch" and not context.printed and context.children_sleeps is None:
        unknown = context.why_unknown("v$latch_children", "sleeps")
    elif context.hot_caches.mixed(signal.surface):
        why = f"{signal.of} knows no caches, and several share these sleeps"
        unknown = Unknown(signal.of, why, context.busier)
    else:
        return outcome
    return Outcome(condition, unknown, _result(condition, unknown, context))


# 2. Ruled out, open, or standing.


def refute(hypothesis: Hypothesis) -> Verdict:
    """Ruled out by what refutes it, or by a doubt where nothing may name its cache; open by what blocks it, or by a gap
    where nothing speaks for it. Else it stands, with its doubts and gaps."""
    # Other work dilutes a ratio, so it proves nothing where sleeps or waiters name the cache, or would if they were captured.
    naming = None if hypothesis.named or not hypothesis.doubts else _unread_name(hypothesis)
    for outcome in hypothesis.having("doubts", "refutes"):
        if outcome.effect == "refutes" or not (hypothesis.named or naming):
            return ruled_out(hypothesis.cause, outcome)
    blocking = hypothesis.lacking() or naming
    if blocking is None and hypothesis.gaps and not (hypothesis.named or hypothesis.signs):
        blocking = hypothesis.gaps[0].why_unknown
    if blocking is None:
        return hypothesis
    near = not _written(hypothesis.context) and _captured(hypothesis).lacking() is None
    return _closed_if_cheap(OpenCause(hypothesis, blocking, near))


def _unread_name(hypothesis: Hypothesis) -> Unknown | None:
    """The missing reading that would show whether sessions wait for the cause's caches. None if there is one.

    This holds for alternatives too: the one that names the cache counts on its own, even if another one holds.
    """
    cause, context = hypothesis.cause, hypothesis.context
    if _written(context):
        return None
    others = [
        outcome
        for condition in cause.when
        if isinstance(condition, AnyOf)
        for outcome in _alternatives(condition, cause, context)
        if outcome.names and outcome.why_unknown and not _moot(outcome, context)
    ]
    naming = (outcome for outcome in (*hypothesis.outcomes, *others) if outcome.names)
    return next((each.why_unknown for each in naming if _keeps_open(each) or _of_the_map(each)), None)


def _of_the_map(outcome: Outcome) -> bool:
    """Whether the map of children to caches is what it lacks."""
    return outcome.why_unknown is not None and outcome.why_unknown.missing == KQRST


def _captured(hypothesis: Hypothesis) -> Hypothesis:
    """The same as if all that was not captured spoke for it."""
    outcomes = tuple(
        replace(each, reading=Known(0.0), result="holds")
        if each.why_unknown and (each.why_unknown.absent or _of_the_map(each))
        else each
        for each in hypothesis.outcomes
    )
    return replace(hypothesis, outcomes=outcomes)


def ruled_out(cause: Cause, outcome: Outcome) -> RuledOut:
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


def _closed_if_cheap(verdict: OpenCause) -> OpenCause | RuledOut:
    """An open cause is ruled out where its waits cost nothing. What was not captured may show a near one, cheap as it is."""
    context, surfaces, missing = verdict.hypothesis.context, verdict.hypothesis.cause.surfaces, verdict.reading.missing
    unseen = missing == WAITING_SESSIONS and unseen_waiters(context) is not None  # the open waits may be anything
    of_another = (
        missing == LIBRARY_CACHE_SESSIONS
    )  # they are not of the row cache, and its own conditions say their cost
    if verdict.near or unseen or of_another or context.gate_of(surfaces) is not Severity.INFO:
        return verdict
    db_time, waited = context.shared_db_time, context.waited_on(surfaces) or 0.0
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
        nearest_bound=nearest_bound([("impact", value, unit, f">= {bound:g}")], NEARLY),
    )
