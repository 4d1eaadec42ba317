"""When to poll: one worker per database, each with its own session, so that none waits for another."""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from collectors.errors import CredentialError, SessionError, SessionKept, SetupError, StartingError
from collectors.model import Cost
from collectors.ondemand.sampling import EVERY_SECONDS
from collectors.poll import Connection, Grouping
from service.state.board import Failure, MonitoredDatabase
from service.state.login_gate import LoginStopped
from service.state.replicas import LeasesLost
from service.watch.connect import ConnectionOpener, open_session
from service.watch.follow_up import HANG_INTERVAL, FollowUp
from service.watch.pipeline import PollContext, PollKeeper, run_poll
from service.watch.scheduler import EARLY_SECONDS, PollScheduler

# When to try again: by the class of the error, and less often if polls are expensive.

LONGEST_PAUSE = 60.0
STARTING_PAUSE = 3.0
SOON = 40
"""Attempts at the starting pause, about two minutes. Then the pauses grow, because a database may be gone for good."""
SLOWEST_INTERVAL = 600.0
FARTHEST_SECONDS = 0.25
"""No database is farther away than this. A statement that never takes less is slow itself."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What follows a failure: its kind, and seconds to wait. None if only an operator or a new password helps."""

    kind: str
    pause: float | None


def after_failure(error: Exception, in_a_row: int, jitter: Callable[[float, float], float] = random.uniform) -> Retry:
    """The pause for an error that is the `in_a_row`-th of its series (from 1)."""
    if isinstance(error, CredentialError):
        return Retry("credential", None)
    if isinstance(error, StartingError):
        return Retry("starting", min(LONGEST_PAUSE, STARTING_PAUSE * max(1.0, in_a_row / SOON)) * jitter(0.7, 1.3))
    if isinstance(error, SetupError):
        return Retry("setup", LONGEST_PAUSE)
    kind = "network" if isinstance(error, SessionError) else "bug"
    return Retry(kind, min(LONGEST_PAUSE, 2.0 ** min(in_a_row, 10)) * jitter(0.8, 1.0))


def interval_after(recent: Sequence[float], interval: float, budget: float) -> float:
    """Seconds until the next poll: the interval, or longer if the last two both took more than the budgeted share.

    One expensive poll may be our own doing: the first of a session, or fifty logins at one moment.
    """
    dear = min(recent[-2:]) if len(recent) > 1 else 0.0
    return max(interval, min(dear / budget, SLOWEST_INTERVAL))


def nearest(costs: Iterable[Cost], known: float = FARTHEST_SECONDS) -> float:
    """Seconds of a round trip to the database at most: the fastest statement, or `known` if that is less."""
    return min([known, *(cost.seconds / cost.round_trips for cost in costs if cost.round_trips)])


def felt(costs: Iterable[Cost], round_trip: float) -> float:
    """Seconds that the database worked on statements: their duration without the network.

    A distant database does no extra work, and the wait for our own turn is not in any cost.
    """
    return sum(max(0.0, cost.seconds - cost.round_trips * round_trip) for cost in costs)


def turn_of(name: str, earliest: float, interval: float) -> float:
    """The first moment from `earliest` on that belongs to this database, so that a fleet is not polled all at once."""
    return earliest + (crc32(name.encode()) / 2**32 * interval - earliest) % interval


def next_turn(name: str, now: float, pause: float) -> tuple[float, bool]:
    """When to poll next, and whether that is the database's own moment. Never sooner than the pause, never much later.

    A database moves to its own moment over a few polls, so a start or a takeover leaves no gap of two intervals.
    """
    turn, latest = turn_of(name, now + pause, pause), now + 1.25 * pause
    return (turn, True) if turn <= latest else (latest, False)


def next_poll(name: str, due: float, now: float, pause: float, in_turn: bool) -> tuple[float, bool]:
    """When to poll next after a poll with this due time that ended now, and whether that is the database's own moment.

    A late poll is not followed at once by the next. Where we have too much to do that holds for all alike, wherever their
    own moments are, so that all wait equally long.
    """
    planned, soonest = due + pause, now + pause / 2
    if planned < soonest:
        return soonest, False
    return (planned, True) if in_turn else next_turn(name, now, pause)


