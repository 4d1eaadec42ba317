"""Resolves the verdicts of `rules.judge` among each other: one verdict per cause, then what is in trouble and what it costs.

1. A hypothesis with something missing or against it is a finding if it is ahead of every rival about the same waits.
2. A hypothesis is ruled out if another explains the same waits and says more: `Rivals.explains` has all relations.
3. A finding without proof stays open if a look-alike would explain it but for a missing figure.
4. An open cause closes where its waits cost nothing.
5. A quiet interval needs none of this: a short way gives the same findings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from collectors.model import RESULT_CACHE_LATCH, Missing
from collectors.views.system_event import is_ordinary
from rules.base import Bound, bound_of
from rules.cause import AnyOf, Cause, Condition, catalogue, conditions, hedged
from rules.confidence import RivalKind, confidence_of, reliability_of
from rules.context import LOOKUPS, ROW_CACHE_SURFACES, SURFACE_EVENTS, SignalContext
from rules.formatting import compared
from rules.judge import (
    NEARLY,
    CauseVerdict,
    ConditionResult,
    Hypothesis,
    OpenCause,
    Verdict,
    confirmed,
    hypothesis,
    missing_in,
    nearest_bound,
    of_own_cache,
    outcomes_of,
    ruled_out,
    too_little,
)
from rules.library_cache import LIBRARY_CACHE_SESSIONS
from rules.model import (
    Confidence,
    Finding,
    Impact,
    Known,
    LargestUse,
    OtherWait,
    Reliability,
    RuledOut,
    Severity,
    Surface,
    SurfaceImpact,
    Trouble,
    Unknown,
    worst,
)
from rules.signals import SIGNALS
from rules.waiting import WAITING_SESSIONS as WAITING_SESSIONS
from rules.waits import IDLE_SESSIONS, NOTICEABLE_SHARE, severity_of, untimed

# The entry: every cause against its rivals.


def weighed(context: SignalContext, causes: Mapping[str, Cause], verdicts: Sequence[Verdict]) -> list[CauseVerdict]:
    """One verdict per cause: of hypotheses about the same waits, those that explain most."""
    rivals = Rivals(context, causes, verdicts)
    return [_weighed(verdict, rivals) for verdict in verdicts]


def _weighed(verdict: Verdict, rivals: "Rivals") -> CauseVerdict:
    if isinstance(verdict, Hypothesis):
        return rivals.decided(verdict)
    return _closed_if_cheap(verdict, rivals.context, rivals.causes) if isinstance(verdict, OpenCause) else verdict


class Rivals:
    """The hypotheses of one interval, which compete for its waits, and the causes that stayed open beside them."""

    def __init__(self, context: SignalContext, causes: Mapping[str, Cause], verdicts: Sequence[Verdict]) -> None:
        self.context, self.causes = context, causes
        self._hypotheses = [verdict for verdict in verdicts if isinstance(verdict, Hypothesis)]
        self._open = [verdict for verdict in verdicts if isinstance(verdict, OpenCause)]
        self._incomplete = {each.cause: self._unsettled(each) for each in self._hypotheses}
        self._standing = [each for each in self._hypotheses if self._incomplete[each.cause] is None]
        self._against = {each.cause: self._objection(each) for each in self._hypotheses}

    def decided(self, verdict: Hypothesis) -> CauseVerdict:
        """A finding, unless something is unsettled about it or another hypothesis explains the same waits better."""
        objection = self._against[verdict.cause]
        return self._labelled(verdict) if objection is None else objection

    def _objection(self, verdict: Hypothesis) -> CauseVerdict | None:
        unsettled = self._incomplete[verdict.cause]
        if unsettled is not None:
            return unsettled
        better = next((other for other in self._standing if self.explains(other, verdict)), None)
        if better is not None:
            return _explained_by(better.finding, verdict.finding)
        doubt = self._doubted(verdict)
        return None if doubt is None else OpenCause(verdict.cause, doubt, len(verdict.finding.evidence))

    def _labelled(self, verdict: Hypothesis) -> CauseVerdict:
        """The finding as sure as findings of its kind are. Open where fewer than half of those were right."""
        own, cause = verdict.finding, self.causes[verdict.cause]
        reliability = reliability_of(verdict.evidence(self._beside(verdict)))
        level, agrees = confidence_of(reliability), confirmed(cause, self.context.delta)
        if level is None and own.severity is not Severity.INFO:
            return OpenCause(cause.id, _only_possible(reliability), len(own.evidence))
        # The confirming query asks for the cause itself. What was counted is views, of which a report prints a part.
        steps = {True: int(verdict.named), False: -1, None: 0}[agrees] - self.context.printed
        sure, against = (level or Confidence.LOW).moved(steps), agrees is False
        if verdict.missing or self.context.delta.source == "trace":
            sure = sure.at_most(
                Confidence.MEDIUM
            )  # what was not captured might have refuted it; a trace has no counter
        unknown_cost = self.context.gate_of((own.surface,)) is None
        unsure = unknown_cost and sure is Confidence.LOW
        return own.model_copy(
            update={
                "title": hedged(own.title, cause.hedge_after, sure, against),
                "severity": own.severity.at_most(Severity.NOTICE) if unsure else own.severity,
                "confidence": sure,
                "reliability": reliability,
                "unknown": tuple(dict.fromkeys((*own.unknown, *map(_why, verdict.against)))),
            }
        )

    def _beside(self, verdict: Hypothesis) -> RivalKind:
        """Whether another finding may be of the same waits instead, or a special case of this one is found or open.

        A look-alike is no rival: a finding that it does not explain has proof of its own.
        """
        found = [other for other in self._hypotheses if self._against[other.cause] is None and other is not verdict]
        if verdict.finding.severity is Severity.INFO:
            return "alone"
        if any(
            other.finding.severity is not Severity.INFO
            and self._same_waits(other, verdict)
            and not _kin(other.cause, verdict.cause)
            and not (self.causes[other.cause].look_alike or self.causes[verdict.cause].look_alike)
            for other in found
        ):
            return "rival"
        kin = set(KIN.get(verdict.cause, ()))
        if kin & {other.cause for other in found}:
            return "special"
        undecided = {name for name, objection in self._against.items() if isinstance(objection, OpenCause)}
        return "open" if kin & (undecided | {each.cause for each in self._open}) else "alone"

    # A hypothesis with something missing or against it.

    def _unsettled(self, verdict: Hypothesis) -> CauseVerdict | None:
        """Why an incomplete hypothesis is no finding. None for a complete one, and for one that is ahead of every rival."""
        if verdict.complete:
            return None
        own, cause = verdict.finding, self.causes[verdict.cause]
        rivals = [other for other in self._hypotheses if self._compete(other, verdict)]
        better = (other for other in rivals if other.complete and (other.named or other.sign == "direct"))
        if own.severity is Severity.INFO or any(better):
            return _closed(verdict, cause)
        if (unmeasured := _unmeasured_share(verdict, self.context)) is not None:
            return OpenCause(cause.id, unmeasured, len(own.evidence), near=True)
        if (
            cause.look_alike
            or not self._backed(verdict, rivals)
            or any(self._may_be(each, verdict) for each in self._open)
        ):
            return _left_open(verdict)
        special = any((other.cause, verdict.cause) in EXPLAINS for other in rivals)
        behind = any(_strength(verdict) <= _strength(other) for other in rivals)
        return _left_open(verdict) if special or behind or self._beside_general(verdict) else None

    def _beside_general(self, verdict: Hypothesis) -> bool:
        """Whether a general cause that is complete may be about the same waits, and this one does not explain it."""
        generals = [each for each in self._hypotheses if each.complete and not self.causes[each.cause].look_alike]
        return any(
            not self.causes[each.cause].caches
            and each.finding.severity is not Severity.INFO
            and self._same_waits(each, verdict)
            and not self.explains(verdict, each)
            for each in generals
        )

    def _compete(self, other: Hypothesis, verdict: Hypothesis) -> bool:
        """Whether another hypothesis may be about the same waits, and would not yield to this one anyway."""
        cause, rival = self.causes[verdict.cause], self.causes[other.cause]
        if other is verdict or other.finding.severity is Severity.INFO or rival.look_alike:
            return False
        general = bool(cause.caches) and not rival.caches and other.sign != "direct"
        return not general and self._same_waits(other, verdict)

    def _same_waits(self, one: Hypothesis, other: Hypothesis) -> bool:
        """Whether two hypotheses may be about the same waits: on one surface, for a cache of both or an unknown one."""
        if one.finding.surface != other.finding.surface:
            return False
        shared = set(self.causes[one.cause].caches) & set(self.causes[other.cause].caches)
        return bool(shared) or not (one.named and other.named)

    def _may_be(self, other: OpenCause, verdict: Hypothesis) -> bool:
        """Whether an open cause may be about the same waits, and would then say more."""
        cause, rival = self.causes[verdict.cause], self.causes[other.cause]
        if verdict.finding.surface not in rival.surfaces or rival.look_alike or rival.cap is Severity.INFO:
            return False
        special = (rival.id, cause.id) in EXPLAINS and other.reading.absent
        return special or (other.near and bool(set(rival.caches) & set(cause.caches)))

    def _backed(self, verdict: Hypothesis, rivals: Sequence[Hypothesis]) -> bool:
        """Whether more than the cache speaks for an incomplete hypothesis.

        A sign of its own does, a direct one if the cache is not named. A sign of the whole surface is enough if only ratios speak
        against it, or where every other cause of the cache is ruled out. Without a sign it is enough that the cache has most
        look-ups and the ratios are not far off.
        """
        cause = self.causes[verdict.cause]
        if not cause.caches and verdict.finding.surface in ROW_CACHE_SURFACES:
            # Without a sign of its own, such as where the holders are, it could be said of any waits there.
            return verdict.sign == "surface" and not verdict.against
        if verdict.sign == "direct":
            return True
        if verdict.named and verdict.sign == "ratio":
            return all(map(_nearly, verdict.against))
        if not verdict.named or not verdict.signs:
            return verdict.named and bool(verdict.against) and self._diluted(verdict)
        if not verdict.missing or self._placed(verdict, cause):
            return True
        told_apart = not any(map(_distinguishes, verdict.missing))
        return told_apart and not rivals and not any(self._shares_cache(each, verdict) for each in self._open)

    def _placed(self, verdict: Hypothesis, cause: Cause) -> bool:
        """Whether the code location of the holders is the cause's own, and the sleeps of the latch are those of its cache."""
        shapes = {condition.signal for condition in conditions(cause) if condition.role == "shape"} & verdict.signs
        at_latch = any(SIGNALS[name].of == "v$latch_misses" for name in shapes)
        return at_latch and not self.context.hot_caches.mixed("latch")

    def _shares_cache(self, other: OpenCause, verdict: Hypothesis) -> bool:
        rival = self.causes[other.cause]
        on_it = verdict.finding.surface in rival.surfaces and not rival.look_alike
        return on_it and bool(set(rival.caches) & set(self.causes[verdict.cause].caches))

    def _diluted(self, verdict: Hypothesis) -> bool:
        """Whether only ratios of look-ups speak against a hypothesis, as far off as other work may bring them."""
        busiest = next(iter(self.context.by_name(LOOKUPS)), None)
        return busiest in self.causes[verdict.cause].caches and all(map(_nearly, verdict.against))

    # A hypothesis that another one explains.

    def explains(self, other: Hypothesis, verdict: Hypothesis) -> bool:
        """Whether another hypothesis says why the same waits happen, and says more.

        A special case says more than the general one. A cause that names the cache, with a sign of its own, says more than
        one that names none. A direct sign says more than a ratio to the rest of the work. A look-alike explains what has no
        sign of its own.
        """
        cause, rival = self.causes[verdict.cause], self.causes[other.cause]
        if other is verdict or cause.cap is Severity.INFO:
            return False
        if (rival.id, cause.id) in EXPLAINS:
            sure = other.complete or not (cause.caches or other.against)
            return sure and (rival.look_alike or other.finding.surface == verdict.finding.surface)
        if rival.look_alike:
            return not cause.look_alike and not _has_proof(verdict.finding, cause)
        if cause.look_alike or other.finding.severity is Severity.INFO or not self._same_waits(other, verdict):
            return False
        if (cause.id, rival.id) in EXPLAINS or _kin(rival.id, cause.id):
            return False
        if verdict.sign == "direct":
            return False
        if rival.caches and not cause.caches:
            return other.complete or (bool(other.signs) and all(map(_distinguishes, other.against)))
        return other.complete and bool(rival.caches) and other.sign == "direct"

    def _doubted(self, verdict: Hypothesis) -> Unknown | None:
        """Why a finding stays open: something would explain it, but for what was not captured or other work may dilute."""
        cause = self.causes[verdict.cause]
        if cause.cap is Severity.INFO or cause.look_alike:
            return None
        for other in self._hypotheses:
            if not other.complete and not self.causes[other.cause].look_alike:
                whole = replace(other, missing=(), against=())
                if self.explains(whole, verdict) and (other.missing or self._diluted(other)):
                    return _left_open(other).reading
        if _has_proof(verdict.finding, cause):
            return None
        alike = (each for each in self._open if each.near and self.causes[each.cause].look_alike)
        here = verdict.finding.surface
        return next((each.reading for each in alike if here in self.causes[each.cause].surfaces), None)


