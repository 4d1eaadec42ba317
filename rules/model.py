"""The words of this floor: Cause and Condition (what we know), Evidence, Finding, RuledOut, Undetermined, Diagnosis.

These are the JSON objects of the REST interface and of `latchscope diagnose --format json`; field names are a contract.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

COMPARISON = r"^(>=|<=) -?\d+(\.\d+)?(e[+-]?\d+)?$"


class Frozen(BaseModel):
    """A value that nobody changes and that refuses members it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Severity(StrEnum):
    """How much the trouble costs, by the impact gate; says nothing about how sure we are."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 (info) to 3 (critical)."""
        return list(Severity).index(self)

    def at_most(self, cap: "Severity") -> "Severity":
        """The lower of the two."""
        return self if self.rank <= cap.rank else cap


class Confidence(StrEnum):
    """How sure we are of the cause; says nothing about how much it costs."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 (low) to 2 (high)."""
        return list(Confidence).index(self)


class Identity(IntEnum):
    """How the hot child's cache is known; higher is surer."""

    CANDIDATE = 0
    """No map: the cache is the one whose share of gets fits."""
    INFERRED = 1
    """The child's gets fit one cache by the load model."""
    READ = 2
    """From x$kqrst."""


class Reference(Frozen):
    """Where a statement can be read up."""

    title: str
    url: str | None = None


class Condition(Frozen):
    """One thing a cause asks of a Delta: a signal, a comparison, and why it matters.

    A condition known to be false rules the cause out. One that cannot be told leaves a `required` cause undetermined;
    for the other roles it only costs confidence.
    """

    signal: str
    needs: str = Field(pattern=COMPARISON, description="comparison with a number, in the signal's unit")
    because: str
    role: Literal["required", "identity", "discriminating", "shape"] = "required"
    location: str | None = Field(None, description="miss location, for signals that speak of one")

    def holds(self, value: float) -> bool:
        """Whether a value satisfies the comparison."""
        sign, bound = self.needs.split()
        return value >= float(bound) if sign == ">=" else value <= float(bound)


class AnyOf(Frozen):
    """Alternatives of which one is enough."""

    any_of: tuple[Condition, ...] = Field(min_length=2)


class Query(Frozen):
    """A confirming query: one number that a DBA, or latchscope on request, reads from the dictionary."""

    sql: str
    reading: str = Field(description="how to read the number")
    needs: str | None = Field(None, pattern=COMPARISON)


class Cause(Frozen):
    """An entry of the knowledge base, one YAML file each. `kb` is its number in our reference."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    kb: str
    title: str
    status: Literal["experimental", "tested", "proven"]
    mechanisms: tuple[Literal["latch", "mutex"], ...] = ("latch",)
    caches: tuple[str, ...] = ()
    location: str | None = None
    look_alike: bool = Field(False, description="explains row cache sleeps without the row cache being the cause")
    cap: Severity = Field(Severity.CRITICAL, description="highest severity this cause may take")
    explanation: str
    when: tuple[Condition | AnyOf, ...] = Field(min_length=1)
    confirm: Query | None = None
    remedy: str
    risk: str
    expected_effect: str
    false_positives: str
    references: tuple[Reference, ...] = ()


class Figure(Frozen):
    """A number with its unit and the view it comes from."""

    name: str
    value: int | float
    unit: str
    of: str


class Step(Frozen):
    """One step of the walk a DBA would make, as a sentence with the figures it rests on."""

    step: str
    statement: str
    figures: tuple[Figure, ...] = ()


class Evidence(Frozen):
    """A condition that held, with its number."""

    signal: str
    value: float
    unit: str
    needs: str
    because: str
    derivation: str = ""


class Confirmation(Frozen):
    """The confirming query of a finding and, once somebody ran it, its result."""

    sql: str
    reading: str = ""
    result: float | None = None


class CacheRef(Frozen):
    """One dictionary cache behind a child latch; `parameter` is its name, None when v$rowcache could not be read."""

    cache_id: int
    parameter: str | None
    type: str
    subordinate: int | None


class Finding(Frozen):
    """A cause that this Delta shows."""

    cause: str
    title: str
    severity: Severity
    confidence: Confidence
    child: int | None
    cache: str | None
    caches: tuple[CacheRef, ...]
    identity: Literal["read", "inferred", "candidate"] | None = Field(
        description="how the cache is known; null where the cause is not a cache"
    )
    location: str | None
    explanation: str
    evidence: tuple[Evidence, ...]
    unknown: tuple[str, ...] = Field((), description="what could not be told and costs confidence")
    confirm: Confirmation | None
    remedy: str
    risk: str
    expected_effect: str
    false_positives: str
    references: tuple[Reference, ...]


class RuledOut(Frozen):
    """A cause that a number speaks against."""

    cause: str
    signal: str
    value: float
    unit: str = ""
    needs: str
    because: str = ""


class Undetermined(Frozen):
    """A cause that could not be judged, what was missing, and the way out."""

    cause: str
    missing: str
    why: str = ""
    way_out: str


class DiagnosisBasis(Frozen):
    """Over which time a Diagnosis speaks; UTC by the database's clock."""

    kind: Literal["interval", "since_startup", "totals"]
    begin: datetime | None
    end: datetime | None
    seconds: float | None


class Impact(Frozen):
    """What row cache waits cost: share of DB time (ratio) and sessions waiting on average."""

    share_of_db_time: float | None
    waiting_sessions: float | None


class Diagnosis(Frozen):
    """All findings, all causes ruled out, all that could not be judged, for one Delta."""

    database: str
    release: str | None
    mechanism: Literal["latch", "mutex"] | None
    basis: DiagnosisBasis | None
    severity: Severity
    headline: str
    impact: Impact | None
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
    undetermined: tuple[Undetermined, ...]
    notes: tuple[str, ...] = Field((), description="assumptions, counters left out, disagreements of the map")


def worst(severities: Iterable[Severity]) -> Severity:
    """The highest of several severities; info when there are none."""
    return max(severities, key=lambda one: one.rank, default=Severity.INFO)
