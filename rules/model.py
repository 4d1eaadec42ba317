"""The words of this floor: Severity, Confidence, Evidence, Finding, RuledOut, Undetermined, Diagnosis.

These are the JSON objects of the REST interface and of `latchscope diagnose --format json`; field names are a contract.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Self

from pydantic import ConfigDict, Field

from collectors.model import EventKind, ObstacleKind
from rules.base import CANNOT_TELL as CANNOT_TELL
from rules.base import Bound, Easing, Frozen, LastingTrouble, UsualBetween, bound_of
from rules.base import Confidence as Confidence
from rules.base import Identity as Identity
from rules.base import Proof as Proof
from rules.base import Severity as Severity
from rules.base import State as State
from rules.base import worst as worst
from rules.changes import MOST as MOST_CHANGES
from rules.changes import Change
from rules.hangs.model import LEFT, Blockers, WaitingGroup
from rules.library_cache_model import LibraryCacheWaiters
from rules.remedy import Advice, Confirmation, PredictedEffect

# The words for a chain in a Diagnosis: how the wait leads to the cause, link by link, each with one number.

MOST_BARS = 4


class ChainBar(Frozen):
    """One of at most four bars beside a link. `hot` marks the one that the link is about."""

    label: str
    value: float
    hot: bool


def bars_of(values: Mapping[str, float], total: float, hot: Sequence[str]) -> tuple[ChainBar, ...]:
    """The largest as shares of the whole, those that are spoken of first among them."""
    if not total:
        return ()
    ordered = sorted(values, key=lambda name: (name not in hot, -values[name], name))
    shown = sorted(ordered[:MOST_BARS], key=lambda name: (-values[name], name))
    return tuple(ChainBar(label=name, value=values[name] / total, hot=name in hot) for name in shown if values[name])


LinkKind = Literal["wait", "place", "cache", "holder", "blocker", "sign", "cause"]
"""In the order of the chain."""


class ChainLink(Frozen):
    """One link from the wait to the cause: a verb, a name, and the number that proves it."""

    kind: LinkKind
    verb: str = Field(description="what joins it to the link before, such as `which guards`")
    name: str = Field(description="what it leads to: an event, a child latch, a cache, a place in the code, a cause")
    code: bool = Field(description="whether `name` is Oracle's own word")
    value: float | None = Field(description="null if unknown, which is never zero")
    unit: str = Field(description="unit of `value` and of `bars`; a ratio is a share of `of`")
    of: str = Field("", description="what a ratio is a share of, such as DB time")
    numerator: float | None = None
    denominator: float | None = None
    counted: str = Field("", description="unit of numerator and denominator")
    usual: UsualBetween | None = None
    bound: Bound | None = None
    bars: tuple[ChainBar, ...] = Field((), max_length=MOST_BARS)
    measured: str = Field(description="the same as a sentence")
    views: tuple[str, ...] = Field((), description="where it is read")
    caveat: str | None = Field(None, description="what the number does not show")
    certain: bool = Field(True, description="false if the link is likely but not proven")
    unknown: str | None = Field(None, description="what is not known about it, and why")
    way_out: str | None = Field(None, description="how to find out")
    sql: str | None = Field(None, description="the query to see it yourself; null if the figures are from a report")


class EventFunnel(Frozen):
    """How many requests found it taken, and how many of those slept."""

    of: str = Field(description="the latch, mutex or lock")
    requests: float | None
    misses: float | None = Field(description="requests that found it taken; null where no view counts them")
    sleeps: float | None = Field(description="for a row cache lock its waits")
    seconds_waited: float | None


@dataclass(frozen=True, slots=True)
class Known:
    """A number that is known, and the figures it comes from."""

    value: float
    derivation: str = ""
    part: float | None = field(default=None, compare=False)
    """For a share or a rate: the count,"""
    whole: float | None = field(default=None, compare=False)
    """and the base."""
    few: bool = field(default=False, compare=False)
    """Whether so few events say the same that chance may have had a part: it counts, and lowers confidence."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown number: what was missing, why, and the way out."""

    missing: str
    why: str
    way_out: str
    absent: bool = False
    """Whether it was not captured. Otherwise there were too few events."""
    blocks: bool = True
    """Whether a figure that was not captured keeps a cause open. A diluted ratio does not, if the cause's cache is named."""


