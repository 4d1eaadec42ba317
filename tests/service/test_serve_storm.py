"""`latchscope serve` itself, killed again and again while it polls: the store then has everything that its writer took.
tests/service/test_crash.py does the same to the writer alone, and fast enough for every run of the tests.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.store.admin import problems
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.writer import Writer
from tests.service.noting import NOTED
from tests.service.running import STUCK, Running, serve
from tests.service.standin import becomes
from tests.service.stores import Place
from tests.service.test_crash import noted, stored

NAMES = ("undo-storm", "parse-storm", "busy-but-fine")
KILLS = {"sqlite": 200, "postgresql": 100}
FEWER = "LATCHSCOPE_TEST_KILLS"
"""The environment may ask for another number of kills."""
STARTS = 4
"""One kill in this many comes during the start, before it answers or polls."""


@contextmanager
def serving(place: Place, *, awaited: bool = True) -> Iterator[Running]:
    """`latchscope serve` over scripted databases, polled five times a second.

    The block kills it. The block begins once it polls, or with its start if nothing is `awaited`. Each start has another
    port: with PostgreSQL each replica has its own spool, and takes over that of a dead one.
    """
    databases = [{"name": name, "dsn": f"demo:{name}", "interval": "200ms"} for name in NAMES]
    before = len(noted(place))
    with serve(
        place.folder,
        databases=databases,
        store=place.url,
        spool={"directory": str(place.folder / "spool")},
        defaults={"budget": 1},
        environment={NOTED: str(place.folder / "polls.txt")},
        awaited=awaited,
    ) as running:
        if awaited:
            running.wait(lambda: len(noted(place)) > before)
        yield running


def finished(place: Place) -> Repository:
    """The store together with what the last end left in the spool, wherever below its folder."""
    store = Repository(place.url)
    for folder in {each.parent for each in (place.folder / "spool").rglob("*.poll")}:
        Writer(store, DiskQueue(folder, 2**30)).catch_up()
    return store


@pytest.mark.soak
def test_killed_service_loses_no_poll_but_those_in_flight(place: Place) -> None:
    kills = int(os.environ.get(FEWER, KILLS[place.kind]))
    chance = random.Random(17)
    for number in range(kills):
        with serving(place, awaited=number % STARTS != 0):
            time.sleep(chance.uniform(0, 1))
        if number % 10 == 9:
            print(f"{place.kind}: {number + 1} kills, {len(noted(place))} polls", flush=True)  # noqa: T201  as below
    left = set((place.folder / "spool").rglob("*.poll"))
    with serving(place) as running:
        becomes(
            lambda: not any(each.exists() for each in left), "what the last kill left in the spool is brought in", STUCK
        )
        running.stop()
        assert running.process.returncode == 0
    store = finished(place)
    assert list(problems(store.engine)) == [], "no gap, nothing twice, every roll-up the sum of its polls"
    lost = Counter(name for name, _ in set(noted(place)) - stored(place))
    assert all(lost[name] <= kills for name in NAMES), f"at most the poll in flight of each: {lost}"
    assert "Traceback" not in running.log.read_text(encoding="utf-8")
    print(f"{place.kind}: {kills} kills, {len(noted(place))} polls, lost in flight {dict(lost)}")  # noqa: T201  figures for `make soak`
    store.close()
