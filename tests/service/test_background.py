"""Threads of ours: no death is silent, and none is for good."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from service import background
from service import background as module
from service.app import create_app
from service.background import AFTER_SCRAPE, PAUSE, CollectsAfterScrapes, SupervisedThread, ThreadMetrics
from service.config.settings import Settings
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Client
from tests.service.standin import becomes


class Frail:
    """Work that dies as often as a test asks, and then goes on until it is stopped."""

    def __init__(self, *deaths: BaseException | None) -> None:
        self.deaths = list(deaths)
        self.begun = 0
        self.stopped = threading.Event()
        self.die = threading.Event()

    def run(self) -> None:
        self.begun += 1
        if self.deaths:
            error = self.deaths.pop(0)
            if error is None:
                return
            raise error
        self.stopped.wait()


@pytest.fixture
def watched() -> Iterator[Callable[[Frail], SupervisedThread]]:
    made: list[tuple[Frail, SupervisedThread]] = []

    def thread(work: Frail, pause: float = 0.01) -> SupervisedThread:
        made.append((work, SupervisedThread("frail", work.run, first_pause=pause)))
        return made[-1][1]

    yield thread
    for work, each in made:
        each.stop()
        work.stopped.set()
        each.join(10)
        assert not each.alive


def told(thread: SupervisedThread) -> str:
    registry = CollectorRegistry()
    registry.register(ThreadMetrics(lambda: [thread]))
    return generate_latest(registry).decode()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(30, "Read-only file system"), "OSError: [Errno 30] Read-only file system"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(), "SystemExit"),
        (None, "it ended early"),
    ],
)
def test_thread_that_dies_is_started_anew_and_said(
    error: BaseException | None,
    line: str,
    watched: Callable[[Frail], SupervisedThread],
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Frail(error)
    thread = watched(work)
    thread.start()
    becomes(lambda: work.begun == 2, "it runs again")
    becomes(lambda: thread.trouble is None, "it is well again")
    assert thread.deaths == 1
    assert 'latchscope_thread_up{thread="frail"} 1.0' in told(thread)
    assert 'latchscope_thread_deaths_total{thread="frail"} 1.0' in told(thread)
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "the thread frail died and restarts in 0.01 s" in record.message and line in record.message


def test_death_is_told_while_the_thread_is_away(watched: Callable[..., SupervisedThread]) -> None:
    thread = watched(Frail(ValueError("bad")), pause=3600)
    assert thread.trouble is None, "it was never started"
    thread.start()
    becomes(lambda: thread.trouble, "it died")
    assert thread.trouble == "the thread frail died and restarts: ValueError: bad"
    assert ThreadMetrics(lambda: [thread]).trouble() == thread.trouble
    assert 'latchscope_thread_up{thread="frail"} 0.0' in told(thread)
    thread.stop()
    thread.join(10)
    assert not thread.alive, "a stop does not wait for the pause"
    assert thread.trouble is None, "a stopped thread is in no trouble"


def test_pause_doubles_while_it_dies_at_once_and_the_trace_is_logged_once(
    watched: Callable[..., SupervisedThread], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.5)
    thread = watched(Frail(*(KeyError("x") for _ in range(4))), pause=0.2)
    thread.start()
    becomes(lambda: thread.deaths == 4, "four deaths")
    said = [each.message.split(" in ")[1].split(":")[0] for each in caplog.records]
    assert said == ["0.2 s", "0.4 s", "0.5 s", "0.5 s"]
    assert [bool(each.exc_info) for each in caplog.records] == [True, False, False, False]


def test_readyz_and_metrics_tell_of_a_thread_of_the_service_that_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr("service.notify.feed.EpisodeFeed.look", lambda self: 1 / 0)
    app = create_app(Settings(store=f"sqlite:///{tmp_path}/store.db"))
    client = Client(app)

    def ask() -> tuple[str, str]:
        becomes(lambda: client.get("/readyz").status_code == 503, "not ready")
        return client.get("/readyz").json()["status"], client.get("/metrics").text

    async def run() -> tuple[str, str]:
        async with app.router.lifespan_context(app):
            return await asyncio.to_thread(ask)

    status, page = asyncio.run(run())
    assert status == "the thread episode feed died and restarts: ZeroDivisionError: division by zero"
    assert 'latchscope_thread_up{thread="episode feed"} 0.0' in page
    assert 'latchscope_thread_up{thread="store writer"} 1.0' in page
    up = {line.split('"')[1] for line in page.splitlines() if line.startswith("latchscope_thread_up{")}
    assert {"store writer", "hours and retention", "episode feed", "baselines", "fleet"} <= up


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

    monkeypatch.setattr(background, "AFTER_SCRAPE", 0.0)
    asyncio.run(scraped())