SignalValue = Known | Unknown

ConditionRole = Literal["required", "identity", "discriminating", "shape", "supporting", "refuting"]
"""The role of a condition in its cause."""

Surface = Literal["latch", "mutex", "lock", "result-cache"]
"""Where a trouble shows: child latches (to 12.1), mutexes (12.2+), row cache lock, the latch of the result cache."""


class Reference(Frozen):
    """Where to read up on a statement."""

    title: str
    url: str | None = None


class Figure(Frozen):
    """A number with its unit and the view it comes from."""

    name: str
    value: int | float
    unit: str
    of: str


class Step(Frozen):
    """One step of a DBA's walk, as a sentence with its figures."""

    step: str
    statement: str
    figures: tuple[Figure, ...] = ()


class Evidence(Frozen):
    """A condition that held, with its number."""

    signal: str
    name: str = Field("", description="what people call the signal")
    value: float
    unit: str
    of: str = Field("", description="what a ratio is a share of; empty if that cannot be counted")
    numerator: float | None = None
    denominator: float | None = None
    needs: str
    bound: Bound | None = Field(None, description="`needs` as operator and number")
    usual: UsualBetween | None = None
    role: ConditionRole = "required"
    because: str
    derivation: str = ""


class CacheRef(Frozen):
    """One dictionary cache behind a child latch. `parameter` is its name, None if v$rowcache could not be read."""

    cache_id: int
    parameter: str | None
    type: str
    subordinate: int | None


class Impact(Frozen):
    """The cost of waits: share of DB time (ratio) and sessions waiting on average."""

    share_of_db_time: float | None
    waiting_sessions: float | None


class Reliability(Frozen):
    """How often findings on the same kind of evidence were right, on generated instances with known truth."""

    evidence: str = Field(description="the kind of evidence: cache, sign, rivals, sight")
    counted: str = Field(
        description="the kind that was counted: the same, or a coarser one where it was met too seldom"
    )
    right: int = Field(description="findings of exactly the cause that was at work")
    true: int = Field(description="the same, and findings that were true as well; the rest was another cause")
    of: int = Field(description="findings counted; 0 if there is no count")


class NearestBound(Frozen):
    """A condition with the two numbers that are close: its value, and the bound in what it needs."""

    signal: str
    value: float
    unit: str = Field(description="unit of the value and of the bound")
    needs: str

    @property
    def bound(self) -> Bound | None:
        """`needs` as operator and number."""
        return bound_of(self.needs)


class OtherCause(Frozen):
    """The likeliest cause besides a finding."""

    cause: str
    probability: float = Field(description="0.1 to 0.9, in bands")


