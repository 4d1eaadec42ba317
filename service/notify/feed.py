"""The feed: one thread follows the log of episode changes and wakes every listener, however many there are.

A listener is a position in the log, not a queue. Recent changes are in memory once for all. A listener that is slow, or
comes back after a while, reads the rest from the store at its own pace, so nothing fills up and nothing is dropped.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.background import SupervisedThread
from service.store.engine import StoreUnavailable
from service.store.episodes import EpisodeLog, LoggedChange

log = logging.getLogger("latchscope.feed")

LOOK_SECONDS, LOOK_SECONDS_ALONE = 1.0, 15.0
"""How often the log is read for changes of other processes, and where there are none. Our own changes wake the thread at once."""
RECENT = 1000
PAGE = 500
MOST_LISTENERS = 100

Wake = Callable[[], None]


class TooManyListeners(Exception):
    """The maximum number of listeners is reached."""


class EpisodeFeed:
    """Follows the log from `start` on until `stop`."""

    def __init__(self, changes: EpisodeLog) -> None:
        self._log = changes
        self._recent: deque[LoggedChange] = deque(maxlen=RECENT)
        self._floor: int | None = None
        """Every change after this number is in `_recent`. None until the log was read once."""
        self._position = 0
        self._listeners: set[Wake] = set()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._trouble = False
        self.stopped = False
        self.thread = SupervisedThread("episode feed", self._run)
        changes.on_news.append(self._news.set)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Stop, and wake every listener so that it notices."""
        self.thread.stop()
        self.stopped = True
        self._news.set()
        self._wake()

    def join(self, timeout: float) -> None:
        """Wait for the thread, for at most this long."""
        self.thread.join(timeout)

    @contextmanager
    def listening(self, wake: Wake) -> Iterator[None]:
        """Call `wake`, from another thread, at every change. Raises TooManyListeners."""
        with self._lock:
            if len(self._listeners) >= MOST_LISTENERS:
                raise TooManyListeners
            self._listeners.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.discard(wake)

    def newest(self) -> int:
        """The number of the newest change. Raises StoreUnavailable."""
        return self._log.newest()

    def remembered(self, seq: int) -> list[LoggedChange] | None:
        """Changes after that number, from memory. None if memory does not reach that far back."""
        with self._lock:
            if self._floor is None or seq < self._floor:
                return None
            return [change for change in self._recent if change.seq > seq]

    def read(self, seq: int) -> list[LoggedChange]:
        """The next changes after that number, from the store. Raises StoreUnavailable."""
        return self._log.since(seq, PAGE)

    def _run(self) -> None:
        while not self.stopped:
            self._news.clear()
            try:
                if self.look():
                    self._wake()
                self._trouble = False
            except StoreUnavailable as error:
                if not self._trouble:
                    log.warning("the log of episode changes cannot be read, retrying: %s", error)
                self._trouble = True
            self._news.wait(LOOK_SECONDS if self._log.shared or self._trouble else LOOK_SECONDS_ALONE)

    def look(self) -> bool:
        """Read new changes. Returns whether to wake listeners. Raises StoreUnavailable."""
        if self._floor is None:
            self._position = self._log.newest()
            self._floor = self._position
            return True
        found = False
        while page := self._log.since(self._position, PAGE):
            with self._lock:
                for change in page:
                    if len(self._recent) == self._recent.maxlen:
                        self._floor = self._recent[0].seq
                    self._recent.append(change)
            self._position, found = page[-1].seq, True
        return found

    def _wake(self) -> None:
        with self._lock:
            wakes = list(self._listeners)
        for wake in wakes:
            wake()
