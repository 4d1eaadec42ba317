"""Garbage is collected a second after a scrape, and seldom."""

import asyncio
from collections.abc import Callable

import pytest

from service import garbage
from service.garbage import AFTER_SCRAPE, PAUSE, CollectsAfterScrapes
from tests.oracle_standin.deadline import HANGS


class Stage:
    """Scrapes in simulated time. The event loop's clock is the simulated one too."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.collected: list[float] = []
        self.garbage = CollectsAfterScrapes(lambda: self.collected.append(self.now), lambda: self.now)

    def run(self, *, scrapes: int, every: float) -> list[float]:
        """Moments of collections, in seconds after the first scrape."""
        asyncio.run(self._scraped(scrapes, every))
        return [moment - 1000.0 for moment in self.collected]

    async def _scraped(self, scrapes: int, every: float) -> None:
        plans: list[tuple[float, Callable[[], object]]] = []
        loop = asyncio.get_running_loop()
        loop.call_later = lambda delay, do: plans.append((self.now + delay, do))  # type: ignore[assignment,method-assign]
        for number in range(scrapes):
            self.now = 1000.0 + number * every
            while plans and plans[0][0] <= self.now:
                due, do = plans.pop(0)
                last, self.now = self.now, due
                do()
                self.now = last
            self.garbage.scraped()


def test_collection_comes_a_second_after_a_scrape_and_at_most_once_a_minute() -> None:
    expected = [AFTER_SCRAPE + minute * PAUSE for minute in range(5)]
    assert Stage().run(scrapes=21, every=15.0) == expected


def test_scrapes_at_long_intervals_are_each_followed_by_one() -> None:
    assert Stage().run(scrapes=4, every=2 * PAUSE) == [AFTER_SCRAPE, 2 * PAUSE + AFTER_SCRAPE, 4 * PAUSE + AFTER_SCRAPE]


def test_collection_frees_what_polls_left_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: asyncio.Event

    class Circle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            freed.set()

    async def scraped() -> None:
        nonlocal freed
        freed = asyncio.Event()
        Circle()
        CollectsAfterScrapes().scraped()
        assert not freed.is_set()
        await asyncio.wait_for(freed.wait(), HANGS)

    monkeypatch.setattr(garbage, "AFTER_SCRAPE", 0.0)
    asyncio.run(scraped())
