"""`examine` judges every cause of the catalogue on one Delta: into found, ruled out and cannot tell.

A poll needs only the verdict. What explains it, and what a remedy is worth, follows from the same Delta on request.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from collectors.model import ConfirmationResult, Delta, Missing, NotComparable
from rules.baseline import UsualRange
from rules.cache_map import CacheMap
from rules.cause import Cause, catalogue
from rules.containers import container_shares
from rules.contention.prediction import prediction_of
from rules.context import ROW_CACHE_SURFACES, SignalContext
from rules.cost import (
    TENTH,
    anything_read,
    cost_is_open,
    costing_nothing_again,
    costs_nothing,
    largest_use,
    other_wait,
    overall_gate,
    still_stands,
    surface_impacts,
    totals_without_waits,
    troubles,
    whole_impact,
)
from rules.explain.headline import headline, nobody_looked, waiting_groups
from rules.explain.notes import funnel, groups, notes, waiter_totals
from rules.explain.walk import walk
from rules.fixes import fix_line
from rules.gaps import gaps_of
from rules.grade import grade
from rules.hangs.blockers import blockers_of
from rules.judge import CauseVerdict, Hypothesis, OpenCause, Verdict, elsewhere, hypotheses, refute
from rules.library_cache import caches_of_both_locks, library_cache_waiters, namespaces_waited_for
from rules.logs import with_events
from rules.model import (
    CANNOT_TELL,
    Candidate,
    Diagnosis,
    DiagnosisBasis,
    Finding,
    OtherWait,
    RuledOut,
    Severity,
    State,
    Surface,
    Undetermined,
    worst,
)
from rules.rivals import rank, relate
from rules.shortlist import shortlists
from rules.waits import severity_of


def judged(context: SignalContext, causes: Collection[Cause]) -> Sequence[CauseVerdict]:
    """One verdict per cause: hypotheses → refute → relate → grade. `rank` puts the findings in order afterwards.

    Once the cause of one trouble is found, the others are judged again, by their share of what it leaves.
    """
    refuted = [refute(one) if isinstance(one, Hypothesis) else one for one in hypotheses(context, causes)]
    related = relate(refuted)
    if (beside := _beside(context, related)) is not None:
        return judged(beside, causes)
    return [grade(one, related) if isinstance(one, Hypothesis) else one for one in related]


def _beside(context: SignalContext, related: Sequence[Verdict]) -> SignalContext | None:
    """The context to judge the troubles that are left once some are found. None where nothing new is found, or nothing left."""
    standing = [one for one in related if isinstance(one, Hypothesis) and one.named and one.costs]
    beside = context.beside({one.cause.id: one.cause.caches for one in standing})
    left = beside.hot_caches.waited_for(ROW_CACHE_SURFACES, (), beside.hot_caches.found_beside(())) or 0.0
    if beside.found == context.found or left < TENTH * (context.row_cache_wait_seconds or 0.0):
        return None
    return None if severity_of(context.impact_by(left)) in (None, Severity.INFO) else beside


def diagnose(
    delta: Delta,
    causes: Mapping[str, Cause] | None = None,
    usual: Mapping[str, UsualRange] | None = None,
    caches: CacheMap | None = None,
) -> Diagnosis:
    """The complete Diagnosis of a Delta; see `examine`."""
    return examine(delta, causes, usual, caches).diagnosis


def examine(
    change: Delta | NotComparable,
    causes: Mapping[str, Cause] | None = None,
    usual: Mapping[str, UsualRange] | None = None,
    caches: CacheMap | None = None,
) -> "Examination":
    """The verdict on a Delta, or why there is none; its reasons on request. The order of view rows does not matter.

    `usual` has this database's usual figures by the names of `rules.baseline.figures`. It adds to the headline how
    many times the usual the cost is, and changes no verdict. `caches` is the map of this Delta, if the caller has it.
    """
    if isinstance(change, NotComparable):
        return Examination(cannot_tell(change, causes))
    judgement = Judgement(change, causes, usual or {}, caches, gaps_of(change))
    return Examination(judgement.verdict(), judgement)


def held(
    change: Delta | NotComparable, usual: Mapping[str, UsualRange], caches: CacheMap, before: "Examination"
) -> "Examination | None":
    """The verdict on a Delta by the causes that an earlier one was judged by, if they still stand; the costs are its own.

    `caches`, `before`: the map and the examination of the poll before. None if the causes must be judged again.
    """
    if isinstance(change, NotComparable) or not change.steady or change.missing != before.missing:
        return None
    if before.judged.severity is Severity.INFO:
        told = None if change.confirmations else costing_nothing_again(change, before.judged)
        again = Judgement(change, None, usual, None, before.gaps)
        return Examination(None, again, before.judged, told) if told else None
    gaps = gaps_of(change, all_named=not before.gaps)
    verdict = Judgement(change, None, usual, caches, gaps).held(before) if gaps.keys() == before.gaps.keys() else None
    return Examination(verdict, Judgement(change, None, usual, None, gaps), before.judged) if verdict else None


class Examination:
    """One judged interval. Its verdict is there; everything else is made once, when somebody asks."""

    def __init__(
        self,
        verdict: Diagnosis | None,
        judgement: "Judgement | None" = None,
        judged: Diagnosis | None = None,
        told: Diagnosis | None = None,
    ) -> None:
        """Without a judgement the verdict is the complete diagnosis. `told` stands for one that is made when somebody asks."""
        self._verdict, self._judgement, self._told, self._judged = verdict, judgement, told, judged
        self.gated = told is not None
        """Whether the gate stayed shut: nothing cost anything, and nobody made a verdict of the poll yet."""

    @property
    def judged(self) -> Diagnosis:
        """The verdict of the poll at which its causes were judged: this one, or an earlier one whose causes still stand."""
        return self._judged or self.verdict

    @property
    def told(self) -> Diagnosis:
        """The verdict. Where the gate stayed shut that of an earlier poll with the costs of this one, which finds the same."""
        return self._told or self.verdict

    @cached_property
    def verdict(self) -> Diagnosis:
        """Findings, costs and headline, without reasons. Where no wait costs anything, no cause counts as open."""
        if self._verdict is None and self._judgement is not None and self._judged is not None:
            self._verdict = self._judgement.by(self._judged)
            self.release()
        assert self._verdict is not None
        return self._verdict

    @property
    def missing(self) -> frozenset[str]:
        """The views that its interval has no changes of."""
        return self._judgement.delta.missing if self._judgement else frozenset()

    @property
    def gaps(self) -> Mapping[str, Missing]:
        """The views with gaps, which stay as long as no row comes or goes."""
        return self._judgement.gaps if self._judgement else {}

    @property
    def confirmations(self) -> Mapping[str, ConfirmationResult]:
        """The results of confirming queries that its causes were judged with."""
        return self._judgement.delta.confirmations if self._judgement else {}

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The complete diagnosis. What was prepared for it is given up once it is there."""
        if self._judgement is None:
            return self.verdict
        made = self._judgement.complete()
        self.release()
        return made

    def open_causes(self) -> Mapping[str, str]:
        """The causes that were not ruled out, each with what is missing to judge it."""
        undetermined = self.verdict.undetermined if self._judgement is None else self._judgement.undetermined()
        return {verdict.cause: verdict.missing for verdict in undetermined}

    def release(self) -> None:
        """Give up what was prepared, many times as large as the verdict. A later question prepares it again."""
        if self._judgement is not None:
            self._judgement = replace(self._judgement)


