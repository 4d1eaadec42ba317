"""How databases are shared: a lease is the right to poll one, and a fleet is the set of processes that hold leases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from service.state.board import DatabaseSummary, Failure, MonitoredDatabase
from service.state.episodes import Confirmed


class LeasesLost(Exception):
    """The holder of the leases is gone, and all leases with it."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One latchscope of several. `id` is that of its session, and empty without one."""

    id: str
    name: str
    url: str | None


class Lease:
    """The right to poll one database, until it is given back or lost. One object per term: a later one is another."""

    def __init__(self, database: str, holds: Callable[["Lease"], bool]) -> None:
        self.database = database
        self._holds = holds

    def held(self) -> bool:
        """Whether it is still valid, from its grantor."""
        return self._holds(self)


@dataclass(frozen=True, slots=True)
class Ownership:
    """The live replicas, and the owner of each database. A database without an owner is free; an unknown owner is None."""

    replicas: tuple[Replica, ...]
    owners: Mapping[str, Replica | None]


class Leases:
    """Grants leases. These are of a single process with its own store, which owns everything: no call raises LeasesLost."""

    alone = True
    """Whether no other process can hold any."""

    def __init__(self, name: str) -> None:
        self.me = Replica("sole", name, None)
        self._held: dict[str, Lease] = {}

    def look(self, databases: Iterable[str]) -> Ownership:
        """The current fleet, this replica included. Raises LeasesLost."""
        return Ownership((self.me,), dict.fromkeys(self._held, self.me))

    def take(self, names: Sequence[str]) -> tuple[Lease, ...]:
        """Leases on those of the databases that no other process holds. Raises LeasesLost."""
        self._held |= {name: Lease(name, lambda _: True) for name in names if name not in self._held}
        return tuple(self._held[name] for name in names)

    def give(self, lease: Lease) -> None:
        """Let others have it. A replica that lost it already has nothing to give back."""
        self._held.pop(lease.database, None)

    def acting(self, database: str) -> AbstractContextManager[bool]:
        """Whether a second session on a database is allowed until the block ends. Raises LeasesLost."""
        return nullcontext(True)

    def logging_in(self, account: str) -> AbstractContextManager[bool]:
        """Whether no other process logs in with this account until the block ends. Raises LeasesLost."""
        return nullcontext(True)

    def close(self) -> None:
        """Give everything back at once."""


# Messages between replicas: the state of a database from its owner, and requests to its owner.


class DatabaseStatus(BaseModel):
    """The latest report of a database's owner. Times are Unix times by the owner's clock."""

    model_config = ConfigDict(frozen=True)

    database: str
    pace: float
    polled_at: float | None
    """The last good poll; None before the first."""
    ahead: float
    """Seconds the owner's clock is ahead of the database's. 0 if the database gave no time."""
    failure: Failure | None
    summary: DatabaseSummary | None


class OwnerRequest(BaseModel):
    """A request to the replica that polls a database, from one that does not."""

    model_config = ConfigDict(frozen=True)

    database: str
    do: Literal["samples", "resume", "confirmed"]
    confirmed: Confirmed | None = None
    """A result of the other replica, to use in the next diagnoses."""


def status_of(watched: MonitoredDatabase) -> DatabaseStatus:
    """The state of a database, from the replica that polls it."""
    published = watched.published
    taken_at = published.snapshot.taken_at if published else None
    return DatabaseStatus(
        database=watched.name,
        pace=watched.pace,
        polled_at=published.clock if published else None,
        ahead=published.clock - taken_at.timestamp() if published and taken_at else 0.0,
        failure=watched.failure,
        summary=watched.summary,
    )
