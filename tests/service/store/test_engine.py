"""A new store is what the models say; engines, probes, and files that go or are damaged."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, select, text
from sqlalchemy.exc import OperationalError

from service.store import engine as module
from service.store.disk_queue import DiskQueue
from service.store.engine import (
    DATABASE_ERROR,
    Probe,
    StoreError,
    look_at_store,
    make_engine,
    passfile_trouble,
    stands_at,
    upgrade,
)
from service.store.migrations.to_0015 import NEWEST
from service.store.repository import Repository
from service.store.tables import METADATA, SNAPSHOTS
from service.store.writer import Writer
from tests.service.stage import Stage, write_poll
from tests.service.standin import becomes
from tests.service.stores import ENGINES, Place


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place that was never migrated."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Place(request.param, tmp_path, server, bare=True)
    yield made
    made.close()


@pytest.fixture
def engine(place: Place) -> Iterator[Engine]:
    made = create_engine(place.url)
    yield made
    made.dispose()


def no_partition(object: Any, name: str, kind: str, reflected: bool, compared: Any) -> bool:
    """PostgreSQL's partitions are not tables of the models, nor are those that a release before leaves for reading."""
    theirs = name == "alembic_version" or name.startswith("old_") or name.rpartition("_")[2].isdigit()
    return not (kind == "table" and reflected and compared is None and theirs)


def drift(engine: Engine) -> list[Any]:
    """How the tables differ from the models."""
    with engine.connect() as connection:
        options = {"compare_type": True, "include_object": no_partition}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, METADATA))


def test_upgrade_creates_what_the_models_say_and_later_adds_what_they_have_more(engine: Engine) -> None:
    upgrade(engine)
    assert set(inspect(engine).get_table_names()) == {*METADATA.tables, "alembic_version"}
    assert len(METADATA.tables) == 19 and drift(engine) == []
    with engine.begin() as connection:
        assert stands_at(connection) == [NEWEST]
        connection.exec_driver_sql("insert into snapshots values ('erp1', '2026-03-01 12:00:00+00', '\\x00')")
        connection.exec_driver_sql("alter table polls drop column commits")
    upgrade(engine)
    assert drift(engine) == []
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from snapshots").scalar() == 1


def test_upgrade_runs_once_when_processes_start_together(place: Place, engine: Engine) -> None:
    engines = [create_engine(place.url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, engines))
    for one in engines:
        one.dispose()
    assert set(inspect(engine).get_table_names()) == {*METADATA.tables, "alembic_version"}


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    with pytest.raises(StoreError, match="the extra `postgresql`") as error:
        Repository("postgresql+psycopg://u:geheim@h/db")
    assert "geheim" not in str(error.value) and "\n" not in str(error.value)


def test_passfile_that_the_client_ignores_is_named_and_not_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pgpass"
    url = f"postgresql+psycopg://latchscope@127.0.0.1:1/latchscope?passfile={file}"
    assert passfile_trouble(url) == f"the password file {file} cannot be read: No such file or directory"
    file.write_text("*:*:*:latchscope:word\n")
    file.chmod(0o444)
    assert "has mode 0444, so others may read it" in (passfile_trouble(url) or "")
    file.chmod(0o400)
    assert passfile_trouble(url) is None
    assert passfile_trouble("sqlite:///x.db") is None

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    assert passfile_trouble(url) == (
        f"the password file {file} cannot be read: Permission denied; give it to uid {os.getuid()}, with mode 0400"
    )

    def no_password(engine: object) -> None:
        raise OperationalError("", {}, Exception("fe_sendauth: no password supplied"))

    monkeypatch.setattr("service.store.repository.upgrade", no_password)
    url = f"postgresql+psycopg://latchscope@127.0.0.1:1/latchscope?passfile={tmp_path}/gone"
    with pytest.raises(StoreError) as raised:
        Repository(url)
    assert f"the password file {tmp_path}/gone cannot be read" in str(raised.value)
    assert "fe_sendauth" not in str(raised.value)
    with pytest.raises(StoreError, match="no password supplied; correct the setting `store`"):
        Repository("postgresql+psycopg://latchscope@127.0.0.1:1/latchscope")


