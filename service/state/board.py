"""The current state of every database: the only place that workers write to and that every output reads.

A worker replaces a database's `Published` as a whole, so a reader that fetches it once sees one consistent poll.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Lock

from collectors.model import ConfirmationResult, Delta, NotComparable, Snapshot
from rules.base import Confidence, Easing, LastingTrouble, Severity, State, worst
from rules.baseline import UsualRange
from rules.cache_map import CacheMap
from rules.changes import Change
from rules.engine import Examination
from rules.explain.headline import NO_CAUSE, NONE_JUDGED
from rules.explain.story import eased, screen
from rules.formatting import within
from rules.hangs.model import WaitingGroup
from rules.model import Diagnosis, Finding, Surface, Trouble
from rules.waiting_sessions import SURFACE_OF
from service.config.settings import DatabaseSettings
from service.state.episodes import (
    NOT_VERIFIED,
    Confirmed,
    Episode,
    EpisodeChange,
    Episodes,
    own_waits,
    still_counting,
    waits_left,
)
from service.state.login_gate import LoginGate

# The changes of a database that are known in memory: those of the last day, and those that the store does not have yet. Only the
# thread that polls the database adds to them; a reader gets one consistent tuple.

KEEP = timedelta(days=1)
MOST_KEPT = 500


class ChangeLog:
    """What changed on a database."""

    def __init__(self) -> None:
        self.changes: tuple[Change, ...] = ()
        """The last day's, oldest first."""
        self._new: tuple[Change, ...] = ()

    def add(self, found: Iterable[Change]) -> int:
        """Take in what was read, and count what was new. An event that was read before stays as it is."""
        new: list[Change] = []
        for change in found:
            if not any(change.same(known) for known in (*self.changes, *new)):
                new.append(change)
        if new:
            self._new = (*self._new, *new)
            self.restore((*self.changes, *new))
        return len(new)

    def restore(self, changes: Iterable[Change]) -> None:
        """Replace what is known, as by what the store has."""
        ordered = sorted(changes, key=lambda change: change.at)
        since = ordered[-1].at - KEEP if ordered else None
        self.changes = tuple(change for change in ordered if since and change.at >= since)[-MOST_KEPT:]

    def take_new(self) -> tuple[Change, ...]:
        """What was added since the last call, for the store."""
        new, self._new = self._new, ()
        return new


# A database in short, as the fleet shows it: its instance, its state and since when, what is wrong, and what is easing.


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """A database in short. Members with a default are missing in reports of older replicas."""

    release: str | None
    instance: str | None
    started_at: datetime | None
    mechanism: str | None
    severity: Severity
    headline: str
    state: State = "No data"
    since: datetime | None = None
    """When the trouble of the first finding began, see `_since`. None without one, and before a second poll shows it."""
    share_of_db_time: float | None = None
    waiting_sessions: float | None = None
    cause: str | None = None
    name: str | None = None
    """The name of the cause in a list."""
    title: str | None = None
    do_now: str | None = None
    do_not: str | None = None
    surface: Surface | None = None
    cache: str | None = None
    confidence: Confidence | None = None
    easing: Easing | None = None
    other_wait: str | None = None
    """The event that has most of DB time while the row cache costs little: the state is Elsewhere."""


def summary_of(snapshot: Snapshot, diagnosis: Diagnosis, lasting: Sequence[Episode]) -> DatabaseSummary:
    """The last poll in short. `lasting`: the open episodes."""
    instance = snapshot.instance.get("instance_name")
    impact, easing = diagnosis.impact, easing_of(diagnosis, lasting)
    left = easing if easing and (easing.waits or easing.missing) else None
    top = None if left else _first(diagnosis)
    severity = severity_with(diagnosis, easing)
    return DatabaseSummary(
        release=snapshot.release,
        instance=None if instance is None else str(instance),
        started_at=_started(snapshot),
        mechanism=diagnosis.mechanism,
        severity=severity,
        headline=with_easing(diagnosis.headline, easing),
        state=diagnosis.state if severity is diagnosis.severity else severity.state,
        since=_since(top, snapshot, diagnosis, lasting) if left is None else _begin(left, lasting),
        share_of_db_time=impact.share_of_db_time if impact else None,
        waiting_sessions=impact.waiting_sessions if impact else None,
        cause=top.cause if top else None,
        name=top.name if top else None,
        title=top.title if top else eased(left).title if left else None,
        do_now=top.do_now if top else eased(left).do if left else None,
        do_not=(top.do_not or None) if top else None,
        surface=top.surface if top else None,
        cache=top.cache if top else left.cache if left else None,
        confidence=top.confidence if top else None,
        easing=easing,
        other_wait=diagnosis.other_wait.event if diagnosis.state == "Elsewhere" and diagnosis.other_wait else None,
    )