EXPLAINS: Mapping[tuple[str, str], str] = {
    ("cluster-conflicts", "ddl-invalidation"): "another instance invalidates the entries, as DDL does here",
    ("cluster-conflicts", "segment-churn"): "another instance changes the segments",
    ("sequence-conflicts", "sequence-nocache"): "it says that the instances take the sequence from each other",
    ("cluster-lock-process", "row-cache-lock-hang"): "the process that carries the locks of the cluster is what hangs",
    ("maintenance-task", "row-cache-lock-hang"): "it says that the holder is maintenance of the database",
    ("logon-cursor-mutex", "logon-storm"): "the logons wait for the cursor of their own SQL first",
    ("grants-while-logging-on", "logon-storm"): "a change of the users is what those who log on wait for",
    ("undo-online-storm", "transaction-rate"): "transactions look up undo segments because these come and go",
    ("shared-pool-shrink", "many-partitions"): "entries are loaded again because a shrinking pool threw them out",
    ("result-cache-adaptive", "result-cache-latch"): "it says who uses the result cache",
    ("result-cache-force", "result-cache-latch"): "it says who uses the result cache",
    ("hard-parse-storm", "downstream-of-library-cache"): "it says what is parsed so much",
    ("failed-parses", "downstream-of-library-cache"): "the parses that fail are what waits for the library cache",
    ("failed-logon-delay", "downstream-of-library-cache"): "it says what the library cache is waited for",
    ("last-login-update", "failed-logons"): "the logons that wait succeed, and write the time of the last logon",
    ("object-ddl", "downstream-of-library-cache"): "it says what the library cache is waited for",
    ("last-login-update", "downstream-of-library-cache"): "it says what the library cache is waited for",
    ("logon-cursor-mutex", "downstream-of-library-cache"): "it says what the library cache is waited for",
    ("standby-instance-lock", "downstream-of-library-cache"): "it says what the library cache is waited for",
    ("starved-host", "downstream-of-library-cache"): "without processors every latch and mutex is waited for",
    ("throttled-holder", "starved-host"): "the resource plan takes the processor from who holds, not the host",
    ("hard-parse-storm", "upgrade-parse-volume"): "it says what is parsed so much",
    ("file-growth", "extent-allocation"): "the extents are made in files that grow meanwhile",
    ("row-cache-clones", "roles-per-parse"): "entries without end make every look-up slow, however many there are",
    ("row-cache-clones", "metadata-queries"): "entries without end make every look-up slow, however many there are",
    ("row-cache-clones", "dc-users-mutex-bug"): "entries without end make every look-up slow",
    ("roles-per-parse", "dc-users-mutex-bug"): "so many look-ups wait for each other without a bug",
}
"""(special, general) → why the special one says the same and more. The rest follows from the conditions: see `explains`."""

