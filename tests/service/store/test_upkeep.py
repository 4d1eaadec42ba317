"""A store of an older release: read in place, moved in slices, and nothing lost whenever the process is killed."""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from sqlalchemy import func, select

from service.store import build, upkeep
from service.store.admin import problems
from service.store.build import Maintenance
from service.store.figures import OLD, Tier
from service.store.record import IngestRecord
from service.store.repository import Repository
from service.store.tables import OldHours
from service.store.upkeep import convert_slice, roll_up
from tests.oracle_standin.deadline import HANGS
from tests.service.cli.test_store import fill, hour
from tests.service.stage import BEGAN
from tests.service.store.figures_in import FigureRow, figures_in
from tests.service.store.old_layout import as_of_old
from tests.service.store.test_topics import DAY
from tests.service.stores import Place, Templates
from tests.started import Started

__all__ = ["hour"]
TIERS: tuple[Tier, ...] = ("poll", "5m", "1h")
Everything = list[list[FigureRow]]


def everything(store: Repository) -> Everything:
    return [figures_in(store, tier) for tier in TIERS]


def make_old(place: Place, hour: list[IngestRecord]) -> Everything:
    """Fill a store, and convert it to the layout of an older release. Returns its earlier content."""
    fill(place, hour)
    store = Repository(place.url)
    told = everything(store)
    as_of_old(store)
    assert old_rows(store) == [len(tier) for tier in told]
    store.close()
    return told


@pytest.fixture(scope="module")
def old_stores(
    hour: list[IngestRecord], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Templates[Everything]]:
    """An old store of each engine to copy, with its earlier content."""
    made = Templates(
        tmp_path_factory.mktemp("old"),
        lambda: request.getfixturevalue("postgres"),
        lambda place: make_old(place, hour),
    )
    yield made
    made.close()


@pytest.fixture
def before(place: Place, old_stores: Templates[Everything]) -> Everything:
    """The content of this test's store before its conversion to the layout of an older release."""
    return old_stores.put(place)


@pytest.fixture
def filled(place: Place, before: Everything) -> Iterator[Repository]:
    """The old store of this test, open."""
    store = Repository(place.url)
    yield store
    store.close()


def old_rows(store: Repository) -> list[int]:
    with store.engine.connect() as connection:
        return [connection.scalar(select(func.count()).select_from(OLD[tier])) or 0 for tier in TIERS]


def convert(store: Repository, monkeypatch: pytest.MonkeyPatch, items: int = 1000) -> Iterator[int]:
    """Move the rest, with this many items of a database per slice. Returns the rows of each slice."""
    monkeypatch.setattr(upkeep, "ITEMS", items)
    while rows := convert_slice(store.engine, store.partitions, store.names):
        yield rows


