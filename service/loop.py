"""When: one worker per database, each with its own connection, so that none waits for another."""

import logging
import random
import threading
import time
from collections.abc import Callable

from collectors.errors import SessionError
from collectors.poll import Connection
from service.board import Failure, Watched
from service.pipeline import Keeper, turn

log = logging.getLogger("latchscope.loop")

Connect = Callable[[Watched], Connection]
LONGEST_PAUSE = 60.0


class Worker:
    """Polls one database until it is told to stop."""

    def __init__(self, watched: Watched, connect: Connect, keeper: Keeper) -> None:
        self.watched = watched
        self._connect = connect
        self._keeper = keeper
        self._stop = threading.Event()
        self._connection: Connection | None = None
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name=f"poll {watched.name}", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to stop; it does not wait for a database that hangs."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for the worker, at most so long."""
        self._thread.join(timeout)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            pause = self._attempt()
            due = time.monotonic() + pause if pause else max(due + self.watched.interval, time.monotonic())
            self._stop.wait(due - time.monotonic())
        self._drop()

    def _attempt(self) -> float | None:
        """One turn; seconds to pause after a failure, None after success."""
        try:
            if self._connection is None:
                self._connection = self._connect(self.watched)
            turn(self.watched, self._connection, self._keeper)
            self._failures = 0
            return None
        except SessionError as error:
            return self._failed("network", str(error))
        except Exception as error:
            # A bug of ours must not end the watch over a database; it is told once, not at every poll.
            if self._failures == 0:
                log.exception("bug while polling %s", self.watched.name)
            return self._failed("bug", f"{type(error).__name__} in latchscope; see the log")

    def _failed(self, kind: str, why: str) -> float:
        self._drop()
        self._failures += 1
        pause = min(LONGEST_PAUSE, 2.0**self._failures) * random.uniform(0.8, 1.2)
        since = self.watched.failure.since if self.watched.failure else time.time()
        self.watched.failure = Failure(kind, why, since, time.time() + pause)
        log.warning("%s: %s; next attempt in %.0f s", self.watched.name, why, pause)
        return pause

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
