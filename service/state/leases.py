"""What it means to share databases: a lease is the right to poll one, and a fleet is whoever may hold leases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol


class LeasesLost(Exception):
    """What held the leases is gone, and all of them with it."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One latchscope of several. `id` is of its session and empty while it has none."""

    id: str
    name: str
    url: str | None


class Lease:
    """The right to poll one database, until it is given back or lost. One object per term: a later one is another."""

    def __init__(self, database: str, holds: Callable[["Lease"], bool]) -> None:
        self.database = database
        self._holds = holds

    def held(self) -> bool:
        """Whether it still holds, asked of whoever grants it."""
        return self._holds(self)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who lives, and who holds which database. A database without an owner is free; an unknown owner is None."""

    replicas: tuple[Replica, ...]
    owners: Mapping[str, Replica | None]


class Leases(Protocol):
    """Where leases come from."""

    me: Replica
    alone: bool
    """Whether nobody else can hold any."""

    def look(self, databases: Iterable[str]) -> Ownership:
        """The fleet as it is now; this replica is part of it. Raises LeasesLost."""
        ...

    def take(self, names: Sequence[str]) -> Sequence[Lease]:
        """Leases on those of the databases that nobody else holds. Raises LeasesLost."""
        ...

    def give(self, lease: Lease) -> None:
        """Let others have it."""
        ...

    def acting(self, database: str) -> AbstractContextManager[bool]:
        """Whether a second session may be opened on a database until the block ends. Raises LeasesLost."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class SoleLeases:
    """Leases of the one process that has a store of its own: everything is its."""

    alone = True

    def __init__(self, name: str) -> None:
        self.me = Replica("sole", name, None)
        self._held: dict[str, Lease] = {}

    def look(self, databases: Iterable[str]) -> Ownership:
        """This process alone."""
        return Ownership((self.me,), dict.fromkeys(self._held, self.me))

    def take(self, names: Sequence[str]) -> tuple[Lease, ...]:
        """Every one."""
        self._held |= {name: Lease(name, lambda _: True) for name in names if name not in self._held}
        return tuple(self._held[name] for name in names)

    def give(self, lease: Lease) -> None:
        """Forget it."""
        self._held.pop(lease.database, None)

    def acting(self, database: str) -> AbstractContextManager[bool]:
        """Nobody else could be acting."""
        return nullcontext(True)

    def close(self) -> None:
        """Nothing to give back to anybody."""
