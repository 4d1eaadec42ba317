"""One run: each load is made, polled and diagnosed the way `latchscope serve` does it, and undone."""

import itertools
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType

from collectors.errors import CollectError, SessionError
from collectors.model import Delta, Snapshot
from collectors.oracle import ConnectTarget
from rules.model import Diagnosis
from service.config.logs import Audit
from service.config.settings import DatabaseSettings, OracleSettings
from service.selftest.result import LoadSeen, Polled, load_seen
from service.selftest.session import Leftover, Tally, WritingSession, code_of, log_on
from service.selftest.statements import (
    LEFTOVERS,
    LOGON,
    PLACE,
    SESSIONS,
    UPTIME,
    Load,
    LogOns,
    Repeated,
    changes_of,
)
from service.state.board import MonitoredDatabase, PollRecord
from service.watch.connect import Connector
from service.watch.follow_up import BlockerLook, FollowUp
from service.watch.worker import Worker

UNDO_SECONDS = 60.0
"""How long a drop is tried again while sessions of ours still end."""
AGAIN_SECONDS = 0.5
POLLS_IN_A_LOAD = 6
LEAST_POLLS = 4
"""Polls that must lie within a load: the first shows that something costs, and the next have samples of who waits."""
LONGEST = 5.0
"""How many times as long a load may run, if its polls are slow."""
FIRST_POLL_SECONDS = 30.0


class NotUndone(Exception):
    """Something that a run made is still there."""

    def __init__(self, left: Iterable[Leftover], why: str) -> None:
        listed = ", ".join(map(str, left)) or "what it made"
        super().__init__(
            f"{listed} could not be dropped: {why}; run `latchscope selftest --clean` with the same options"
        )


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C, SIGTERM and SIGHUP set. Nothing is interrupted, so that what was made is always undone."""
    asked = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watch:
    """The monitoring side: a worker as in the service, and the polls it made."""

    def __init__(self, database: DatabaseSettings, interval: float) -> None:
        """`interval`: seconds from poll to poll."""
        self.watched = MonitoredDatabase(database, interval)
        self.polls: list[Polled] = []
        follow_up = FollowUp(self.watched, BlockerLook(Audit()), confirms=True)
        self._worker = Worker(self.watched, Connector(OracleSettings()), self, follow_up=follow_up)

    def keep(self, snapshot: Snapshot, verdict: Diagnosis, poll_record: PollRecord | None = None) -> None:
        """Called by the main path with each good poll."""
        change = poll_record.change if poll_record else None
        examined = poll_record.examined if poll_record else None
        self.polls.append(
            Polled(
                snapshot=snapshot,
                change=change if isinstance(change, Delta) else None,
                diagnosis=examined.diagnosis if examined else verdict,
                at=time.monotonic(),
            )
        )

    def within(self, begin: float, end: float) -> list[Polled]:
        """The polls whose whole interval lies between two moments of time.monotonic()."""
        pairs = itertools.pairwise(list(self.polls))
        return [later for earlier, later in pairs if earlier.at >= begin and later.at <= end]

    def __enter__(self) -> "Watch":
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()
        self._worker.join(5.0)

    def wait_for_first(self, stop: threading.Event) -> None:
        """Wait for the first poll. Raises SessionError if it fails or does not come."""
        until = time.monotonic() + FIRST_POLL_SECONDS
        while not self.polls and not stop.wait(0.05):
            if self.watched.failure is not None:
                raise SessionError(f"the monitoring user cannot poll: {self.watched.failure.why}")
            if time.monotonic() > until:
                raise SessionError(f"the monitoring user got no poll in {FIRST_POLL_SECONDS:g} s")


class Work:
    """The threads of one load. Each has a session of its own."""

    def __init__(self, load: Load, target: ConnectTarget, password: str) -> None:
        self.tally = Tally()
        self._target = target
        self._password = password
        self._stop = threading.Event()
        self._numbers = itertools.count(2)
        self._sessions: list[WritingSession] = []
        self._threads = [
            threading.Thread(target=run, name=f"selftest-{load.name}-{place}", daemon=True)
            for place, run in enumerate(self._runs(load))
        ]

    def _runs(self, load: Load) -> Iterator[Callable[[], None]]:
        for part in load.work:
            if isinstance(part, Repeated):
                yield from itertools.repeat(partial(self._repeat, part), part.sessions)
            else:
                yield from itertools.repeat(partial(self._log_on, part), part.clients)

    def __enter__(self) -> "Work":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends every thread; a statement that still runs is cancelled."""
        self._stop.set()
        for session in list(self._sessions):
            session.cancel()
        until = time.monotonic() + UNDO_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _repeat(self, part: Repeated) -> None:
        while not self._stop.is_set():
            try:
                session = WritingSession(self._target)
            except CollectError as error:
                self._failed(error)
                continue
            self._sessions.append(session)
            try:
                self._send(session, part)
            finally:
                self._sessions.remove(session)
                session.close()

    def _send(self, session: WritingSession, part: Repeated) -> None:
        """Send the statements until the end, or until the session is lost."""
        while not self._stop.is_set():
            number = next(self._numbers)
            for change in part.changes:
                try:
                    session.make(change, number)
                    self.tally.count()
                except SessionError as error:
                    self._failed(error)
                    return
                except CollectError as error:
                    self._failed(error)
                if self._stop.is_set():
                    return

    def _log_on(self, part: LogOns) -> None:
        password = self._password if part.password == "right" else f"not_{self._password}"
        target = replace(self._target, user=LOGON, password=password)
        while not self._stop.is_set():
            try:
                log_on(target)
                self.tally.count()
            except CollectError as error:
                self._failed(error)

    def _failed(self, error: CollectError) -> None:
        """Count it, unless our own end caused it. The pause keeps a load that always fails from spinning."""
        if not self._stop.is_set():
            self.tally.count(error)
            self._stop.wait(0.02)