def _begin(easing: Easing, lasting: Sequence[Episode]) -> datetime | None:
    return next((episode.begin for episode in lasting if episode.cause == easing.cause), None)


def _since(
    top: Finding | None, snapshot: Snapshot, diagnosis: Diagnosis, lasting: Sequence[Episode]
) -> datetime | None:
    episode = next((episode for episode in lasting if top is not None and episode.cause == top.cause), None)
    return since_when(episode, top, diagnosis.waiting, snapshot.taken_at) if episode is not None else None


def since_when(
    episode: Episode, finding: Finding | None, waiting: Sequence[WaitingGroup], taken_at: datetime | None
) -> datetime:
    """When the first poll showed a trouble. If sessions hang in it and the longest wait began earlier, that time."""
    if finding is None or taken_at is None:
        return episode.begin
    stuck = [group for group in waiting if group.hanging and SURFACE_OF[group.event] == finding.surface]
    longest = max((group.longest_seconds for group in stuck), default=0.0)
    return min(episode.begin, taken_at - timedelta(seconds=longest))


def _first(diagnosis: Diagnosis) -> Finding | None:
    """The first finding. It may cost nothing and only explain why the latch is busy."""
    return diagnosis.findings[0] if diagnosis.findings else None


def easing_of(diagnosis: Diagnosis, lasting: Sequence[Episode]) -> Easing | None:
    """The worst open trouble that a diagnosis no longer shows."""
    if diagnosis.basis is None:
        return None  # a poll without figures changes nothing
    shown = {finding.cause for finding in diagnosis.findings if finding.severity is not Severity.INFO}
    gone = [each for each in lasting if each.cause not in shown and not (shown and each.missing)]
    left = {episode.cause for episode in gone if waits_left(episode, diagnosis)} if not shown else set()
    first = max(
        gone, key=lambda each: (each.cause in left, each.missing is not None, each.peak_severity.rank), default=None
    )
    if first is None:
        return None
    return Easing(
        cause=first.cause,
        name=first.title,
        cache=first.cache,
        until=first.last_seen,
        waits=first.waits if first.cause in left and not strange(diagnosis, gone) else None,
        missing=first.missing,
        severity=first.severity if first.missing else None,
    )


def strange(diagnosis: Diagnosis, episodes: Sequence[Episode]) -> list[Trouble]:
    """Waits of a poll that no finding explains, and none of these episodes."""
    unexplained = (trouble for trouble in diagnosis.troubles if not trouble.causes)
    return [each for each in unexplained if not any(own_waits(each, episode) for episode in episodes)]


def severity_with(diagnosis: Diagnosis, easing: Easing | None) -> Severity:
    """Of the waits, and of a trouble that cannot be judged any more: what was not read is not fine."""
    return worst((diagnosis.severity, (easing and easing.severity) or Severity.INFO))


def with_easing(headline: str, easing: Easing | None) -> str:
    """The headline of a poll that no longer shows a storm. The storm may not be over."""
    if easing is None:
        return headline
    if easing.waits:
        for unexplained in (NO_CAUSE, NONE_JUDGED):
            headline = headline.partition(f"; {unexplained}")[0]
    return f"{eased(easing, f' until {easing.until:%H:%M:%S} UTC').title}; {within(headline)}"


def told_with(diagnosis: Diagnosis, easing: Easing) -> Diagnosis:
    """The diagnosis of a poll with what eases: said first, and named where its waits have no other cause."""
    severity = severity_with(diagnosis, easing)
    told = {"easing": easing, "headline": with_easing(diagnosis.headline, easing), "severity": severity}
    if severity is not diagnosis.severity:
        told["state"] = severity.state
    if not easing.waits or not diagnosis.chain or diagnosis.chain[-1].kind != "cause":
        return diagnosis.model_copy(update=told)
    last = diagnosis.chain[-1].model_copy(
        update={
            "name": within(easing.name),
            "measured": f"The last poll that shows this cause is of {easing.until:%H:%M:%S} UTC. Its waits "
            f"{'are falling' if easing.waits == 'falling' else 'go on'}, and no other cause is found for them.",
            "unknown": "whether it is over",
        }
    )
    return diagnosis.model_copy(update={**told, "chain": (*diagnosis.chain[:-1], last)})


