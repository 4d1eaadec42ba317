"""The grades of a finding: how much it costs, how sure we are, and how its cache is known."""

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Literal

State = Literal["Critical", "Warning", "Notice", "Fine", "No data"]
"""The state of a database, as people read it."""
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
        return list(Severity).index(self)

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
        return list(Confidence).index(self)

    def at_most(self, cap: "Confidence") -> "Confidence":
        return self if self.rank <= cap.rank else cap


Proof = Literal["experimental", "tested", "proven"]
"""What an entry of the knowledge base is founded on: one source, published figures, or a whole published incident."""


FOUNDED_ON: Mapping[Proof, str] = {
    "experimental": "from one source",
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