KIN: Mapping[str, tuple[str, ...]] = {
    "undo-segments": ("undo-retention-runaway", "undo-segment-floor"),
    "histogram-hard-parse": ("dynamic-sampling", "many-partitions"),
    "logon-storm": ("profile-lookups",),
    "statistics-gathering": ("maintenance-task",),
    "ddl-invalidation": ("maintenance-task",),
    "object-ddl": ("ddl-invalidation",),
}
"""General → special causes that are true together with it and say why. They are shown above it."""


def _kin(one: str, other: str) -> bool:
    return other in KIN.get(one, ()) or one in KIN.get(other, ())


MANY_WAITING = 0.5
"""Sessions waiting on average that are a problem on any instance (the bound of a warning by sessions)."""
DILUTED_AT_MOST = 3.0
"""A ratio of look-ups this many times below its bound is diluted; a smaller one is another cause's (our bound)."""
OTHER_LOOKUPS = ("gets_per_parse", "lookups_per_execution", "modification_ratio", "share_of_lookups")
"""Ratios that other work with the same cache makes smaller."""


def _nearly(outcome: ConditionResult) -> bool:
    """Whether a ratio of look-ups misses its bound by no more than other work may dilute it."""
    bound = bound_of(outcome.condition.needs)
    if outcome.condition.signal not in OTHER_LOOKUPS or bound is None or not isinstance(outcome.reading, Known):
        return False
    return outcome.reading.value * DILUTED_AT_MOST >= bound.value