@dataclass(frozen=True)
class Judgement:
    """A Delta on its way to a Diagnosis: prepared and judged once, for any number of questions. Members as in `examine`."""

    delta: Delta
    causes: Mapping[str, Cause] | None
    usual: Mapping[str, UsualRange]
    caches: CacheMap | None
    gaps: Mapping[str, Missing]

    def verdict(self) -> Diagnosis:
        """The diagnosis without its reasons: enough for episodes, alerts and metrics."""
        whole = self._judged_whole
        return whole.model_copy(update={"undetermined": ()}) if costs_nothing(self._context) else whole

    def held(self, before: Examination) -> Diagnosis | None:
        """The verdict by the causes of an earlier poll, with the costs of this one. None if they may no longer stand."""
        known = before.judged
        if before.confirmations != self.delta.confirmations or not still_stands(self._context, known):
            return None
        costly = [finding for finding in known.findings if finding.severity is not Severity.INFO]
        alone = judged(self._context, [self._judged[finding.cause] for finding in costly])
        if {*map(_short, costly)} != {_short(one) for one in alone if isinstance(one, Finding)}:
            return None
        verdict = self.by(known)
        return verdict if verdict.severity is known.severity else None

    def by(self, judged: Diagnosis) -> Diagnosis:
        """The verdict by the causes of an earlier one, with the costs of this Delta."""
        verdict = self._diagnosis(judged.findings, undetermined=judged.undetermined)
        return verdict.model_copy(update={"judged_at": judged.judged_at})

    def undetermined(self) -> tuple[Undetermined, ...]:
        """The causes that stayed open."""
        return tuple(verdict.undetermined for verdict in self._verdicts if isinstance(verdict, OpenCause))

    def complete(self) -> Diagnosis:
        """The diagnosis with its reasons, and with the worth of the remedy."""
        verdict, context = self._judged_whole, self._context
        lists, instead = shortlists(*self.weighed, verdict.troubles)
        findings = tuple(one.model_copy(update={"other": instead.get(one.cause)}) for one in verdict.findings)
        described = walk(context, findings, verdict.troubles, verdict.severity, self.usual)
        reasons = {
            "findings": findings,
            "shortlist": lists,
            "steps": described.steps,
            "chain": described.chain,
            "largest_use": largest_use(context) if verdict.severity is Severity.INFO else None,
            "containers": container_shares(context),
            "library_cache": library_cache_waiters(context),
            "funnel": funnel(context, findings),
            "who_totals": waiter_totals(context),
            "ruled_out": tuple(verdict for verdict in self._verdicts if isinstance(verdict, RuledOut)),
            "prediction": prediction_of(context, self._judged, findings),
            "candidates": _candidates(context, self._known, verdict),
            "notes": notes(context),
        }
        return with_events(verdict.model_copy(update=reasons), self.delta)

    @property
    def weighed(self) -> tuple[SignalContext, Mapping[str, Cause], Sequence[CauseVerdict]]:
        """What a shortlist is made of: the prepared figures, the causes, and the verdict on each."""
        return self._context, self._judged, self._verdicts

    @cached_property
    def _known(self) -> Mapping[str, Cause]:
        return catalogue() if self.causes is None else self.causes

    @cached_property
    def _judged(self) -> Mapping[str, Cause]:
        return {name: cause for name, cause in self._known.items() if not cause.handbook}

    @cached_property
    def _context(self) -> SignalContext:
        return SignalContext(self.delta.without(self.gaps), self.caches)

    @cached_property
    def _verdicts(self) -> Sequence[CauseVerdict]:
        return judged(self._context, self._judged.values())

    @cached_property
    def _judged_whole(self) -> Diagnosis:
        """The diagnosis by every cause, without its reasons."""
        findings = rank((verdict for verdict in self._verdicts if isinstance(verdict, Finding)), self._judged)
        open_causes = [verdict for verdict in self._verdicts if isinstance(verdict, OpenCause)]
        return self._diagnosis(findings, open_causes, tuple(map(self._undetermined, open_causes)))

    def _undetermined(self, verdict: OpenCause) -> Undetermined:
        """An open cause, with whether its bug is fixed here."""
        fix = fix_line(self._judged[verdict.cause], self.delta)
        return verdict.undetermined.model_copy(update={"fix": fix})

    def _diagnosis(
        self,
        findings: tuple[Finding, ...],
        open_causes: Sequence[OpenCause] = (),
        undetermined: tuple[Undetermined, ...] = (),
    ) -> Diagnosis:
        """What these findings, and the costs of this Delta, say."""
        context, basis = self._context, self.delta.basis
        severity = severity_by_cost(context, self._judged, findings)
        other = other_wait(context)
        undecided = [(self._judged[verdict.cause], verdict) for verdict in open_causes]
        found = troubles(context, findings)
        sentence = headline(context, findings, found, self.usual, undecided, other, severity)
        return Diagnosis(
            database=self.delta.database,
            release=self.delta.release,
            mechanism=context.mechanism,
            basis=DiagnosisBasis(kind=basis.kind, begin=basis.begin, end=basis.end, seconds=basis.seconds),
            state=state_of(context, severity, other, sentence),
            severity=severity,
            headline=sentence,
            judged_at=basis.end if basis.kind == "interval" and self.delta.source == "views" else None,
            impact=whole_impact(context, findings),
            other_wait=other,
            surfaces=surface_impacts(context),
            troubles=found,
            steps=(),
            findings=findings,
            ruled_out=(),
            undetermined=undetermined,
            who=groups(context),
            waiting=waiting_groups(context),
            blockers=blockers_of(context),
        )


