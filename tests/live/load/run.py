"""One run: each load is made, polled and diagnosed the way `latchscope serve` does it, and undone."""

import itertools
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType

from collectors.errors import CollectError, SessionError, StatementError
from collectors.model import Delta, Snapshot
from collectors.oracle import ConnectTarget
from rules.model import Diagnosis
from service.config.logs import Audit
from service.config.settings import DatabaseSettings, OracleSettings
from service.state.board import MonitoredDatabase, PollRecord
from service.watch.connect import Connector
from service.watch.follow_up import BlockerLook, FollowUp
from service.watch.worker import Worker
from tests.live.load.result import Polled, load_seen
from tests.live.load.session import Leftover, WritingSession, code_of, log_on
from tests.live.load.statements import LOGON, Load

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
            f"{listed} could not be dropped: {why}; run `make test-live-load CLEAN=1` with the same variables"
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
        follow_up = FollowUp(self.watched, BlockerLook(Audit()))
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
        self.counts: Counter[str] = Counter()
        """Statements and logons that ended well, and those that failed, by code."""
        self._counting = threading.Lock()
        self._target = target
        self._stop = threading.Event()
        self._numbers = itertools.count(2)
        self._sessions: list[WritingSession] = []
        works = [partial(self._send, texts) for sessions, texts in load.sends for _ in range(sessions)]
        for clients, known in ((load.right, password), (load.wrong, f"not_{password}")):
            works += [partial(self._log_on, replace(target, user=LOGON, password=known))] * clients
        self._threads = [threading.Thread(target=self._again, args=(work,), daemon=True) for work in works]

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

    def _again(self, work: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                work()
            except CollectError as error:
                self._failed(error)

    def _send(self, texts: tuple[str, ...]) -> None:
        """Send the statements until the end. Raises SessionError if the session is lost."""
        session = WritingSession(self._target)
        self._sessions.append(session)
        try:
            while not self._stop.is_set():
                number = next(self._numbers)
                for text in texts:
                    try:
                        session.make(text, number)
                        self._count("done")
                    except StatementError as error:
                        self._failed(error)
                    if self._stop.is_set():
                        return
        finally:
            self._sessions.remove(session)
            session.close()

    def _log_on(self, target: ConnectTarget) -> None:
        log_on(target)
        self._count("done")

    def _count(self, what: str) -> None:
        with self._counting:
            self.counts[what] += 1

    def _failed(self, error: CollectError) -> None:
        """Count it, unless our own end caused it. The pause keeps a load that always fails from spinning."""
        if not self._stop.is_set():
            self._count(code_of(error))
            self._stop.wait(0.02)


def run_load(
    load: Load, target: ConnectTarget, watch: Watch, seconds: float, stop: threading.Event
) -> dict[str, object]:
    """Make a load, keep it up for `seconds`, and undo it. Raises NotUndone if something is left, SessionError if none opens."""
    password = f"Aa1_{secrets.token_hex(12)}"
    work = Work(load, target, password)
    session = WritingSession(target)
    begin = end = time.monotonic()
    refused: str | None = None
    try:
        for text in load.makes:
            if not stop.is_set():
                session.make(text, password=password)
        if not stop.is_set():
            with work:
                begin = time.monotonic()
                _last(seconds, begin, watch, stop)
                end = time.monotonic()
    except CollectError as error:
        refused = code_of(error)
    finally:
        _undo(session, target)
    return load_seen(load.causes, watch.within(begin, end), work.counts, refused)


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
