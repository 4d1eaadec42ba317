"""The events of a database between two snapshots, described once. Every layout of a report is printed from it."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Self


@dataclass(frozen=True)
class Latch:
    """One latch; `seconds` slept."""

    name: str
    gets: int
    misses: int = 0
    sleeps: int = 0
    spin_gets: int = 0
    seconds: float = 0.0
    nowait: int = 0
    nowait_misses: int = 0


@dataclass(frozen=True)
class Source:
    """Sleeps of one latch by the places in the kernel that held it and that waited for it."""

    latch: str
    where: str
    sleeps: int
    waiter_sleeps: int
    nowait_misses: int = 0


@dataclass(frozen=True)
class Mutex:
    """Sleeps on mutexes of one kind at one place; `milliseconds` waited."""

    kind: str
    location: str
    sleeps: int
    milliseconds: int


@dataclass(frozen=True)
class Cache:
    """One dictionary cache, parent and subordinates together."""

    name: str
    gets: int
    usage: int
    misses: int = 0
    scans: int = 0
    scan_misses: int = 0
    modifications: int = 0
    cluster: tuple[int, int, int] | None = None
    """Cluster requests, conflicts and releases."""


@dataclass(frozen=True)
class Wait:
    """One wait event."""

    event: str
    waits: int
    seconds: float
    timeouts: int = 0
    wait_class: str = "Other"


@dataclass(frozen=True)
class Child:
    """One child latch, where the statistics level is ALL or the snapshot level 10."""

    name: str
    number: int
    gets: int
    misses: int
    sleeps: int
    spin_gets: int


@dataclass(frozen=True)
class Interval:
    """One database between two snapshots. Seconds are seconds; operating system times are centiseconds."""

    database: str
    release: str
    begin: datetime
    minutes: float
    db_time: float
    latches: tuple[Latch, ...]
    caches: tuple[Cache, ...]
    foreground: tuple[Wait, ...]
    background: tuple[Wait, ...] = ()
    sources: tuple[Source, ...] = ()
    mutexes: tuple[Mutex, ...] = ()
    children: tuple[Child, ...] = ()
    time_model: dict[str, float] = field(default_factory=dict)
    activity: dict[str, int] = field(default_factory=dict)
    host: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    startup: datetime = datetime(2025, 1, 4, 6, 12)  # noqa: DTZ001 – reports print the host's local time
    snaps: tuple[int, int] = (4711, 4712)
    cluster: bool = False
    container: bool = False
    cpus: int = 16

    @property
    def instance(self) -> str:
        """The instance's name: that of the database, in a cluster with its number."""
        return f"{self.database}1" if self.cluster else self.database

    @property
    def end(self) -> datetime:
        """When the second snapshot was taken."""
        return self.begin + timedelta(minutes=self.minutes)

    @property
    def seconds(self) -> float:
        """Length of the interval."""
        return self.minutes * 60

    @property
    def restarted(self) -> bool:
        """Whether the instance started between the snapshots."""
        return self.startup > self.begin

    @property
    def version(self) -> tuple[int, ...]:
        """The release as numbers."""
        return tuple(int(part) for part in self.release.split("."))

    def on(self, release: str, **changes: object) -> Self:
        """The same interval on another release, with other differences if given."""
        return replace(self, release=release, **changes)  # type: ignore[arg-type]
