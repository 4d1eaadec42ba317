"""When to poll: one worker per database, each with its own session, so that none waits for another."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from collectors.errors import CredentialError, SessionError, SessionKept, StatementError
from collectors.model import number
from collectors.ondemand.sampling import EVERY_SECONDS, Burst
from collectors.poll import Connection, Grouping
from rules.cause import catalogue
from rules.model import Severity
from service.config.audit import Audit
from service.state import confirmations
from service.state.board import Failure, MonitoredDatabase, Published
from service.state.leases import LeasesLost
from service.state.login_gate import LoginStopped
from service.watch.backoff import after_failure, felt, interval_after, nearest, next_poll
from service.watch.blocker_look import BlockerLook
from service.watch.connect import ConnectionOpener, open_session
from service.watch.pipeline import PollKeeper, run_poll
from service.watch.scheduler import PollScheduler

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
        confirms: bool = False,
        *,
        blockers: BlockerLook | None = None,
        holds: Callable[[], bool] = lambda: True,
        first: float | None = None,
        scheduler: PollScheduler | None = None,
        grouped: bool = True,
    ) -> None:
        """`holds`: whether the database is still ours to poll; `first`: time.monotonic() of the first poll, else at once;
        `scheduler`: the source of turns, else its own; `grouped`: whether views are read in groups."""
        self.watched = watched
        self._opener = opener
        self._keeper = keeper
        self._budget = budget
        self._confirms = confirms
        self._blockers = blockers or BlockerLook(Audit())
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
        self._burst: Burst | None = None
        self._asked = False
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
        self._asked = True
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
            if self._hurried or min(now, self._asked_for) >= self._due:
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
        try:
            if not self._holds():
                raise LeasesLost("another replica may poll it")
            if self._connection is None:
                self._connection = open_session(self.watched, self._opener)
            seen = self._burst.taken() if self._burst else None
            published = run_poll(
                self.watched,
                self._connection,
                self._keeper,
                seen=seen,
                blockers=self._blockers.found,
                holds=self._holds,
                grouping=self._grouping,
            )
        except LeasesLost as lost:
            log.info("%s: no longer polled from here: %s", self.watched.name, lost)
            self.stop()
            return self.watched.interval
        except LoginStopped as stopped:
            return self._failed(CredentialError(stopped.why))  # in the words of the refusal, which are logged once
        except Exception as error:  # noqa: BLE001  a bug of ours must not end the watch over a database
            return self._failed(error)
        self._failures = 0
        self._confirm_what_began(published)
        self._look_for_blockers(published)
        self._burst = self._next_burst(published)
        costs = published.snapshot.costs.values()
        self._round_trips.append(nearest(costs))
        self._recent = [*self._recent[-1:], felt(costs, min(self._round_trips))]
        self.watched.pace = interval_after(self._recent, self.watched.interval, self._budget)
        return self.watched.pace

    def _confirm_what_began(self, published: Published) -> None:
        """Run the confirming query of each trouble that just began, if the configuration wants it. A refusal is recorded."""
        if not self._confirms or self._connection is None:
            return
        for change in published.episode_changes:
            cause = catalogue().get(change.episode.cause)
            if change.what != "begin" or cause is None or cause.confirm is None:
                continue
            try:
                started, release = published.snapshot.startup_time, published.snapshot.release
                self.watched.confirmed[cause.id] = confirmations.run(cause, self._connection, started, release)
            except (StatementError, SessionError) as error:
                log.warning("%s: %s was not confirmed: %s", self.watched.name, cause.id, error)
                if isinstance(error, confirmations.ConfirmationRefused):
                    self.watched.confirmed[cause.id] = error.result
                if isinstance(error, SessionError):
                    self._drop_unless_kept(error)
                    return

    def _look_for_blockers(self, published: Published) -> None:
        """Find out who holds what sessions hang on. The next diagnosis shows it."""
        if self._connection is None:
            return
        try:
            instance = number(published.snapshot.instance.get("instance_number"))
            self._blockers.after(published.diagnosis, self._connection, instance=instance)
            self._blockers.warm(published.snapshot, self._connection)
        except SessionError as error:
            log.warning("%s: who holds what sessions hang on was not found: %s", self.watched.name, error)
            self._drop_unless_kept(error)

    def _next_burst(self, published: Published) -> Burst | None:
        """A burst of samples until the next poll, while the row cache costs something or somebody requested it."""
        asked, self._asked = self._asked, False
        costly = published.delta is not None and published.diagnosis.severity is not Severity.INFO
        return Burst(published.snapshot.release) if asked or costly else None

    @property
    def _looking(self) -> bool:
        """Whether waiting sessions are sampled until the next poll."""
        return self._burst is not None and not self._burst.spent and self._connection is not None

    def _look(self, now: float) -> None:
        """One look of the burst. A late one is left out, so that an overloaded process looks less."""
        late, self._look_at = now - self._look_at, now + EVERY_SECONDS
        if late > EVERY_SECONDS or self._burst is None or self._connection is None:
            return
        try:
            self._burst.look(self._connection)
        except Exception as error:  # noqa: BLE001  as in step
            self._failed(error)
            self._hurried = True

    def _failed(self, error: Exception) -> float:
        self._drop_unless_kept(error)
        self._burst = None
        self._failures += 1
        retry = after_failure(error, self._failures)
        why = (
            str(error) if isinstance(error, SessionError) else f"{type(error).__name__} inside latchscope; see its log"
        )
        before = self.watched.failure
        since = before.since if before else time.time()
        next_attempt = None if retry.pause is None else time.time() + retry.pause
        self.watched.failure = Failure(retry.kind, why, since, next_attempt)
        if before is None or before.why != why:
            trace = None if isinstance(error, SessionError) else error
            log.warning("%s: %s (%s)", self.watched.name, why, retry.kind, exc_info=trace)
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
