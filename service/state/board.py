"""The current state of every database: the only place that workers write to and that every output reads.

A worker replaces a database's `Published` as a whole, so a reader that fetches it once sees one consistent poll.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from threading import Lock

from collectors.model import ConfirmationResult, Delta, NotComparable, Snapshot
from rules.baseline import UsualRange
from rules.cache_map import CacheMap
from rules.engine import diagnose
from rules.model import Diagnosis
from service.config.settings import DatabaseSettings
from service.state.confirmations import Confirmed, still_counting
from service.state.episodes import Episode, EpisodeChange, Episodes
from service.state.last_hour import LastHour
from service.state.login_gate import LoginGate
from service.state.summary import DatabaseSummary, summary_of


@dataclass(frozen=True)
class Published:
    """The outcome of one poll. `delta` is None before the second poll and across a restart."""

    snapshot: Snapshot
    delta: Delta | None
    map: CacheMap
    labels: CacheMap
    """The map that names metric series. A known name stays while the instance runs."""
    diagnosis: Diagnosis
    """The short form, while the verdict is unchanged. `whole` has its reasons."""
    published_at: float
    """time.monotonic() of the publication."""
    clock: float
    """time.time() of the publication, for people and Prometheus."""
    blocks: Mapping[str, bytes] = field(default_factory=dict)
    """Metric family → its sample lines, rendered once. Empty if another replica polls."""
    episode_changes: tuple[EpisodeChange, ...] = ()
    """Changes of episodes by this poll. Empty if another replica polls."""
    usual: Mapping[str, UsualRange] = field(default_factory=dict)
    """The usual figures at the time of the poll."""
    weighed_at: datetime | None = None
    """Time of the last whole diagnosis, by the database's clock. This poll's time if its diagnosis is whole."""
    poll_seconds: float = 0.0
    """Duration of the whole poll, our own work included."""

    @property
    def short(self) -> bool:
        """Whether the diagnosis is the short form."""
        return self.weighed_at != self.snapshot.taken_at

    @cached_property
    def whole(self) -> Diagnosis:
        """The diagnosis with all its reasons. It follows from the delta, so it is made on request."""
        if self.delta is None or not self.short:
            return self.diagnosis
        return diagnose(self.delta, usual=self.usual, caches=self.map)


@dataclass(frozen=True, slots=True)
class PollRecord:
    """The further input for the store from one poll, besides snapshot and diagnosis: change, usual figures, open episodes."""

    change: Delta | NotComparable
    previous: Snapshot | None = None
    episodes: tuple[Episode, ...] = ()
    """Open episodes, and those that this poll ended."""
    confirmed: tuple[Confirmed, ...] = ()
    episode_changes: tuple[EpisodeChange, ...] = ()
    """Changes of episodes by this poll, for notifications."""
    short: bool = False
    """Whether the diagnosis is the short form, which is not stored."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last poll gave nothing."""

    kind: str
    why: str
    since: float
    """time.time() of the first of the failures in a row."""
    next_attempt: float | None
    """time.time() of the next try. None if only an operator or a new password can bring one."""

    @property
    def code(self) -> str:
        """Oracle's or the driver's own code, e.g. ORA-01017; the kind if there is none."""
        found = re.search(r"\b(?:ORA|DPY|DPI)-\d+", self.why)
        return found.group() if found else self.kind


@dataclass(frozen=True, slots=True)
class PeerReport:
    """The latest state of a database from another replica."""

    polled_at: float | None
    """time.time() of the last good poll, by that replica's clock."""
    summary: DatabaseSummary | None