def _strength(verdict: Hypothesis) -> tuple[bool, int]:
    """How much of what was captured speaks for a hypothesis: the cache, and its signs."""
    return verdict.named, len(verdict.signs)


def _distinguishes(outcome: ConditionResult) -> bool:
    return outcome.condition.role == "discriminating"


def _has_proof(verdict: Finding, cause: Cause) -> bool:
    """Whether a distinguishing or supporting sign of a cause was seen."""
    proof = {condition.signal for condition in conditions(cause) if condition.role in ("discriminating", "supporting")}
    return any(evidence.signal in proof for evidence in verdict.evidence)


def _only_possible(reliability: Reliability) -> Unknown:
    """Why a hypothesis on such evidence is possible and not found."""
    why = f"of {reliability.of} generated cases with such evidence it was right in {reliability.right}: possible, not found"
    return Unknown("v$session", why, "run the confirming query of this cause")


def _left_open(verdict: Hypothesis) -> OpenCause:
    """A hypothesis that is not ahead of its rivals, with what would decide it."""
    if (gap := _open_by_gap(verdict)) is not None:
        return gap
    look = "see which statements the waiters run, and whether they are of this kind"
    return OpenCause(verdict.cause, Unknown("v$session", _why(verdict.against[0]), look))


def _closed(verdict: Hypothesis, cause: Cause) -> CauseVerdict:
    """What speaks against an incomplete hypothesis. A missing figure does not; it leaves it open."""
    return _open_by_gap(verdict) or ruled_out(cause, verdict.against[0])


