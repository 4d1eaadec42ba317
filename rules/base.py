"""The grades of a finding: how much it costs, how sure we are, and how its cache is known. And what every value rests on."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import IntEnum, StrEnum
from functools import cache, wraps
from typing import Any, Literal, TypeVar, TypeVarTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field

LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader in C, if PyYAML has it: ten times as fast."""

# The base of every value that leaves this floor as JSON.


class Frozen(BaseModel):
    """An immutable value that refuses unknown members."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# What a number is compared with: the bound of a condition, and the usual range.

Operator = Literal[">=", "<="]


class Bound(Frozen):
    """At least, or at most, this number."""

    operator: Operator
    value: float


class UsualBetween(Frozen):
    """The usual range of a number. An open end is null."""

    low: float | None
    high: float | None
    where: Literal["in general", "here at this hour"] = Field(
        "in general", description="on ordinary databases, or in this database's own history for the hour"
    )


def meets(value: float, needs: str) -> bool:
    """Whether a value meets a comparison as causes write it: ">= 100"."""
    bound = _comparison(needs)
    return value >= bound.value if bound.operator == ">=" else value <= bound.value


def bound_of(needs: str) -> Bound | None:
    """A comparison as operator and number. None if it is something else, such as a release."""
    return _comparison(needs) if needs[:3] in (">= ", "<= ") else None


@cache
def _comparison(needs: str) -> Bound:
    sign, value = needs.split()
    return Bound(operator=">=" if sign == ">=" else "<=", value=float(value))


State = Literal["Critical", "Warning", "Notice", "Elsewhere", "Quiet", "Fine", "No data"]
"""The state of a database, as people read it. Elsewhere: the row cache costs little, and another wait has most of DB time.
Quiet: it costs nothing as far as counters show, which do not have a hang, and nobody looked at the sessions."""
CANNOT_TELL = "Cannot tell"
"""The state of an input of which nothing could be judged."""
_WORDS: Mapping[str, State] = {"info": "Fine", "notice": "Notice", "warning": "Warning", "critical": "Critical"}


class Severity(StrEnum):
    """How much the trouble costs, by the impact gate. It does not say how sure we are."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def state(self) -> State:
        """The word for people. `info` keeps its name in JSON and metrics."""
        return _WORDS[self.value]

    @property
    def rank(self) -> int:
        """0 (info) to 3 (critical)."""
        return _RANKS[self.value]

    def at_most(self, cap: "Severity") -> "Severity":
        return self if self.rank <= cap.rank else cap


class Confidence(StrEnum):
    """How sure we are of the cause. It does not say how much it costs."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 (low) to 2 (high)."""
        return _RANKS[self.value]

    def at_most(self, cap: "Confidence") -> "Confidence":
        return self if self.rank <= cap.rank else cap

    def moved(self, steps: int) -> "Confidence":
        """So many steps more sure, or less; it stays between low and high."""
        return list(Confidence)[min(max(self.rank + steps, 0), 2)]


_RANKS = {grade.value: rank for grades in (Severity, Confidence) for rank, grade in enumerate(grades)}

Proof = Literal["experimental", "tested", "proven"]
"""What an entry of the knowledge base is founded on: one source, published figures, or a whole published incident."""


FOUNDED_ON: Mapping[Proof, str] = {
    "experimental": "rests on one source",
    "tested": "fits published figures",
    "proven": "fits a published incident",
}


class Identity(IntEnum):
    """How the cache behind a trouble is known. Higher is surer."""

    CANDIDATE = 0
    """Neither map nor samples: the cache whose share of gets fits."""
    INFERRED = 1
    """The child's gets fit one cache by the load model."""
    SAMPLED = 2
    """Waiting sessions name it (P1)."""
    READ = 3
    """From x$kqrst."""


def worst(severities: Iterable[Severity]) -> Severity:
    """The highest of several severities; info when there are none."""
    return max(severities, key=lambda severity: severity.rank, default=Severity.INFO)


# What the past adds to a Diagnosis: open troubles, and what eases. The keeper of episodes fills it in.

WaitsLeft = Literal["falling", "lasting"]
"""What the waits of a trouble do once no poll shows its cause any more, as long as nothing else explains them."""


class LastingTrouble(Frozen):
    """An episode that was open at the time of a diagnosis. `end` is null while it lasts."""

    cause: str
    name: str
    cache: str | None
    begin: datetime
    last_seen: datetime
    end: datetime | None
    severity: Severity = Field(description="of the latest poll that showed it, or the waits that it left")
    peak_severity: Severity
    peak_at: datetime
    peak_share_of_db_time: float | None
    earlier: int | None = Field(description="episodes of this cause before it; null if they cannot be counted")
    verdict: str | None = Field(description="whether a change mark ended it, and why")


class ChangeMade(Frozen):
    """A change that was marked while a trouble lasted, or right after."""

    at: datetime
    text: str


class Easing(Frozen):
    """A trouble that the last poll did not show. A few more polls decide whether it is over."""

    cause: str
    name: str
    cache: str | None
    until: datetime = Field(description="the last poll that showed it")
    waits: WaitsLeft | None = Field(
        None, description="what its waits do while they go on and nothing else explains them; null where they are gone"
    )
    missing: str | None = Field(
        None,
        description="what is missing to judge it any more, so that it is not recovering; null where polls can tell",
    )
    severity: Severity | None = Field(
        None, description="of its waits, or as last known where they are not read; null where polls can tell"
    )
    change: ChangeMade | None = Field(None, description="the last change marked in it; null where none is known")


# A cache for answers: each result of a Delta is computed once, however many causes need it.

Kept = TypeVar("Kept")
Asked = TypeVarTuple("Asked")


def remembered(method: Callable[[Any, *Asked], Kept]) -> Callable[[Any, *Asked], Kept]:
    """A method or function of an immutable object. Equal arguments give the first answer again."""
    name = f"{method.__module__}.{method.__qualname__}"

    @wraps(method)
    def ask(self: Any, *question: *Asked) -> Kept:
        answers: dict[Any, Kept] = self.__dict__.setdefault(name, {})
        if question not in answers:
            answers[question] = method(self, *question)
        return answers[question]

    return ask