@dataclass
class MonitoredDatabase:
    """One database on the board."""

    settings: DatabaseSettings
    interval: float
    pace: float = 0.0
    """Current seconds between polls: the interval, or longer if polls are expensive; 0 before the first."""
    published: Published | None = None
    failure: Failure | None = None
    episodes: Episodes = field(default_factory=Episodes)
    last_hour: LastHour = field(default_factory=LastHour)
    confirmed: dict[str, Confirmed] = field(default_factory=dict)
    """Results of confirming queries by cause."""
    action_lock: Lock = field(default_factory=Lock)
    """Held by an action with its own session, so that a database never has more than two sessions."""
    login: LoginGate = field(default_factory=LoginGate)
    """Every login of this process on the database goes through it."""
    resume: Callable[[], Snapshot | None] = lambda: None
    """The last poll of an earlier run, read once. The first poll is compared with it."""
    usual: Callable[[datetime], Mapping[str, UsualRange]] = lambda at: {}
    """The usual figures at a time, as far as they are loaded."""
    polled_by: str | None = None
    """The replica that polls it. None while no replica does."""
    owned: bool = True
    """Whether this process polls it. If not, the other fields come from the store."""
    peer_report: PeerReport | None = None
    """The latest report of another replica."""
    ownership_lock: Lock = field(default_factory=Lock)
    """Held while `owned` changes, and while state from the store is written here."""
    _summed: tuple[Published, tuple[Episode, ...], DatabaseSummary] | None = None
    """The summary and its input. A fleet is drawn more often than polled."""

    @property
    def name(self) -> str:
        """The name in the configuration."""
        return self.settings.name

    @property
    def map(self) -> CacheMap:
        """Child latch → caches as the last poll has it; of no children before the first."""
        return self.published.map if self.published else CacheMap()

    @property
    def labels(self) -> CacheMap:
        """The same by the names that series go by."""
        return self.published.labels if self.published else CacheMap()

    def confirmations(self) -> dict[str, ConfirmationResult]:
        """Results that are still valid: recent, and from this life of the instance."""
        return still_counting(self.confirmed, self.published.snapshot.startup_time if self.published else None)

    @property
    def age(self) -> float | None:
        """Seconds since the last good poll, or None before the first."""
        ages = [] if self.published is None else [time.monotonic() - self.published.published_at]
        if self.peer_report is not None and self.peer_report.polled_at is not None:
            ages.append(max(0.0, time.time() - self.peer_report.polled_at))  # clocks of two hosts differ
        return min(ages, default=None)

    @property
    def up(self) -> bool:
        """Whether the last poll succeeded and is recent. Old values are not exported as new ones."""
        age = self.age
        return (
            self.failure is None
            and age is not None
            and age <= max(3 * max(self.interval, self.pace), self.interval + 5)
        )

    @property
    def current(self) -> Published | None:
        """The last publication, if it is still current."""
        return self.published if self.up else None

    @property
    def summary(self) -> DatabaseSummary | None:
        """The last publication in short, or a later report of another replica."""
        report = self.peer_report
        if self.published is None or (report and report.summary and (report.polled_at or 0.0) > self.published.clock):
            return report.summary if report else None
        lasting, known = self.episodes.open, self._summed
        if known is None or known[0] is not self.published or known[1] != lasting:
            known = self.published, lasting, summary_of(self.published.snapshot, self.published.diagnosis, lasting)
            self._summed = known
        return known[2]

    def take(self, published: Published) -> None:
        """Store the result of a poll. It ends a failure before it."""
        delta, impact = published.delta, published.diagnosis.impact
        seconds, share = delta.basis.seconds if delta else None, impact.share_of_db_time if impact else None
        self.published, self.failure = published, None
        self.last_hour.add(published.clock, seconds, share)

    def forget(self) -> None:
        """Leave the known state to the store. Another replica continues."""
        self.published, self.failure, self.peer_report, self.pace = None, None, None, 0.0
        self.episodes, self.confirmed = Episodes(), {}


RefreshRemote = Callable[[Sequence[MonitoredDatabase], bool], None]
"""Brings databases that are polled elsewhere up to date: all of them in short, or one in full."""


class Board:
    """Every watched database by name, in the order of the configuration."""

    def __init__(self, watched: list[MonitoredDatabase]) -> None:
        self._watched = {database.name: database for database in watched}
        self._refresh_remote: RefreshRemote = lambda elsewhere, whole: None

    def refresh_remote_with(self, follow: RefreshRemote) -> None:
        """Share the databases: this process owns none until it claims it, and reads of others go through `follow`."""
        self._refresh_remote = follow
        for watched in self._watched.values():
            watched.owned = False

    def __iter__(self) -> Iterator[MonitoredDatabase]:
        elsewhere = [database for database in self._watched.values() if not database.owned]
        if elsewhere:
            self._refresh_remote(elsewhere, False)
        return iter(self._watched.values())

    def every(self) -> Iterator[MonitoredDatabase]:
        """Every database in its state in this process, without reading the store."""
        return iter(self._watched.values())

    def own(self) -> Iterator[MonitoredDatabase]:
        """Those that this process polls."""
        return (database for database in self._watched.values() if database.owned)

    def __len__(self) -> int:
        return len(self._watched)

    def get(self, name: str) -> MonitoredDatabase | None:
        """The database of that name, or None."""
        found = self._watched.get(name)
        if found is not None and not found.owned:
            self._refresh_remote([found], True)
        return found
