"""The feed: one reader of the log for all listeners, from memory where possible, and never a gap."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.notify.feed import EpisodeFeed, TooManyListeners
from service.store.engine import StoreUnavailable
from service.store.episodes import LoggedChange
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.store.test_episodes import change, write


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(path: str) -> Iterator[Repository]:
    opened = Repository(path)
    yield opened
    opened.close()


def follow(feed: EpisodeFeed, position: int) -> list[LoggedChange]:
    """Everything after a position, as a listener reads it."""
    told: list[LoggedChange] = []
    while True:
        after = told[-1].seq if told else position
        remembered = feed.remembered(after)
        page = feed.read(after) if remembered is None else remembered
        if not page:
            return told
        told += page


def test_feed_memory_reaches_back_to_its_start_and_no_further(store: Repository) -> None:
    write(store, change(minutes=0), change(minutes=1))
    feed = EpisodeFeed(store.episode_log)
    assert feed.remembered(0) is None, "unknown before the first look"
    assert feed.look()
    write(store, change(minutes=2))
    assert feed.look() and not feed.look()
    assert feed.remembered(1) is None
    assert [one.seq for one in feed.remembered(2) or ()] == [3]
    assert feed.remembered(3) == []


def test_listener_far_behind_reads_the_rest_from_the_store(store: Repository) -> None:
    feed = EpisodeFeed(store.episode_log, recent=3)
    feed.look()
    for each in range(10):
        write(store, change(minutes=each))
        feed.look()
    assert [one.seq for one in feed.remembered(7) or ()] == [8, 9, 10]
    assert feed.remembered(6) is None
    for position in range(11):
        assert [one.seq for one in follow(feed, position)] == list(range(position + 1, 11)), position


def test_feed_wakes_at_once_for_own_changes_and_soon_for_others(
    store: Repository, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.notify.feed.LOOK_SECONDS_ALONE", 1.0)
    feed, woken = EpisodeFeed(store.episode_log), threading.Semaphore(0)
    other = Repository(path)
    with feed.listening(lambda: woken.release()):
        feed.start()
        assert woken.acquire(timeout=HANGS), "the first look wakes the listeners that came before it"
        for minute, writer in enumerate((store, other, store)):
            write(writer, change(minutes=minute))
            assert woken.acquire(timeout=HANGS), minute
            assert [one.seq for one in follow(feed, minute)] == [minute + 1]
        feed.stop()
        assert woken.acquire(timeout=HANGS), "listeners see the end"
    feed.join(HANGS)
    other.close()
    assert not feed.thread.alive


def test_feed_logs_a_failing_store_once_and_misses_nothing(
    store: Repository, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.notify.feed.LOOK_SECONDS", 0.01)
    feed, woken, asked = EpisodeFeed(store.episode_log), threading.Semaphore(0), threading.Semaphore(0)
    since = store.episode_log.since

    def gone(*_: int) -> list[LoggedChange]:
        asked.release()
        raise StoreUnavailable("no route to the store")

    with feed.listening(lambda: woken.release()):
        feed.start()
        assert woken.acquire(timeout=HANGS)
        monkeypatch.setattr(store.episode_log, "since", gone)
        write(store, change())
        for _ in range(3):
            assert asked.acquire(timeout=HANGS)
        monkeypatch.setattr(store.episode_log, "since", since)
        assert woken.acquire(timeout=HANGS)
        assert [one.seq for one in feed.remembered(0) or ()] == [1]
        feed.stop()
    feed.join(HANGS)
    assert caplog.text.count("no route to the store") == 1


def test_listeners_are_limited_and_their_places_are_freed(store: Repository) -> None:
    feed = EpisodeFeed(store.episode_log, most=2)

    def one() -> None: ...

    def two() -> None: ...

    with feed.listening(one):
        with feed.listening(two):
            with pytest.raises(TooManyListeners), feed.listening(lambda: None):
                pass
            assert feed.listeners == 2
        with pytest.raises(RuntimeError, match="broke"), feed.listening(two):
            raise RuntimeError("broke")
        assert feed.listeners == 1
    assert feed.listeners == 0