def run_load(load: Load, target: ConnectTarget, watch: Watch, seconds: float, stop: threading.Event) -> LoadSeen:
    """Make a load, keep it up for `seconds`, and undo it. Raises NotUndone if something is left, SessionError if none opens."""
    password = f"Aa1_{secrets.token_hex(12)}"
    work = Work(load, target, password)
    session = WritingSession(target)
    begin = end = time.monotonic()
    try:
        error = _prepare(load, session, password, stop)
        if error is None and not stop.is_set():
            with work:
                begin = time.monotonic()
                _last(seconds, begin, watch, stop)
                end = time.monotonic()
    finally:
        _undo(session, target)
    confirmed = {cause: one.value for cause, one in watch.watched.confirmed.items()}
    return load_seen(load, end - begin, work.tally, watch.within(begin, end), confirmed, error)


def _last(seconds: float, begin: float, watch: Watch, stop: threading.Event) -> None:
    """Wait until the load has lasted long enough and was polled often enough, or somebody stops it."""
    stop.wait(seconds)
    while len(watch.within(begin, time.monotonic())) < LEAST_POLLS and time.monotonic() < begin + LONGEST * seconds:
        if stop.wait(0.05):
            return


def _undo(session: WritingSession, target: ConnectTarget) -> None:
    """Drop everything, on another session if this one is lost. Raises NotUndone."""
    try:
        clean(session)
    except SessionError:
        session.close()
        try:
            session = WritingSession(target)
            clean(session)
        except CollectError as error:
            raise NotUndone([], code_of(error)) from None
    finally:
        session.close()


def _prepare(load: Load, session: WritingSession, password: str, stop: threading.Event) -> CollectError | None:
    """Make what a load needs. The error if the database refuses a statement."""
    made = tuple(made.change for made in load.made)
    for change in (*made, *load.also):
        if stop.is_set():
            return None
        try:
            session.make(change, password=password)
        except CollectError as error:
            return error
    return None


def clean(session: WritingSession) -> list[Leftover]:
    """Drop all that is there with our prefix; what it was. Sessions of ours may still end, so it tries for a minute.

    Raises NotUndone, or SessionError if the session is lost.
    """
    until, dropped, why = time.monotonic() + UNDO_SECONDS, dict[Leftover, None](), ""
    while left := session.leftovers():
        if time.monotonic() > until:
            raise NotUndone(left, why)
        for one in left:
            try:
                session.drop(one)
                dropped[one] = None
            except SessionError:
                raise
            except (CollectError, ValueError) as error:
                why = code_of(error)
        if why:
            time.sleep(AGAIN_SECONDS)
    return list(dropped)


def dry_run(loads: Iterable[Load]) -> Iterator[str]:
    """Every statement with its undo, as lines that are SQL and comments."""
    yield "-- {number} is a running number, {password} is made up for each run."
    yield "-- At the end, and after Ctrl-C or SIGTERM, the selftest drops everything below in the reverse order."
    for load in loads:
        yield f"\n-- {load.name}: {load.about}"
        for change in changes_of(load):
            yield f"{change.text}{'' if change.text.endswith(';') else ';'}"
            yield f"--   undo: {change.undo.removeprefix('-- ')}"
        for part in load.work:
            if isinstance(part, LogOns):
                yield f"-- {part.words}"
                yield "--   undo: nothing, their sessions end"
    yield "\n-- The safety checks only read. The first two run as --user, the others as --monitor-user."
    yield from (f"{sql};" for sql in (PLACE, LEFTOVERS, UPTIME, SESSIONS))
