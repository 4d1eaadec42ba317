"""When Python collects garbage: rarely, and best a second after a scrape, because a collection stops every thread."""

import asyncio
import gc
import time
from collections.abc import Callable

AFTER_SCRAPE = 1.0
"""Seconds from a scrape's answer to the collection. The next scrape is then many seconds away."""
PAUSE = 60.0
"""Seconds between such collections. A process with 2,000 busy databases would collect on its own once in one or two minutes."""


def collect_rarely() -> None:
    """Objects from the start stay, and a poll replaces all of the one before, so garbage collection would find nothing."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class CollectsAfterScrapes:
    """Collects what is due anyway while no scrape waits.

    With 2,000 databases it takes 0.3 to 0.7 s: a scrape that meets it is late by so much.
    """

    def __init__(
        self, collect: Callable[[], object] = lambda: gc.collect(1), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._collect = collect
        self._clock = clock
        self._not_before = float("-inf")

    def scraped(self) -> None:
        """A scrape has been answered. Runs in the event loop, and only plans."""
        now = self._clock()
        if now >= self._not_before:
            self._not_before = now + PAUSE
            asyncio.get_running_loop().call_later(AFTER_SCRAPE, self._collect)
