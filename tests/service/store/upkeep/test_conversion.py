"""A store of an older release: read where it is, moved in slices, and nothing lost whenever the process is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from service.store.check import problems
from service.store.figures.rows import OLD, Tier
from service.store.ingest.record import IngestRecord
from service.store.repository import Repository
from service.store.schema.old_tables import OldHours
from service.store.upkeep import conversion
from service.store.upkeep.conversion import convert_slice
from service.store.upkeep.rollup import roll_up
from tests.service.cli.test_store import filled, hour
from tests.service.stage import BEGAN
from tests.service.store.figures_in import FigureRow, figures_in
from tests.service.store.old_layout import as_of_old
from tests.service.store.queries.test_topics import DAY
from tests.service.stores import Place

__all__ = ["filled", "hour"]
TIERS: tuple[Tier, ...] = ("poll", "5m", "1h")
Everything = list[list[FigureRow]]


def everything(store: Repository) -> Everything:
    return [figures_in(store, tier) for tier in TIERS]


@pytest.fixture
def before(filled: Repository) -> Everything:
    """What the store holds, and then holds in the layout of an older release."""
    told = everything(filled)
    as_of_old(filled)
    assert old_rows(filled) == [len(tier) for tier in told]
    return told


def old_rows(store: Repository) -> list[int]:
    with store.engine.connect() as connection:
        return [connection.scalar(select(func.count()).select_from(OLD[tier])) or 0 for tier in TIERS]


def convert(store: Repository) -> Iterator[int]:
    while rows := convert_slice(store.engine, store.partitions, store.names):
        yield rows


def test_old_rows_answer_as_they_did(filled: Repository, before: Everything) -> None:
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_hours_move_in_slices_and_every_one_leaves_the_store_whole(
    filled: Repository, before: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "ITEMS", 7)
    rows = old_rows(filled)[2]
    moved = 0
    for slice in convert(filled):
        moved += slice
        assert old_rows(filled) == [*(len(tier) for tier in before[:2]), rows - moved]
        assert figures_in(filled, "1h") == before[2]
    assert moved == rows > 0
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []


def test_poll_that_comes_late_is_added_to_old_ones(
    filled: Repository, hour: list[IngestRecord], before: Everything, place: Place
) -> None:
    late = hour[5]
    at = int(late.at.timestamp() * 1000)
    number = filled.names.databases([late.database])[late.database]
    for table in ("old_deltas", "polls"):
        place.execute(f"delete from {table} where at = {at} and database_id = {number}")
    filled.write([late])
    roll_up(filled.engine, filled.partitions, filled.names, BEGAN + DAY)
    assert everything(filled) == before
    for _ in convert(filled):
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
from service.store.maintenance import Maintenance
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
PHASES = ["DISTINCT", "INTO figures_1h", "DELETE FROM old_hours", "commit"]


@pytest.mark.parametrize("phase", PHASES)
def test_conversion_that_is_killed_loses_nothing(
    filled: Repository, before: Everything, place: Place, phase: str
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, place.url, (BEGAN + DAY).isoformat(), phase],
        cwd=Path(__file__).parents[4],
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert everything(filled) == before
    for _ in convert(filled):
        pass
    with filled.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(OldHours)) == 0
    assert everything(filled) == before
    assert list(problems(filled.engine)) == []