log = logging.getLogger("latchscope.loop")

LATE_SECONDS = 1.0
"""A poll that starts this much after its time is late. Then the reported interval is the real one."""
ROUND_TRIPS_KEPT = 240
"""Polls whose fastest statement shows how far away the database is: an hour at 15 s."""


class Worker:
    """Polls one database, in turns from a scheduler, until it is stopped.

    `step` is one attempt; tests call it directly.
    """

    def __init__(
        self,
        watched: MonitoredDatabase,
        opener: ConnectionOpener,
        keeper: PollKeeper,
        budget: float = 1.0,
        *,
        follow_up: FollowUp | None = None,
        holds: Callable[[], bool] = lambda: True,
        first: float | None = None,
        scheduler: PollScheduler | None = None,
        grouped: bool = True,
    ) -> None:
        """`follow_up`: what is asked between two polls; `holds`: whether the database is still ours to poll; `first`:
        time.monotonic() of the first poll, else at once; `scheduler`: the source of turns, else its own; `grouped`: whether
        views are read in groups.
        """
        self.watched = watched
        self._opener = opener
        self._keeper = keeper
        self._budget = budget
        self._follow_up = follow_up or FollowUp(watched)
        self._holds = holds
        self._scheduler = scheduler or PollScheduler()
        self._grouping = Grouping(watched.name) if grouped else None
        self._due = first or time.monotonic()
        self._asked_for = self._due
        """Moment that the current or next turn was requested for."""
        self._look_at = 0.0
        self._began: float | None = None
        self._in_turn = False
        self._hurried = False
        self._started = False
        self._stopping = False
        self._ended = threading.Event()
        self._connection: Connection | None = None
        self._failures = 0
        self._recent: list[float] = []
        self._round_trips: deque[float] = deque(maxlen=ROUND_TRIPS_KEPT)

    @property
    def name(self) -> str:
        """The name of its database."""
        return self.watched.name

    @property
    def suspect(self) -> bool:
        """Whether the last attempt failed."""
        return self._failures > 0

    def start(self) -> None:
        self._started = True
        self._scheduler.add(self, self._due)

    def stop(self) -> None:
        """Ask the worker to stop. It does not wait for a database that hangs."""
        self._stopping = True
        self._scheduler.hasten(self)

    def join(self, timeout: float) -> None:
        """Wait for the worker, for at most this long."""
        if self._started:
            self._ended.wait(timeout)

    @property
    def alive(self) -> bool:
        """Whether it still polls, or is about to end."""
        return self._started and not self._ended.is_set()

    def ask_for_samples(self) -> None:
        """Sample waiting sessions after the next poll, which runs at once unless the database is in a pause."""
        self._follow_up.ask_for_samples()
        if self._failures == 0:
            self._hurry()

    def resume_login(self) -> bool:
        """Try the same password once more, on an operator's request. False if login was not stopped."""
        stopped = self.watched.login.resume()
        if stopped:
            self._hurry()
        return stopped

    def _hurry(self) -> None:
        """Poll at once."""
        self._hurried = True
        self._scheduler.hasten(self)

    def take_turn(self) -> float | None:
        """Do the poll or the look that is due, or close. Returns time.monotonic() of the next one, None at the end."""
        now = time.monotonic()
        if not self._stopping:
            if self._hurried or min(now + EARLY_SECONDS, self._asked_for) >= self._due:
                self._poll(now)
            elif self._looking:  # also if the poll is due by now: a turn for a look is not a turn for a poll
                self._look(now)
        if self._stopping:
            self._drop()
            self._ended.set()
            return None
        self._asked_for = min(self._due, self._look_at) if self._looking else self._due
        return time.monotonic() if self._hurried else self._asked_for

    def _poll(self, began: float) -> None:
        self._hurried = False
        late, before = began - self._due, self._began
        pause = self.step()
        now = time.monotonic()
        if self._failures:
            self._due, self._in_turn, self._began = now + pause, False, None
            return
        self._due, self._in_turn = next_poll(self.name, self._due, now, pause, self._in_turn)
        self._began, self._look_at = began, now
        if late > LATE_SECONDS and before is not None:
            self.watched.pace = max(self.watched.pace, began - before)  # we have too much to do, and report it

    def step(self) -> float:
        """One attempt to poll. Returns the seconds until the next."""
        failed, first = self.watched.failure, self.watched.published is None
        try:
            if not self._holds():
                raise LeasesLost("another replica may poll it")
            if self._connection is None:
                self._connection = open_session(self.watched, self._opener)
            asked = self._follow_up
            beside = PollContext(
                asked.samples, asked.blockers, asked.rarely, asked.changed, self._holds, self._grouping
            )
            published = run_poll(self.watched, self._connection, self._keeper, beside)
        except LeasesLost as lost:
            log.info("%s: no longer polled from here: %s", self.watched.name, lost)
            self.stop()
            return self.watched.interval
        except LoginStopped as stopped:
            # In the words of the refusal, which are logged once. The first of a run says that no login was tried.
            return self._failed(CredentialError(stopped.why), str(stopped))
        except Exception as error:  # noqa: BLE001  a bug of ours must not end the watch over a database
            return self._failed(error)
        self._failures = 0
        if failed is not None:
            away = time.time() - failed.since
            lasted = f"{away / 60:.0f} min" if away >= 120 else f"{away:.0f} s"
            log.info("%s: answers again after %s", self.name, lasted, extra={"db": self.name, "event": "recovered"})
        elif first:
            release = published.snapshot.release
            log.info("%s: answers, Oracle %s", self.name, release, extra={"db": self.name, "event": "answers"})
        try:
            self._follow_up.after(published, self._connection)
        except SessionError:
            self._drop()
        costs = published.snapshot.costs.values()
        self._round_trips.append(nearest(costs))
        self._recent = [*self._recent[-1:], felt(costs, min(self._round_trips))]
        interval = min(self.watched.interval, HANG_INTERVAL) if self._follow_up.hangs else self.watched.interval
        self.watched.pace = interval_after(self._recent, interval, self._budget)
        return self.watched.pace

    @property
    def _looking(self) -> bool:
        """Whether waiting sessions are sampled until the next poll."""
        return self._follow_up.sampling and self._connection is not None

    def _look(self, now: float) -> None:
        """One sample. A late one is left out, so that an overloaded process samples less."""
        late, self._look_at = now - self._look_at, now + EVERY_SECONDS
        if late > EVERY_SECONDS or self._connection is None:
            return
        try:
            self._follow_up.sample(self._connection)
        except Exception as error:  # noqa: BLE001  as in step
            self._failed(error)
            self._hurried = True

    def _failed(self, error: Exception, untried: str = "") -> float:
        self._drop_unless_kept(error)
        self._follow_up.forget_samples()
        self._failures += 1
        retry = after_failure(error, self._failures)
        why = (
            str(error) if isinstance(error, SessionError) else f"{type(error).__name__} inside latchscope; see its log"
        )
        self.watched.polls[retry.kind] += 1
        before = self.watched.failure
        since = before.since if before else time.time()
        next_attempt = None if retry.pause is None else time.time() + retry.pause
        self.watched.failure = Failure(retry.kind, why, since, next_attempt)
        if before is None or before.why != why:
            trace = None if isinstance(error, SessionError) else error
            said = (before is None and untried) or why.removeprefix(f"{self.name}: ")
            about = {"db": self.name, "kind": retry.kind, "event": "failed"}
            log.warning("%s: %s (%s)", self.name, said, retry.kind, exc_info=trace, extra=about)
        return self.watched.interval if retry.pause is None else retry.pause

    def _drop_unless_kept(self, error: Exception) -> None:
        """Give the session up, unless a retry on it is cheaper than a login."""
        if not isinstance(error, SessionKept):
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._recent = None, []
            self._round_trips.clear()
