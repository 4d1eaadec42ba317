"""When: one worker per database, each with its own connection, so that none waits for another."""

import logging
import threading
import time
from typing import Protocol

from collectors.errors import SessionError, SetupError
from collectors.poll import Connection
from service.board import Failure, Watched
from service.pace import after_failure, interval_after, turn_of
from service.pipeline import Keeper, turn

log = logging.getLogger("latchscope.loop")


class Opener(Protocol):
    """Where sessions come from."""

    def open(self, watched: Watched) -> Connection:
        """A fresh session. Raises SessionError in the class of its cure."""
        ...

    def credential(self, watched: Watched) -> str:
        """A fingerprint of the credential in force. Raises SetupError."""
        ...


class Worker:
    """Polls one database until it is told to stop. `step` is one attempt; a test may call it in its own time."""

    def __init__(self, watched: Watched, opener: Opener, keeper: Keeper, budget: float = 1.0) -> None:
        self.watched = watched
        self._opener = opener
        self._keeper = keeper
        self._budget = budget
        self._wake = threading.Event()
        self._stopping = False
        self._connection: Connection | None = None
        self._failures = 0
        self._recent: list[float] = []
        self._tried: str | None = None
        self._refused: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"poll {watched.name}", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to stop; it does not wait for a database that hangs."""
        self._stopping = True
        self._wake.set()

    def join(self, timeout: float) -> None:
        """Wait for the worker, at most so long."""
        self._thread.join(timeout)

    def resume_login(self) -> bool:
        """Try the same credential once more, at an operator's word; False when login was not stopped."""
        stopped, self._refused = self._refused is not None, None
        if stopped:
            self._wake.set()
        return stopped

    def _run(self) -> None:
        due, in_turn = time.monotonic(), False
        while not self._stopping:
            pause = self.step()
            now = time.monotonic()
            if self._failures:
                due, in_turn = now + pause, False
            elif in_turn:
                due = max(due + pause, now)
            else:
                due, in_turn = turn_of(self.watched.name, now + pause, pause), True
            self._wake.wait(max(0.0, due - time.monotonic()))
            self._wake.clear()
        self._drop()

    def step(self) -> float:
        """One attempt to poll; seconds until the next."""
        try:
            if self._login_stopped():
                return self.watched.interval
            if self._connection is None:
                self._tried = self._opener.credential(self.watched)
                self._connection = self._opener.open(self.watched)
            published = turn(self.watched, self._connection, self._keeper)
        except Exception as error:  # noqa: BLE001  a bug of ours must not end the watch over a database
            return self._failed(error)
        self._failures, self._refused = 0, None
        self._recent = [*self._recent[-1:], published.driver_seconds]
        self.watched.pace = interval_after(self._recent, self.watched.interval, self._budget)
        return self.watched.pace

    def _login_stopped(self) -> bool:
        """Whether the credential in force is the one refused; one that cannot be read is no new one."""
        if self._refused is None:
            return False
        try:
            return self._opener.credential(self.watched) == self._refused
        except SetupError:
            return True

    def _failed(self, error: Exception) -> float:
        self._drop()
        self._failures += 1
        retry = after_failure(error, self._failures)
        if retry.kind == "credential":
            self._refused = self._tried
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

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._recent = None, []