class Finding(Advice):
    """A cause that this Delta shows."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    surface: Surface
    severity: Severity
    confidence: Confidence
    reliability: Reliability | None = Field(
        None, description="the frequency behind `confidence`; null in an old finding"
    )
    status: Proof | None = Field(None, description="what the knowledge of the cause rests on; null in an old finding")
    impact: Impact | None = Field(
        None,
        description="what the waits of its kind cost; if several caches have a problem there, its own part; "
        "null if unknown, and for severity info if something else causes them",
    )
    child: int | None
    cache: str | None
    caches: tuple[CacheRef, ...]
    identity: Literal["read", "sampled", "inferred", "candidate"] | None = Field(
        description="how the cache is known; null if the cause is not about a cache"
    )
    location: str | None
    explanation: str
    evidence: tuple[Evidence, ...]
    unknown: tuple[str, ...] = Field((), description="what is unknown and lowers confidence")
    confirm: Confirmation | None
    false_positives: str
    references: tuple[Reference, ...]
    fix: str | None = Field(
        None, description="whether the fix of the bug it may be is installed; null if the cause is no bug"
    )
    nearest_bound: NearestBound | None = Field(
        None, description="the condition that holds and is closest to its bound; null if none has a ratio to it"
    )
    other: OtherCause | None = Field(
        None, alias="else", description="what it may be instead; null if no open cause has 1 of 10"
    )

    def sign(self, signal: str) -> Evidence | None:
        """The condition on a signal, where it held."""
        return next((evidence for evidence in self.evidence if evidence.signal == signal), None)


class RuledOut(Frozen):
    """A cause that a number speaks against."""

    cause: str
    signal: str
    name: str = Field("", description="what people call the signal")
    value: float | None = Field(
        description="null for `release`, `mechanism` and an installed fix (`fix_missing`), which are not numbers"
    )
    unit: str = ""
    needs: str
    bound: Bound | None = Field(None, description="`needs` as operator and number; null if it is neither")
    because: str = ""
    explained_by: str | None = Field(None, description="the cause that explains these waits instead; null without one")
    nearest_bound: NearestBound | None = Field(
        None, description="the condition that fails, within a factor of three of its bound; null if it is farther"
    )


class Undetermined(Frozen):
    """A cause that could not be judged, what was missing, and the way out."""

    cause: str
    missing: str
    why: str = ""
    way_out: str
    fix: str | None = Field(None, description="as in a finding")


class DiagnosisBasis(Frozen):
    """The time that a Diagnosis covers. UTC by the database's clock; for a report its host's local time without a zone."""

    kind: Literal["interval", "since_startup", "totals"]
    begin: datetime | None
    end: datetime | None
    seconds: float | None


class WaiterGroup(Frozen):
    """Sampled sessions with the same wait. `sessions` is how many waited on average, over all looks of the interval."""

    event: str
    cache: str
    sessions: float
    share: float
    sql_id: str | None
    module: str | None
    program: str | None
    container: str | None
    blocker: str | None


class WaiterTotal(Frozen):
    """Sampled waiters of one statement or one module. Null stands for waiters without one."""

    name: str | None
    waiters: int
    share: float
    sessions: float = Field(description="how many waited on average, over all samples of the interval")


class WaiterTotals(Frozen):
    """All waiters by statement and by module, the most first."""

    looks: int
    waiters: int = Field(description="seen in all samples together; a long wait counts more than once")
    by_sql_id: tuple[WaiterTotal, ...]
    by_module: tuple[WaiterTotal, ...]


class Candidate(Frozen):
    """A handbook entry to check: it fits cache and surface, and no polled signal can find it."""

    cause: str
    title: str
    check: str


class OtherWait(Frozen):
    """The largest wait of the interval that is none for the row cache."""

    event: str
    share_of_db_time: float = Field(
        description="share of DB time, 0 to 1; 1 too where it ended waits that began before the interval"
    )
    together_share_of_db_time: float = Field(
        description="the same of all waits that were read and are none for the row cache"
    )

    @property
    def has_most(self) -> bool:
        """Whether such waits have most of DB time, so that a row cache that costs little is not what matters."""
        return self.together_share_of_db_time >= 0.5


class LargestUse(Frozen):
    """What DB time went to most, besides the row cache, of what is read."""

    name: str = Field(description="DB CPU, or a wait event")
    share_of_db_time: float = Field(description="its share of DB time, 0 to 1")
    next_name: str | None = Field(None, description="the largest after it; null if that has less than 5 % of DB time")
    next_share_of_db_time: float | None = None
    unread_share_of_db_time: float = Field(
        description="what is left of DB time: waits that are not read, and waiting for a processor"
    )

    @property
    def is_largest(self) -> bool:
        """Whether nothing that is not read can be larger."""
        return self.share_of_db_time >= self.unread_share_of_db_time


class ContainerShare(Frozen):
    """The row cache waits of the sessions of one container."""

    con_id: int = Field(description="number of the container; 1 is the root")
    name: str | None = Field(None, description="its name; null if it was not read")
    seconds: float = Field(description="foreground time waited for the row cache over the interval")
    share: float = Field(description="part of the waits of all containers, 0 to 1")

    @property
    def called(self) -> str:
        """Such as container ERP1 (5), or container 5."""
        return f"container {self.con_id}" if self.name is None else f"container {self.name} ({self.con_id})"


class SurfaceImpact(Impact):
    """The cost of the waits on one surface."""

    surface: Surface


AttributedBy = Literal["sampled waiters", "sleeps of children", "changes", "cause"]
"""What says whose the waits were, the most trusted first; `cause`: no figure, only that a cause of this cache is found."""


class Trouble(Impact):
    """Waits that cost something: on one surface, and for one cache or what one child guards."""

    surface: Surface
    cache: str | None = Field(description="null if the waits are for many caches, or no figure says for which")
    caches: tuple[str, ...] = Field(
        (), description="all that its child guards or its id stands for; empty with `cache` null"
    )
    attributed_by: AttributedBy | None = Field(None, description="which figures say whose the waits were")
    child: int | None = None
    causes: tuple[str, ...] = Field(
        (), description="findings above info that explain them; empty while the cause is open"
    )


class Likely(Frozen):
    """An open cause that may be behind a problem."""

    cause: str
    title: str
    probability: float = Field(description="0.1 to 0.8, in bands")


class NextLook(Frozen):
    """What would tell more than anything else: a look at the sessions, a view, or a query."""

    what: str
    sql: str | None = Field(description="the query; null if it is none")
    why: str = Field(description="how to get it, or what its number decides")


class Shortlist(Frozen):
    """What may be behind a problem for which nothing is found. Chances in bands: 0.9, 0.8, 0.6, 0.4, 0.2, 0.1; 0 is less."""

    surface: Surface
    cache: str | None = Field(description="the cache that it is most likely about")
    cache_probability: float
    candidates: tuple[Likely, ...] = Field(max_length=3, description="the likeliest first; none of them is ruled out")
    something_else: float = Field(description="the chance of a cause that we do not know")
    next: NextLook | None = None


MOST_LOGGED = 200
"""Events of a log that a Diagnosis shows."""


class Logged(Frozen):
    """What an alert log or a trace file says happened, in words. No SQL text and no secret."""

    at: datetime | None = Field(
        description="when, with a zone only if the file prints one; null if no time could be read"
    )
    kind: EventKind
    text: str
    line: int = Field(description="number of its first line in the file, from 1")
    trace_file: str | None = Field(None, description="the trace file that has more, without its folder")
    times: int = Field(1, description="how many equal lines it stands for")
    until: datetime | None = Field(None, description="when the last of them was written; null for a single one")


class Diagnosis(Frozen):
    """All findings, all causes ruled out, all that could not be judged, for one Delta."""

    database: str
    release: str | None
    mechanism: Literal["latch", "mutex"] | None
    basis: DiagnosisBasis | None
    obstacle: ObstacleKind | None = Field(
        None,
        description="why there is no interval: the first poll, a restart, or else; null if there is one",
    )
    state: State = Field(
        "No data",
        description="`severity` as people read it; Elsewhere if that is info and waits as `other_wait` together "
        "have half of DB time or more; No data if nothing is known",
    )
    severity: Severity
    headline: str
    judged_at: datetime | None = Field(
        None,
        description="when its causes were judged, by the database's clock: `basis.end`, or up to a minute before while a problem "
        "stays as it was, and up to five minutes while nothing costs anything; null for what is not of two polls",
    )
    impact: Impact | None = Field(description="what the kinds of wait with a problem cost together")
    other_wait: OtherWait | None = Field(
        None,
        description="the largest wait that was read, if it is none for the row cache and has 5 % of DB time or more",
    )
    largest_use: LargestUse | None = Field(
        None,
        description="what DB time went to while the row cache costs little: DB CPU or the largest wait; null beside a problem, "
        "where DB time is unknown, and on an idle instance",
    )
    containers: tuple[ContainerShare, ...] = Field(
        (), description="whose the row cache waits are, the most first; empty if it is not known, or no session waited"
    )
    surfaces: tuple[SurfaceImpact, ...] = Field((), description="what each kind of wait costs, where it is known")
    troubles: tuple[Trouble, ...] = Field(
        (), description="kinds of wait and caches with a problem, each separately, the most expensive first"
    )
    shortlist: tuple[Shortlist, ...] = Field(
        (), description="what may be behind each problem for which nothing is found; it is no finding"
    )
    steps: tuple[Step, ...]
    chain: tuple[ChainLink, ...] = Field(
        (), description="how the wait leads to the cause, link by link; empty where there is no problem"
    )
    funnel: EventFunnel | None = Field(
        None, description="requests, those that found it taken, and sleeps, of the kind of wait that costs most"
    )
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
    undetermined: tuple[Undetermined, ...]
    who: tuple[WaiterGroup, ...] = Field((), description="sampled waiters, most first; empty when nobody was sampled")
    who_totals: WaiterTotals | None = Field(None, description="the same as totals; null when nobody was sampled")
    waiting: tuple[WaitingGroup, ...] = Field(
        (), description="sessions whose wait has not ended at the poll; empty if there was none, or no sample"
    )
    blockers: Blockers | None = Field(None, description="who holds what sessions hang on; null where nobody hangs")
    library_cache: LibraryCacheWaiters | None = Field(
        None,
        description="who waits for library cache lock or pin at the poll, and for what; null if they were not read",
    )
    prediction: PredictedEffect | None = Field(
        None, description="what the remedy of the first finding that names one would make of its child latch"
    )
    easing: Easing | None = Field(
        None, description="what the last poll no longer showed; null if nothing is recovering"
    )
    episodes: tuple[LastingTrouble, ...] = Field(
        (), description="problems that were open at the time, from the episodes"
    )
    changes: tuple[Change, ...] | None = Field(
        None,
        max_length=MOST_CHANGES,
        description="the timeline: what changed from an hour before the waits began, newest last; a change is listed, not "
        "blamed; null without a reading, as for a report",
    )
    waits_began: datetime | None = Field(
        None,
        description="when the waits began, by which the timeline is ordered: the begin of the oldest open problem or of the "
        "longest wait; null without waits",
    )
    changes_missing: tuple[str, ...] = Field((), description="what the timeline does not know, a line for each source")
    events: tuple[Logged, ...] = Field(
        (),
        max_length=MOST_LOGGED,
        description="what an alert log or a trace file says happened, in the order of the file; empty for other inputs",
    )
    candidates: tuple[Candidate, ...] = Field((), description="handbook causes to check beside the findings")
    notes: tuple[str, ...] = Field((), description="assumptions, counters left out, disagreements of the map")

    @property
    def standing(self) -> str:
        """How an input stands, in one word for every form: as a database does, or Cannot tell where nothing was judged."""
        return CANNOT_TELL if self.state == "No data" else self.state

    def later(self, seconds: float) -> Self:
        """The same this many seconds later: without a command that ends a session if the look for it is too old by then."""
        return self if self.blockers is None else self.model_copy(update={"blockers": self.blockers.later(seconds)})

    def without_commands(self) -> Self:
        """The same as it leaves the page: with the check in place of each command that ends a session."""
        if self.blockers is None or not self.blockers.commands:
            return self
        return self.model_copy(update={"blockers": self.blockers.without_commands(LEFT)})


def verdict_of(diagnosis: Diagnosis) -> list[list[str | int | None]]:
    """The verdict, in short: a diagnosis with the same verdict brings nothing new."""
    return [
        [finding.cause, finding.severity.value, finding.confidence.value, finding.child]
        for finding in diagnosis.findings
    ]