def _open_by_gap(verdict: Hypothesis) -> OpenCause | None:
    """A hypothesis that what was not captured leaves open. None if everything was."""
    gap = next((outcome.reading for outcome in verdict.missing if isinstance(outcome.reading, Unknown)), None)
    return None if gap is None else OpenCause(verdict.cause, gap, len(verdict.finding.evidence), near=True)


def _unmeasured_share(verdict: Hypothesis, context: SignalContext) -> Unknown | None:
    """The missing reading that would show whether the waits of an incomplete hypothesis cost anything.

    Waiting sessions may be a notable share of DB time, or none on a busy instance. A report needs no more than it has.
    """
    impact, polled = verdict.finding.impact, context.delta.source == "views" and context.delta.basis.kind == "interval"
    if not polled or (impact is not None and impact.share_of_db_time is not None):
        return None
    if impact is None or impact.waiting_sessions is None:
        return context.why_unknown("v$system_event", "time_waited_micro")
    if context.inside_pdb or impact.waiting_sessions >= MANY_WAITING:  # then waiting sessions grade the waits
        return None
    return context.why_unknown("v$sys_time_model", "value")


def _why(outcome: ConditionResult) -> str:
    assert isinstance(outcome.reading, Known)
    condition, value = outcome.condition, outcome.reading.value
    return f"{condition.signal} is {value:.3g} where {condition.needs} would speak for it, and other work moves it too"


