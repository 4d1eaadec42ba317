"""PeriodicJob: one thread per job. Errors are logged once and retried in the next round."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event

from service.threads import SupervisedThread

log = logging.getLogger("latchscope.jobs")


class PeriodicJob:
    """Calls `do(now)` at this interval until it is stopped."""

    def __init__(
        self, name: str, every: float, do: Callable[[datetime], object], stopping: Event | None = None
    ) -> None:
        """`stopping`: an event that the work itself checks, if a round can be long."""
        self._name = name
        self._every = every
        self._do = do
        self._stopping = stopping or Event()
        self._last_error: str | None = None
        self.thread = SupervisedThread(name, self._run)

    def start(self) -> None:
        """Start. The first round comes after one pause."""
        self.thread.start()

    def stop(self) -> None:
        """Ask it to end after the current round; `join` waits for that."""
        self.thread.stop()
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Wait for the end, for at most this many seconds."""
        self.thread.join(timeout)

    def run_once(self, now: datetime) -> None:
        """One round. The first line of a repeated error is logged once."""
        try:
            self._do(now)
            self._last_error = None
        except Exception as error:  # noqa: BLE001  the store may be down; the next round tries again
            why = f"{type(error).__name__}: {str(getattr(error, 'orig', None) or error).splitlines()[0]}"
            if why != self._last_error:
                log.warning("%s: not done: %s", self._name, why)
            self._last_error = why

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            self.run_once(datetime.now(UTC))
