"""A store whose file goes, or goes wrong, under a running latchscope: polls wait from the first doubt, and people hear why."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select

from service.store.engine import DATABASE_ERROR
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.tables import StoredSnapshot
from service.store.writer import Writer
from tests.service.stage import Stage
from tests.service.standin import becomes
from tests.service.stores import ENGINES, Place


def until(so: Callable[[], bool]) -> None:
    becomes(so, "it comes to that")


@pytest.fixture(params=ENGINES)
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place that no other test uses."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Place(request.param, tmp_path, server, bare=True)
    yield made
    made.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Repository, Writer, Path]]:
    """A store in a SQLite file, and its writer."""
    file = tmp_path / "store.db"
    repository = Repository(f"sqlite:///{file}")
    writer = Writer(repository, DiskQueue(tmp_path / "spool", 10 * 2**20))
    repository.check_file()
    writer.start()
    yield repository, writer, file
    writer.stop()
    repository.close()


def polls_of(stage: Stage, writer: Writer, *moments: float) -> set[datetime]:
    """These polls go to the writer, as a worker does it. Returns their times."""
    taken = set()
    for moment in moments:
        published = stage.poll("undo-storm", moment)
        writer.keep(published.snapshot, published.diagnosis)
        taken.add(cast(datetime, published.snapshot.taken_at))
    return taken


def kept_in(repository: Repository) -> set[datetime]:
    with repository.engine.connect() as connection:
        return set(connection.scalars(select(StoredSnapshot.taken_at)))


def moved_away(file: Path) -> None:
    for each in file.parent.glob("store.db*"):
        each.rename(each.with_name(f"old-{each.name}"))


def replaced(file: Path) -> None:
    copy = file.with_name("copy.db")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (moved_away, "is gone (No such file or directory)"),
        (lambda file: file.with_name("store.db-wal").unlink(), "its log"),
        (replaced, "was replaced by another one"),
        (lambda file: os.truncate(file, file.stat().st_size // 2), "was cut from"),
    ],
)
def test_polls_wait_in_the_spool_from_the_moment_a_store_goes(
    running: tuple[Repository, Writer, Path], stage: Stage, spoil: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    repository, writer, file = running
    before = polls_of(stage, writer, 40, 42)
    until(lambda: kept_in(repository) == before)
    spoil(file)
    after = polls_of(stage, writer, 44, 46, 48)
    until(lambda: told in (writer.trouble() or ""))
    until(lambda: len(writer.spool) >= len(after))  # and perhaps one that was just being written
    said = writer.trouble()
    assert said is not None and said.startswith("the store cannot be used: its ") and told in said, said
    assert f"; {len(writer.spool)} polls wait in the spool" in said and "start again" in said
    assert writer.spool.lost == 0
    writer.stop(), repository.close()
    for each in file.parent.glob("store.db*"):
        each.unlink()
    fresh = Repository(f"sqlite:///{file}")
    successor = Writer(fresh, DiskQueue(tmp_path / "spool", 10 * 2**20))
    successor.catch_up()
    assert kept_in(fresh) >= after and len(successor.spool) == 0, "nothing that came after it is lost"
    assert successor.trouble() is None
    successor.stop(), fresh.close()


def test_file_that_is_put_back_takes_what_waited(running: tuple[Repository, Writer, Path], stage: Stage) -> None:
    repository, writer, file = running
    before = polls_of(stage, writer, 40)
    until(lambda: kept_in(repository) == before)
    moved_away(file)
    after = polls_of(stage, writer, 42, 44)
    until(lambda: len(writer.spool) >= len(after))
    for each in file.parent.glob("old-store.db*"):
        each.rename(each.with_name(each.name.removeprefix("old-")))
    until(lambda: writer.trouble() is None and len(writer.spool) == 0)
    assert kept_in(repository) == before | after


def test_vacuum_is_no_trouble(running: tuple[Repository, Writer, Path], stage: Stage) -> None:
    repository, _, file = running
    with repository.engine.begin() as connection:
        connection.exec_driver_sql("create table ballast as select zeroblob(2000000) as body")
    with repository.engine.begin() as connection:
        connection.exec_driver_sql("drop table ballast")
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("pragma wal_checkpoint(truncate)")
    assert repository.reachable()
    size = file.stat().st_size
    other.execute("vacuum"), other.execute("pragma wal_checkpoint(truncate)")
    other.close()
    assert file.stat().st_size < size - 1_000_000 and repository.reachable()


def pages_overwritten(file: Path) -> None:
    """Three pages in the middle of the table of snapshots, which the way of a poll may never meet."""
    with sqlite3.connect(file) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        (page,) = connection.execute("pragma page_size").fetchone()
        leaves = "select pageno from dbstat where name = 'diagnoses_by_severity' and pagetype = 'leaf'"
        numbers = [number for (number,) in connection.execute(leaves)]
    connection.close()
    assert numbers
    with file.open("r+b") as opened:
        for number in numbers[:3]:
            opened.seek((number - 1) * page)
            opened.write(b"\x5a" * page)


@pytest.mark.parametrize("at_once", [10**8, 0])
def test_damage_that_no_poll_meets_is_found_at_the_start(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """At once in a small file, and in the background in a large one."""
    file = tmp_path / "store.db"
    stage.poll("undo-storm", 40)
    stage.keeper.write(f"sqlite:///{file}")
    pages_overwritten(file)
    monkeypatch.setattr("service.store.repository.CHECKED_AT_ONCE", at_once)
    damaged = Repository(f"sqlite:///{file}")
    writer = Writer(damaged, DiskQueue(tmp_path / "spool", 10 * 2**20))
    damaged.check_file()
    assert not at_once or (damaged.file is not None and damaged.file.damage)
    until(lambda: "is damaged" in (writer.trouble() or ""))
    writer.start()
    taken = polls_of(stage, writer, 42, 44)
    until(lambda: len(writer.spool) == len(taken))
    writer.stop(), damaged.close()


def test_sound_store_passes_the_check_which_a_stop_ends(tmp_path: Path) -> None:
    repository = Repository(f"sqlite:///{tmp_path}/store.db")
    file = repository.file
    assert file is not None and file.quick_check(lambda: False) and file.damage is None
    with repository.engine.begin() as connection:
        connection.exec_driver_sql(
            "insert into marks with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
            " select 'm' || i, 'erp', '2026-01-01', 'text', 'who' from n"
        )
    assert not file.quick_check(lambda: True) and file.damage is None, "what was not checked is not damaged"
    repository.close()


def test_error_that_tells_of_damage_makes_polls_wait(running: tuple[Repository, Writer, Path], stage: Stage) -> None:
    repository, writer, file = running
    with pytest.raises(DATABASE_ERROR), repository.engine.connect() as connection:
        connection.exec_driver_sql("select nothing_of_that_name")
    assert writer.trouble() is None, "an error of a statement is no damage"
    published = stage.poll("undo-storm", 30)
    repository.keep(published.snapshot, published.diagnosis)
    repository.engine.dispose()
    pages_overwritten(file)
    with pytest.raises(DATABASE_ERROR, match="malformed"), repository.engine.connect() as connection:
        connection.exec_driver_sql("select severity, 1 from diagnoses indexed by diagnoses_by_severity group by 1")
    taken = polls_of(stage, writer, 40)
    until(lambda: len(writer.spool) == len(taken))
    until(lambda: "is damaged (database disk image is malformed)" in (writer.trouble() or ""))


def test_table_that_is_missing_is_named(bare: Place, stage: Stage, tmp_path: Path) -> None:
    repository = Repository(bare.url)
    writer = Writer(repository, DiskQueue(tmp_path / "spool", 10 * 2**20))
    with repository.engine.begin() as connection:
        connection.exec_driver_sql("drop table figures")
    writer.start()
    taken = polls_of(stage, writer, 40, 42)
    until(lambda: "the store lacks a table (" in (writer.trouble() or ""))
    until(lambda: len(writer.spool) == len(taken))
    assert "figures" in (writer.trouble() or "")
    writer.stop(), repository.close()