def _explained_by(other: Finding, verdict: Finding) -> RuledOut:
    """Ruled out by a cause that says more, with the figure that shows that cause best."""
    shown = next((each for each in other.evidence if each.role == "discriminating"), other.evidence[0])
    reason, (value, needs) = EXPLAINS.get((other.cause, verdict.cause)), compared(shown)
    return RuledOut(
        cause=verdict.cause,
        signal=shown.signal,
        name=shown.name,
        value=shown.value,
        unit=shown.unit,
        needs=f"waits that {other.cause} does not explain",
        because=f"{other.title} explains these waits ({other.cause}), shown by {shown.name} of {value}, where it needs {needs}"
        f"{f': {reason}' if reason else ''}",
        explained_by=other.cause,
    )


# An open cause closes where its waits cost nothing.


def _closed_if_cheap(verdict: OpenCause, context: SignalContext, causes: Mapping[str, Cause]) -> CauseVerdict:
    surfaces = causes[verdict.cause].surfaces
    if context.gate_of(surfaces) is not Severity.INFO or verdict.near:
        return verdict  # the missing figures of a near one may show it, cheap as it is
    if verdict.reading.missing == WAITING_SESSIONS and unseen_waiters(context) is not None:
        return verdict  # the finished waits are cheap; the open ones may be anything
    if verdict.reading.missing == LIBRARY_CACHE_SESSIONS:
        return verdict  # its waits are not those of the row cache, and its own conditions say what they cost
    return _too_cheap(verdict, context, context.waited_on(surfaces) or 0.0)


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
        nearest_bound=nearest_bound([("impact", value, unit, f">= {bound:g}")], NEARLY),
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


# The order of several findings.


def ranked(findings: Iterable[Finding], causes: Mapping[str, Cause] | None = None) -> tuple[Finding, ...]:
    """Findings, the one to act on first: by severity, exoneration of the row cache, cost, special case, confidence."""
    listed, causes = list(findings), causes or {}
    names = {finding.cause for finding in listed}

    def order(finding: Finding) -> tuple[Any, ...]:
        cause, general = causes.get(finding.cause), bool(names & set(KIN.get(finding.cause, ())))
        return (
            -finding.severity.rank,
            not (cause and cause.look_alike and not general),
            -round((finding.impact and finding.impact.share_of_db_time) or 0.0, 2),
            general,
            -finding.confidence.rank,
            -len(finding.evidence),
            finding.cause,
        )

    return tuple(sorted(listed, key=order))


# A quiet interval: nothing waits and nothing hangs, so the findings need no weighing of every cause.
#
# The findings equal those of `rules.engine.diagnose`, which also gives what was ruled out and what stayed open.


def quiet_findings(context: SignalContext) -> list[CauseVerdict] | None:
    """The findings of a quiet interval, all of which cost nothing. None if every cause must be judged."""
    if not _quiet(context):
        return None
    candidates = _candidates(context.surfaces, context.full_release)
    complete = [found for candidate in candidates if (found := _complete(candidate, context)) is not None]
    return weighed(context, catalogue(), complete)


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


