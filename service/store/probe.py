"""Whether a store answers, asked so that a store which hangs holds up nobody."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic

PATIENCE = 2.0
"""Seconds after which a store that has not answered is said not to answer."""


class Probe:
    """Asks in a thread of its own, one at a time: whoever comes while a question hangs is told at once that it hangs."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._answered = Event()
        self._answered.set()
        self._answer = False
        self._began = 0.0

    def answers(self) -> bool:
        """Whether the store answers within PATIENCE."""
        with self._lock:
            if self._answered.is_set():
                self._answered.clear()
                self._answer, self._began = False, monotonic()
                try:
                    Thread(target=self._look, name="store probe", daemon=True).start()
                except RuntimeError:  # there may be no more threads; then whoever asks waits for the store
                    self._look()
            rest = self._began + PATIENCE - monotonic()
        self._answered.wait(max(0.0, rest))
        return self._answered.is_set() and self._answer

    def _look(self) -> None:
        try:
            self._answer = self._ask()
        finally:
            self._answered.set()
