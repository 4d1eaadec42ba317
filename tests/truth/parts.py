"""The parts of an instance: waiting sessions, waits of one kind, a hang, undo."""

from dataclasses import dataclass
from typing import Literal

from tests.truth.releases import Cache
from tests.truth.shapes import Shape

Surface = Literal["latch", "mutex", "lock", "result-cache"]
During = Literal["execution", "soft parse", "hard parse", "failed parse", "logon", "sequence", "anything"]
"""What a session was doing when it waited. A wait for the processor meets it whatever it does."""


@dataclass(frozen=True, slots=True)
class Who:
    """The waiting sessions, with their columns of v$session."""

    module: str | None = "JDBC Thin Client"
    program: str = "JDBC Thin Client"
    username: str = "APP"
    sql_id: str | None = None


@dataclass(slots=True)
class Stream:
    """Waits of one kind, at one place. `cause` made them; None in ordinary life."""

    event: str
    waits: float
    mean: float
    cause: str | None = None
    surface: Surface | None = None
    cache: Cache | None = None
    who: Who = Who()
    shape: Shape | None = None
    held: int = 0
    exclusive: float = 0.3
    """Share of the waiters for a lock that want it exclusively. The others share."""
    during: During = "execution"
    foreground: float = 1.0
    blocker: int | None = None
    first_sleeps: float = 1.0
    """Share of the sleeps of a latch that are the first of their request."""
    sleeps_per_wait: float = 1.0
    timeouts: float = 0.0

    @property
    def child(self) -> int | None:
        """The child latch of the sleeps."""
        return self.cache.child if self.surface == "latch" and self.cache else None

    @property
    def sessions(self) -> float:
        """Sessions waiting on average (Little)."""
        return self.waits * self.mean


@dataclass(frozen=True, slots=True)
class Hang:
    """Sessions whose wait does not end. `since` is the longest wait, in seconds before the end of the interval."""

    cause: str
    event: str
    cache: Cache
    sessions: int
    since: float
    held: int
    requested: int
    holder: int
    background: bool
    who: Who


@dataclass(slots=True)
class Undo:
    """What v$undostat says, and the number of undo segments."""

    retention: int = 900
    tuned: float = 1500.0
    longest_query: float = 300.0
    concurrency: int = 10
    expired: float = 20000.0
    unexpired: float = 8000.0