def lasting_trouble(episode: Episode, earlier: int | None) -> LastingTrouble:
    """An episode in the form of a diagnosis."""
    members = {name: getattr(episode, name) for name in LastingTrouble.model_fields if hasattr(episode, name)}
    return LastingTrouble(name=episode.title, earlier=earlier, **members)


def _started(snapshot: Snapshot) -> datetime | None:
    if snapshot.taken_at is None or snapshot.uptime_seconds is None:
        return None
    return snapshot.taken_at - timedelta(seconds=snapshot.uptime_seconds)


# What a database lost in the last hour, by the minute: sixty numbers in memory, for a row of the fleet.

MINUTES = 60
LAST_HOUR = timedelta(minutes=MINUTES)
"""How far back a page looks: its charts, and the troubles, restarts and marks that it still shows."""


@dataclass
class LastHour:
    """Share of DB time lost by minute since 1970. The worker writes, the fleet page reads."""

    filled: bool = False
    """Whether it includes what was stored before this process started."""
    asked_at: float = float("-inf")
    """When the store was last read for it, by the monotonic clock, by any reader."""
    _minutes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Minute → the sum of share × seconds, and of the seconds."""
    _lock: Lock = field(default_factory=Lock)
    _drawn: tuple[int, tuple[float | None, ...]] | None = None
    """The last minute of `values`, and its result. None if a value was added since."""

    def add(self, at: float, seconds: float | None, share: float | None) -> None:
        """Add a poll at a time (Unix), over this many seconds. Without a figure it adds nothing."""
        if not seconds or share is None:
            return
        minute = int(at // 60)
        with self._lock:
            weighed, watched = self._minutes.get(minute, (0.0, 0.0))
            self._minutes[minute] = weighed + share * seconds, watched + seconds
            self._drawn = None
            for old in [each for each in self._minutes if each <= minute - 2 * MINUTES]:
                del self._minutes[old]

    def fill(self, kept: Mapping[int, float], *, anew: bool = False) -> None:
        """Load stored minutes that this process did not see. All minutes if it polls none (`anew`)."""
        read = {minute: (share, 1.0) for minute, share in kept.items()}
        with self._lock:
            self._minutes = read if anew else read | self._minutes
            self.filled, self._drawn = True, None

    def values(self, now: float) -> tuple[float | None, ...]:
        """The last sixty minutes, the current one last. None if unknown, which is never zero."""
        last = int(now // 60)
        with self._lock:
            if self._drawn is None or self._drawn[0] != last:
                minutes = [self._minutes.get(minute) for minute in range(last - MINUTES + 1, last + 1)]
                self._drawn = last, tuple(None if known is None else known[0] / known[1] for known in minutes)
            return self._drawn[1]


@dataclass(frozen=True)
class Published:
    """The outcome of one poll. `delta` is None before the second poll and across a restart."""

    snapshot: Snapshot
    delta: Delta | None
    map: CacheMap
    examined: Examination
    published_at: float
    """time.monotonic() of the publication."""
    clock: float
    """time.time() of the publication, for people and Prometheus."""
    render: Callable[[], Mapping[str, bytes]] = dict
    """Makes `blocks`."""
    episode_changes: tuple[EpisodeChange, ...] = ()
    """Changes of episodes by this poll. Empty if another replica polls."""
    poll_seconds: float = 0.0
    """Duration of the whole poll, our own work included."""

    @property
    def age(self) -> float:
        """Seconds since, by the clock that has run longer: one of them stands still while a machine sleeps, or is set back."""
        return max(0.0, time.monotonic() - self.published_at, time.time() - self.clock)

    @cached_property
    def blocks(self) -> Mapping[str, bytes]:
        """Metric family → its sample lines, made at the first scrape. Empty if another replica polls."""
        return self.render()

    @property
    def verdict(self) -> Diagnosis:
        """What is wrong and what it costs, without reasons: for every poll."""
        return self.examined.verdict

    @property
    def diagnosis(self) -> Diagnosis:
        """The complete diagnosis: its reasons are made when somebody asks."""
        return self.examined.diagnosis


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
    happened: tuple[Change, ...] = ()
    """Changes of the database that were read since the poll before."""
    examined: Examination | None = None
    """Makes the complete diagnosis when it is stored. None if the verdict is complete."""


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
    polls: Counter[str] = field(default_factory=Counter)
    """How often each outcome was met: ok, or the kind of failure."""
    published: Published | None = None
    failure: Failure | None = None
    episodes: Episodes = field(default_factory=Episodes)
    last_hour: LastHour = field(default_factory=LastHour)
    timeline: ChangeLog = field(default_factory=ChangeLog)
    """What changed on it during the last day."""
    confirmed: dict[str, Confirmed] = field(default_factory=dict)
    """Results of confirming queries by cause."""
    action_lock: Lock = field(default_factory=Lock)
    """Held by an action with its own session, so that a database never has more than two sessions."""
    login: LoginGate = field(default_factory=LoginGate)
    """Every login of this process on the database goes through it. Databases of one account share what it knows."""
    anew: bool = False
    """Whether the next poll judges its causes again, whatever the one before found: somebody asked, or set a mark."""
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
    def snapshot(self) -> Snapshot | None:
        """The last poll. None before the first."""
        return self.published.snapshot if self.published else None

    def confirmations(self) -> dict[str, ConfirmationResult]:
        """Results that are still valid: recent, and from this life of the instance."""
        return still_counting(self.confirmed, self.snapshot.startup_time if self.snapshot else None)

    @property
    def age(self) -> float | None:
        """Seconds since the last good poll, or None before the first."""
        published, report = self.published, self.peer_report  # once, for another thread may let go of them
        ages = [] if published is None else [time.monotonic() - published.published_at]
        if report is not None and report.polled_at is not None:
            ages.append(max(0.0, time.time() - report.polled_at))  # clocks of two hosts differ
        return min(ages, default=None)

    @property
    def up(self) -> bool:
        """Whether the last poll succeeded and is recent. Old values are not exported as new ones."""
        return self.up_at(self.age)

    def up_at(self, age: float | None) -> bool:
        """The same for those who have the age. A scrape asks it of a thousand databases."""
        return (
            self.failure is None
            and age is not None
            and age <= max(3 * max(self.interval, self.pace), self.interval + 5)
        )

    @property
    def settled(self) -> Published | None:
        """The last poll, if each problem that its causes were judged to be is an open episode, and no other is open."""
        known = self.published
        return known if known and self.episodes.settled(known.examined.judged) else None

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
            known = self.published, lasting, summary_of(self.published.snapshot, self.published.verdict, lasting)
            self._summed = known
        return known[2]

    def take(self, published: Published) -> None:
        """Store the result of a poll. It ends a failure before it. What cannot be put in short is not shown: pages of all
        databases would end by it."""
        delta, impact, lasting = published.delta, published.examined.told.impact, self.episodes.open
        seconds, share = delta.basis.seconds if delta else None, impact.share_of_db_time if impact else None
        self._summed = None  # the verdict of a gated poll is made when somebody asks
        if not published.examined.gated:
            self._summed = published, lasting, summary_of(published.snapshot, published.verdict, lasting)
        self.published, self.failure = published, None
        self.polls["ok"] += 1
        self.last_hour.add(published.clock, seconds, share)

    def forget(self) -> None:
        """Leave the known state to the store. Another replica continues."""
        self.published, self.failure, self.peer_report, self.pace = None, None, None, 0.0
        self.episodes, self.confirmed, self.timeline = Episodes(), {}, ChangeLog()


ReadRemote = Callable[[Sequence[MonitoredDatabase], bool], None]
"""Reads the state of databases that are polled elsewhere: all of them in short, or one in full."""


class Board:
    """Every watched database by name, in the order of the configuration. Reading it touches nothing but memory."""

    def __init__(self, watched: list[MonitoredDatabase]) -> None:
        self.by_name: Mapping[str, MonitoredDatabase] = {database.name: database for database in watched}
        """Replaced as a whole when the configuration is read again."""
        self._read_remote: ReadRemote | None = None

    def share(self, read_remote: ReadRemote) -> None:
        """Share the databases with other replicas: this process owns none until it claims it."""
        self._read_remote = read_remote
        self.watch(self)

    def watch(self, watched: Iterable[MonitoredDatabase]) -> None:
        """Watch these from now on. Who shares them owns none that is new until it claims it."""
        by_name = {database.name: database for database in watched}
        for database in by_name.values() if self._read_remote else ():
            database.owned = database.owned and database.polled_by is not None
        self.by_name = by_name

    def __iter__(self) -> Iterator[MonitoredDatabase]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def get(self, name: str) -> MonitoredDatabase | None:
        """The database of that name, or None."""
        return self.by_name.get(name)

    def judge_anew(self, name: str) -> None:
        """Have the next poll of a database judge its causes again."""
        if (watched := self.by_name.get(name)) is not None:
            watched.anew = True

    def own(self) -> Iterator[MonitoredDatabase]:
        """Those that this process polls."""
        return (database for database in self.by_name.values() if database.owned)

    def all_refreshed(self) -> list[MonitoredDatabase]:
        """Every database; what other replicas poll is read from the store first, in short. It may wait for the store."""
        elsewhere = [database for database in self.by_name.values() if not database.owned]
        if elsewhere and self._read_remote:
            self._read_remote(elsewhere, False)
        return list(self.by_name.values())

    def refreshed(self, name: str) -> MonitoredDatabase | None:
        """The database of that name, read from the store in full if another replica polls it. It may wait for the store."""
        found = self.by_name.get(name)
        if found is not None and not found.owned and self._read_remote:
            self._read_remote([found], True)
        return found


# Outages: a database that gives no figures for a while. It is news of its own kind, since nothing was diagnosed.

AT_LEAST_SECONDS = 120.0
MISSED_POLLS = 3
"""People hear of an outage after all of these, since a false alarm is worse than a late one."""
OUTAGE = "no-answer"
"""Where an episode has its cause. No cause of the catalogue has this id."""


def lasts(watched: MonitoredDatabase, now: datetime) -> bool:
    """Whether a database has failed for long enough that people should know."""
    failure = watched.failure
    bound = max(AT_LEAST_SECONDS, MISSED_POLLS * watched.interval)
    return failure is not None and now.timestamp() - failure.since >= bound


def outage_of(database: str, failure: Failure, now: datetime) -> Episode:
    """The news of a failure, in the form of an episode. Times are latchscope's, as the database tells none."""
    stopped = failure.next_attempt is None
    told = screen("login stopped" if stopped else "no answer", why=failure.why, database=database)
    return Episode(
        database=database,
        cause=OUTAGE,
        cache=None,
        title=told.title,
        begin=datetime.fromtimestamp(failure.since, UTC),
        last_seen=now,
        end=None,
        severity=Severity.WARNING,
        peak_severity=Severity.WARNING,
        peak_at=now,
        peak_share_of_db_time=None,
        headline=failure.why,
        do_now=told.do,
        do_not=told.do_not,
    )