def _short(finding: Finding) -> tuple[object, ...]:
    """What a finding says, and how sure it is: a verdict is held only while neither changes."""
    return finding.cause, finding.severity, finding.cache, finding.child, finding.identity, finding.confidence


def _candidates(context: SignalContext, causes: Mapping[str, Cause], verdict: Diagnosis) -> tuple[Candidate, ...]:
    """Handbook entries for the release that fit a surface in trouble, and a cache in trouble if they name one.

    Where a finding explains the trouble, the caches are those of its cause, or its own if its cause names none. Where nothing
    does, they are those that are waited for. Entries about caches with sessions in both kinds of lock fit at any cost, and so do
    entries about what most of many sessions in the library cache wait for.
    """
    troubled = [finding for finding in verdict.findings if finding.severity is not Severity.INFO]
    caches = {cache for finding in troubled for cache in causes[finding.cause].caches or (finding.cache,) if cache}
    if context.hot is not None and context.gate not in (None, Severity.INFO):
        caches |= {cache.parameter for cache in context.hot.caches if cache.parameter}
    unexplained = set[Surface]()
    for trouble in verdict.troubles:
        if not trouble.causes and severity_of(trouble) is not Severity.INFO:
            unexplained.add(trouble.surface)
            caches.update(trouble.caches)
    surfaces, both = unexplained | {finding.surface for finding in troubled}, caches_of_both_locks(context)
    namespaces = namespaces_waited_for(context)

    def fits(cause: Cause) -> bool:
        troubled = surfaces & set(cause.surfaces) and (not cause.caches or caches & set(cause.caches))
        locked = "lock" in cause.surfaces and both & set(cause.caches)
        return bool(troubled or locked or namespaces & set(cause.namespaces))

    return tuple(
        Candidate(cause=cause.id, title=cause.name, check=cause.explanation)
        for cause in causes.values()
        if cause.handbook and fits(cause) and elsewhere(cause, context) is None
    )