def _complete(candidate: _Candidate, context: SignalContext) -> Hypothesis | None:
    """The complete hypothesis of a cause in a quiet interval. None at the first condition that fails or is unknown.

    An incomplete one is no finding there: that needs waits that cost something.
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
    if any(missing_in(outcome, context) for outcome in outcomes) or too_little(outcomes) is not None:
        return None
    return hypothesis(cause, context, outcomes)


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
    """Whether a cost that may be a trouble was not captured. Totals have none; of a report, one that cannot be read."""
    if context.printed and untimed(context.delta):
        return True
    if context.delta.basis.kind == "totals":
        return False
    if latch_free_cost(context) is not None:
        return True
    if context.printed:
        return anything_read(context) and bool(context.lost.untold(ROW_CACHE_SURFACES))
    if row_cache_gate(context) is None:
        return anything_read(context)
    named = any(row.get("name") == RESULT_CACHE_LATCH for row in context.delta.rows("v$latchname"))
    return named and context.gate_of(["result-cache"]) is None


def latch_free_cost(context: SignalContext) -> Impact | None:
    """What `latch free` costs, if that is notable and the result cache latch may be a part of it. Else None.

    The event counts every latch without one of its own. A report lists every latch with activity.
    """
    listed = context.printed and not isinstance(context.delta.read("v$latch"), Missing)
    waited = context.finished_seconds("latch free")
    if waited is None or listed or context.surface_wait_seconds("result-cache") is not None:
        return None
    impact = context.impact_by(waited)
    return None if severity_of(impact) in (None, Severity.INFO) else impact


LARGE = 0.05
"""From this share of DB time on, a wait for something else is named."""


def other_wait(context: SignalContext) -> OtherWait | None:
    """The wait with most of DB time, if it is none for the row cache. Only some events are read."""
    db_time = context.seconds_of("DB time")
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    telling = (event for event in events if not is_ordinary(event))
    waits = [(seconds, event) for event in telling if (seconds := context.waited_seconds((event,)))]
    if not waits or not db_time:
        return None
    seconds, event = max(waits)
    if event in SURFACE_EVENTS.values() or seconds < LARGE * db_time:
        return None
    others = sum(each for each, name in waits if name not in SURFACE_EVENTS.values())
    return OtherWait(
        event=event, share_of_db_time=min(seconds / db_time, 1.0), together_share_of_db_time=min(others / db_time, 1.0)
    )


def largest_use(context: SignalContext) -> LargestUse | None:
    """What DB time went to most, of DB CPU and the waits that are read, the row cache left out.

    None where DB time or DB CPU is unknown, on an idle instance, in totals, and if a wait that ended has more than all of it.
    """
    db_time, cpu, seconds = context.seconds_of("DB time"), context.seconds_of("DB CPU"), context.delta.basis.seconds
    if not db_time or cpu is None or not seconds or db_time < IDLE_SESSIONS * seconds:
        return None
    events = sorted({str(row.get("event")) for row in context.delta.rows("v$system_event")})
    waits = {event: waited / db_time for event in events if (waited := context.waited_seconds((event,))) is not None}
    if max(waits.values(), default=0.0) > 1:
        return None
    shares = {"DB CPU": min(cpu / db_time, 1.0), **waits}
    unread = max(0.0, 1.0 - sum(shares.values()))
    uses = [(share, name) for name, share in shares.items() if name not in SURFACE_EVENTS.values()]
    (share, name), *smaller = sorted(uses, reverse=True)
    next_share, next_name = smaller[0] if smaller and smaller[0][0] >= LARGE else (None, None)
    return LargestUse(
        name=name,
        share_of_db_time=share,
        next_name=next_name,
        next_share_of_db_time=next_share,
        unread_share_of_db_time=unread,
    )


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