def test_look_tells_how_a_store_stands_and_what_stops_a_start_without_the_password(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    file = tmp_path / "store.db"
    assert (look_at_store(url).usable, "the first start creates it" in look_at_store(url).said) == (True, True)
    assert not file.exists()
    engine = make_engine(url)
    upgrade(engine)
    steps = {
        NEWEST: (True, f"answers, can be written, schema {NEWEST}"),
        "0010": (True, f"schema 0010; the next start upgrades it to {NEWEST}"),
        "0006": (False, "was written by 0.1.0: start latchscope 0.2.0 once on it, then this version"),
        "9999": (False, "has schema 9999, which this latchscope does not know"),
    }
    for revision, (usable, said) in steps.items():
        with engine.begin() as connection:
            connection.execute(text("update alembic_version set version_num = :to"), {"to": revision})
        look = look_at_store(url)
        assert (look.usable, said in look.said) == (usable, True), look
    engine.dispose()
    file.write_bytes(b"no database" * 100)
    assert not look_at_store(url).usable and "file is not a database" in look_at_store(url).said
    for url, said in {
        f"sqlite:///{tmp_path}/none/s.db": f"there is no folder {tmp_path}/none; create it",
        "postgresql://u:tiger@127.0.0.1:1/d": "Connection refused; correct `store`, or start what it names",
    }.items():
        look = look_at_store(url)
        assert not look.usable and said in look.said and "tiger" not in f"{look}"
    assert look_at_store("sqlite://").usable


def test_store_that_hangs_is_asked_once_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    hangs, asked = threading.Event(), []

    def ask() -> bool:
        asked.append(1)
        hangs.wait()
        return True

    probe = Probe(ask)
    assert [probe.answers() for _ in range(3)] == [False, False, False]
    assert len(asked) == 1
    hangs.set()
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    becomes(probe.answers, "it answers again")


def test_of_many_callers_each_has_the_answer_to_its_question() -> None:
    """A question that began before the answer to the last one was taken made of that a no: uploads were answered 503."""
    probe = Probe(lambda: time.sleep(0.001) is None)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: probe.answers(), range(1_000)))


# A store whose file goes, or goes wrong, under a running latchscope: polls wait from the first doubt, and people hear why


def until(so: Callable[[], bool]) -> None:
    becomes(so, "it comes to that")


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
        return set(connection.scalars(select(SNAPSHOTS.c.taken_at)))


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


def pages_overwritten(file: Path, of: str = "diagnoses_by_severity") -> None:
    """Three pages of an index, which the way of a poll may never meet, or of a table that a start reads."""
    with sqlite3.connect(file) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        (page,) = connection.execute("pragma page_size").fetchone()
        leaves = "select pageno from dbstat where name = ? and pagetype = 'leaf'"
        numbers = [number for (number,) in connection.execute(leaves, (of,))]
    connection.close()
    assert numbers
    with file.open("r+b") as opened:
        for number in numbers[:3]:
            opened.seek((number - 1) * page)
            opened.write(b"\x5a" * page)


@pytest.mark.parametrize(
    ("at_once", "of"), [(10**8, "diagnoses_by_severity"), (0, "diagnoses_by_severity"), (0, "alembic_version")]
)
def test_damage_that_no_poll_meets_is_found_at_the_start(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, at_once: int, of: str
) -> None:
    """At once in a small file, and in the background in a large one. Whatever is damaged, the start goes on."""
    file = tmp_path / "store.db"
    stage.poll("undo-storm", 40)
    stage.keeper.write(f"sqlite:///{file}")
    pages_overwritten(file, of)
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
    write_poll(repository, published.snapshot, published.diagnosis)
    repository.engine.dispose()
    pages_overwritten(file)
    with pytest.raises(DATABASE_ERROR, match="malformed"), repository.engine.connect() as connection:
        connection.exec_driver_sql("select severity, 1 from diagnoses indexed by diagnoses_by_severity group by 1")
    taken = polls_of(stage, writer, 40)
    until(lambda: len(writer.spool) == len(taken))
    until(lambda: "is damaged (database disk image is malformed)" in (writer.trouble() or ""))


def test_table_that_is_missing_is_named(place: Place, stage: Stage, tmp_path: Path) -> None:
    repository = Repository(place.url)
    writer = Writer(repository, DiskQueue(tmp_path / "spool", 10 * 2**20))
    with repository.engine.begin() as connection:
        connection.exec_driver_sql("drop table polls")
    writer.start()
    taken = polls_of(stage, writer, 40, 42)
    until(lambda: "the store lacks a table (" in (writer.trouble() or ""))
    until(lambda: len(writer.spool) == len(taken))
    assert "polls" in (writer.trouble() or "")
    writer.stop(), repository.close()
