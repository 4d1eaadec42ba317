"""RightOfWay: polls stand back while a scrape is answered, so that an overloaded process still answers it in time.

The page of two thousand databases takes a tenth of a second to put together, in many steps. Before each of them it would
wait until polls release the interpreter. Nothing is lost, because the processor computes all the while.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST = 0.5
"""Seconds that polls stand back at a stretch, because the reader of the answer may be slow."""
SHARE = 0.2
"""The most of all time that polls stand back, so that endless scrapes stop no poll."""


class RightOfWay:
    """Lets scrapes go first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._ahead = 0
        self._began = self._until = self._not_before = float("-inf")
        """When polls began to stand back, until when they do so at most, and when they may have to do so again."""

    @property
    def taken(self) -> bool:
        """Whether polls have to stand back now."""
        return self._clock() < self._until

    @contextmanager
    def first(self) -> Iterator[None]:
        """The caller goes first, and never waits for it."""
        with self._changed:
            self._ahead += 1
            now = self._clock()
            if self._ahead == 1 and now >= self._not_before:
                self._began, self._until = now, now + LONGEST
        try:
            yield
        finally:
            with self._changed:
                self._ahead -= 1
                if not self._ahead:
                    self._until = min(self._until, self._clock())
                    self._not_before = self._began + (self._until - self._began) / SHARE
                    self._changed.notify_all()

    def wait(self) -> None:
        """A poll stands back as long as it has to."""
        with self._changed:
            while self.taken:
                self._changed.wait(self._until - self._clock())