def over(outage: Episode, end: datetime) -> Episode:
    """The news that it answers again."""
    return replace(outage, end=max(end, outage.begin), last_seen=end)


UNWATCHED = f"{NOT_VERIFIED}latchscope no longer watches the database"


def unwatched(lasting: Episode, end: datetime) -> Episode:
    """The news that it ends, because its database was taken out of the configuration or paused."""
    return replace(over(lasting, end), verdict=UNWATCHED)


# The answer of /readyz: whether the store takes polls, and whether this process keeps up with its databases.

LONG_QUEUE_SECONDS = 5.0
"""As in the alert LatchscopePollsQueue."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """`ready` is false only if another replica would do better. `status` is for people."""

    ready: bool
    status: str


def readiness(trouble: str | None, queue_seconds: float) -> Readiness:
    """`trouble`: of the store or of one of our threads.

    A database that is down does not make latchscope unready, nor do too many of them: polls go on, less often.
    """
    if trouble is not None:
        return Readiness(False, trouble)
    if queue_seconds > LONG_QUEUE_SECONDS:
        return Readiness(
            True,
            f"ok, but polls wait up to {queue_seconds:.0f} s for their turn, so every database is polled less often: share the "
            "databases with another replica, or set a longer defaults.interval",
        )
    return Readiness(True, "ok")