def cannot_tell(
    gap: NotComparable, causes: Mapping[str, Cause] | None = None, *, more_to_come: bool = True
) -> Diagnosis:
    """The Diagnosis without a Delta, as before the second poll or across a restart: everything undetermined.

    `more_to_come`: whether another poll may change that. A file gets no more.
    """
    known = catalogue() if causes is None else causes
    return Diagnosis(
        database=gap.database,
        release=gap.release,
        mechanism=None,
        basis=None,
        obstacle=gap.kind,
        severity=Severity.INFO,
        headline=f"Cannot tell{' yet' * more_to_come}: {gap.why}",
        impact=None,
        steps=(),
        findings=(),
        ruled_out=(),
        undetermined=tuple(
            Undetermined(cause=name, missing="interval", why=gap.why, way_out=gap.way_out)
            for name, cause in known.items()
            if not cause.handbook
        ),
    )


def state_of(context: SignalContext, severity: Severity, other: OtherWait | None, sentence: str) -> State:
    """The word for a severity. No data if none of the necessary views was read, no time of a wait in totals, or if the headline
    cannot tell.

    A row cache that costs little is no news of the database: where another wait has most of DB time, the word is Elsewhere.
    """
    harmless = severity is Severity.INFO
    nothing = not anything_read(context) and (
        harmless or context.delta.source != "trace"
    )  # a trace may show a hang alone
    if nothing or (harmless and (totals_without_waits(context) or sentence.startswith(CANNOT_TELL))):
        return "No data"
    if harmless and other is not None and other.has_most:
        return "Elsewhere"
    return "Quiet" if harmless and nobody_looked(context) else severity.state


def _waits_unmeasured(context: SignalContext) -> bool:
    """Whether a trace file shows sessions behind others at the row cache and not for how long, as those before 11.2."""
    found = blockers_of(context) if context.delta.source == "trace" else None
    waiters = [waiter for chain in found.chains for waiter in chain.waiters] if found else []
    return bool(waiters) and all(waiter.waited_seconds is None for waiter in waiters)


def severity_by_cost(context: SignalContext, causes: Mapping[str, Cause], findings: Sequence[Finding]) -> Severity:
    """The cost of the waits, whether or not a cause is known. A cause that exonerates the row cache decides by itself."""
    found = worst(finding.severity for finding in findings)
    if any(causes[finding.cause].drags for finding in findings):
        return found
    unknown = Severity.NOTICE if cost_is_open(context) or _waits_unmeasured(context) else Severity.INFO
    return worst((found, overall_gate(context) or Severity.INFO, unknown))
