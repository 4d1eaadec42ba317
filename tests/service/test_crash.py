"""kill -9 at any moment, and a store that goes away:

it stays whole, and only the poll in flight is lost. The short forms always run; the long ones are 200 kills and five minutes
of outage.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from service.store.admin import problems
from service.store.disk_queue import DiskQueue
from service.store.repository import Repository
from service.store.tables import millis
from service.store.writer import Writer
from tests.oracle_standin.deadline import HANGS
from tests.service.crashing import NAMES
from tests.service.standin import becomes
from tests.service.stores import Place
from tests.started import Started


@contextmanager
def polling(place: Place, began: float) -> Iterator[None]:
    """The process, once its polls arrive. The block kills it."""
    before = len(noted(place))
    words = ("-m", "tests.service.crashing", place.url, str(place.folder), str(began))
    process = Started(*words, errors=place.folder / "stderr.txt")
    try:
        until = time.monotonic() + HANGS
        while len(noted(place)) < before + 4:
            said = (place.folder / "stderr.txt").read_text()
            assert process.poll() is None and time.monotonic() < until, f"it does not poll:\n{said}"
            time.sleep(0.02)
        yield
    finally:
        process.kill()
        process.wait(HANGS)


def noted(place: Place) -> list[tuple[str, int]]:
    """Every poll that a keeper has taken: database and milliseconds."""
    file = place.folder / "polls.txt"
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(name, millis(datetime.fromisoformat(at))) for name, at in lines]


def finished(place: Place) -> None:
    """The store is sound after a last start, which brings in the spool."""
    store = Repository(place.url)
    spool = DiskQueue(place.folder / "spool", 2**30)
    Writer(store, spool).catch_up()
    assert len(spool) == 0
    store.upkeep.sum_hours(datetime.now(UTC) + timedelta(days=400))
    store.close()
    sound(place)


def spooled(place: Place) -> int:
    """Polls that wait for the store."""
    return len(list((place.folder / "spool").glob("*.poll")))


def sound(place: Place) -> None:
    """The store has no gap, nothing twice, and every roll-up is the sum of its polls."""
    store = Repository(place.url)
    found = list(problems(store.engine))
    store.close()
    assert found == []


def stored(place: Place) -> set[tuple[str, int]]:
    rows = place.execute("select d.name, p.at from polls p join databases d on d.id = p.database_id")
    return {(name, at) for name, at in rows}


@pytest.mark.parametrize(
    "kills", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.soak)]
)
def test_killed_process_leaves_a_sound_store(place: Place, kills: int) -> None:
    chance = random.Random(kills)
    began = time.time()
    for _ in range(kills):
        with polling(place, began):
            time.sleep(chance.uniform(0, 0.7))
    finished(place)
    lost = Counter(name for name, at in set(noted(place)) - stored(place))
    assert all(lost[name] <= kills for name in NAMES), f"at most the poll in flight of each: {lost}"
    firsts = place.execute("select count(*) from polls where seconds is null")
    assert firsts == [(len(NAMES),)], "each restart continues from the last kept poll"
    assert place.execute("select count(*) from hours")[0][0] > 0
    print(f"{place.kind}: {kills} kills, {len(noted(place))} polls, lost in flight {dict(lost)}")  # noqa: T201  figures for `make soak`


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, pytest.param(300.0, marks=pytest.mark.soak)])
def test_outage_under_load_loses_nothing(place: Place, seconds: float) -> None:
    with polling(place, time.time()):
        with place.away():
            time.sleep(seconds)
            becomes(lambda: spooled(place), "polls wait in the spool")
            during = len(noted(place))
        waiting = spooled(place)
        becomes(lambda: len(noted(place)) > during + 20, "polls go on")
    finished(place)
    lost = Counter(name for name, at in set(noted(place)) - stored(place))
    assert all(lost[name] <= 1 for name in NAMES), f"nothing but what the kill at the end cost: {lost}"
    print(  # noqa: T201  figures for `make soak`
        f"{place.kind}: {seconds:g} s away, {waiting} polls in the spool, {len(noted(place))} polls, lost {dict(lost)}"
    )
