"""Whether a store answers. A store that hangs does not block the caller."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic

PATIENCE = 2.0
"""A store that has not answered after this many seconds counts as not answering."""


class Probe:
    """Asks in its own thread, one question at a time. A caller during a question that hangs gets the answer at once."""

    def __init__(self, ask: Callable[[], bool], patience: float | None = None) -> None:
        """`patience`: seconds, else PATIENCE."""
        self._ask = ask
        self._patience = patience
        self._lock = Lock()
        self._answered = Event()
        self._answered.set()
        self._answer = False
        self._began = 0.0

    def answers(self) -> bool:
        """Whether the store answers within its patience."""
        with self._lock:
            if self._answered.is_set():
                self._answered.clear()
                self._answer, self._began = False, monotonic()
                try:
                    Thread(target=self._look, name="store probe", daemon=True).start()
                except RuntimeError:  # there may be no more threads; then whoever asks waits for the store
                    self._look()
            rest = self._began + (PATIENCE if self._patience is None else self._patience) - monotonic()
        self._answered.wait(max(0.0, rest))
        return self._answered.is_set() and self._answer

    def _look(self) -> None:
        try:
            self._answer = self._ask()
        finally:
            self._answered.set()