def test_old_rows_answer_as_they_did(filled: Repository, before: Everything) -> None:
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_hours_move_in_slices_and_every_one_leaves_the_store_whole(
    filled: Repository, before: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = old_rows(filled)[2]
    moved, slices = 0, 0
    for slice in convert(filled, monkeypatch, items=60):
        moved, slices = moved + slice, slices + 1
        assert old_rows(filled) == [*(len(tier) for tier in before[:2]), rows - moved]
        assert figures_in(filled, "1h") == before[2]
    assert moved == rows > 0 and slices > 4
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_poll_that_comes_late_is_added_to_old_ones(
    filled: Repository,
    hour: list[IngestRecord],
    before: Everything,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = hour[5]
    at = int(late.at.timestamp() * 1000)
    number = filled.names.databases([late.database])[late.database]
    for table in ("old_deltas", "polls"):
        place.execute(f"delete from {table} where at = {at} and database_id = {number}")
    filled.write([late])
    roll_up(filled.engine, filled.partitions, filled.names, BEGAN + DAY)
    assert everything(filled) == before
    for _ in convert(filled, monkeypatch):
        pass
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_poll_written_again_in_the_new_layout_counts_once(
    filled: Repository, hour: list[IngestRecord], before: Everything
) -> None:
    filled.write(hour[:6])
    roll_up(filled.engine, filled.partitions, filled.names, BEGAN + DAY)
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_old_figures_go_when_their_time_is_over(filled: Repository, before: Everything) -> None:
    filled.prune(BEGAN + 5 * DAY)
    assert old_rows(filled) == [0, len(before[1]), len(before[2])]
    filled.prune(BEGAN + 30 * DAY)
    assert old_rows(filled) == [0, 0, len(before[2])]
    filled.prune(BEGAN + 500 * DAY)
    assert old_rows(filled) == [0, 0, 0]


KILLED = """
import os, signal, sys
from sqlalchemy import event
from service.store.repository import Repository
from service.store.build import Maintenance
from datetime import datetime
from service.config.settings import HistorySettings
url, at, phase = sys.argv[1:]
store = Repository(url, HistorySettings(**dict.fromkeys(("polls", "five_minutes", "hourly", "snapshots", "diagnoses"), 3e9)))
def heard(connection, cursor, statement, *rest):
    if phase in statement:
        os.kill(os.getpid(), signal.SIGKILL)
event.listen(store.engine, "after_cursor_execute", heard)
event.listen(store.engine, "commit", lambda connection: heard(None, None, "commit"))
Maintenance(store).do(datetime.fromisoformat(at))
"""
PHASES = ["DISTINCT", 'into "figures_1h"', "DELETE FROM old_hours", "commit"]


ALSO_ON_POSTGRESQL = ('into "figures_1h"', "commit")
"""Before and after the rows of a slice are complete. The other phases are a soak form there."""


@pytest.mark.parametrize(
    ("place", "phase"),
    [
        *(("sqlite", phase) for phase in PHASES),
        *(
            pytest.param("postgresql", phase, marks=() if phase in ALSO_ON_POSTGRESQL else pytest.mark.soak)
            for phase in PHASES
        ),
    ],
    indirect=["place"],
)
def test_conversion_that_is_killed_loses_nothing(
    filled: Repository,
    before: Everything,
    place: Place,
    phase: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = tmp_path / "stderr.txt"
    killed = Started("-c", KILLED, place.url, (BEGAN + DAY).isoformat(), phase, errors=errors)
    assert killed.wait(HANGS) == -signal.SIGKILL, errors.read_text()
    assert everything(filled) == before
    for _ in convert(filled, monkeypatch):
        pass
    with filled.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(OldHours)) == 0
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


class Pauses:
    """The event that ends the service, but without waiting: it records the requested pauses, and polls during each."""

    def __init__(self, poll: Callable[[], None]) -> None:
        self.asked: list[float] = []
        self.clock = 0.0
        self._poll = poll

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> bool:
        self.asked.append(seconds)
        self.clock += seconds
        self._poll()
        return False


def test_polls_have_the_store_between_two_slices_as_long_as_a_slice_took(
    filled: Repository, before: Everything, hour: list[IngestRecord], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    later, other = iter(replace(record, at=record.at + DAY) for record in hour), Repository(place.url)
    pauses = Pauses(lambda: other.write([next(later)]))

    def slow(*store: Any) -> int:
        pauses.clock += 2.0
        return convert_slice(*store)

    monkeypatch.setattr(upkeep, "ITEMS", 7)
    monkeypatch.setattr(build, "convert_slice", slow)
    monkeypatch.setattr(time, "monotonic", lambda: pauses.clock)
    rows = old_rows(filled)[2]
    Maintenance(filled, cast(Event, pauses)).convert()
    monkeypatch.undo()
    other.close()
    assert pauses.asked == [2.0, 2.0], "5 s of a round have room for two slices of 2 s, and after each an equal pause"
    assert next(later).at == hour[2].at + DAY, "a poll was written in each pause"
    assert 0 < old_rows(filled)[2] < rows
    assert figures_in(filled, "1h") == before[2]
