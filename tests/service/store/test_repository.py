"""The store: what goes in comes out, new verdicts are kept, and trouble is one line."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError, StatementError

from collectors.capture import dump_snapshot
from collectors.delta import between
from collectors.model import Delta, Missing, Rows, Snapshot
from rules.model import Diagnosis
from service.config.settings import HistorySettings
from service.store import upkeep
from service.store.engine import StoreError
from service.store.record import record_of
from service.store.repository import Repository
from service.store.tables import NaiveTime
from tests.service.stage import Stage, diagnoses, write_poll
from tests.service.stores import Place

KEEP_SNAPSHOTS = timedelta(seconds=HistorySettings().hourly)
KEEP_DIAGNOSES = timedelta(seconds=HistorySettings().diagnoses)


@pytest.fixture
def poll(stage: Stage) -> tuple[Snapshot, Diagnosis]:
    stage.poll_all(40, 42)
    published = stage["undo-storm"].published
    assert published is not None
    return published.snapshot, published.diagnosis


def test_snapshot_is_read_back_unchanged_once_and_only_with_a_time(
    store: Repository, poll: tuple[Snapshot, Diagnosis]
) -> None:
    snapshot, diagnosis = poll
    write_poll(store, snapshot, diagnosis)
    back = store.last_snapshot("undo-storm")
    assert back is not None
    assert (back.database, back.taken_at) == (snapshot.database, snapshot.taken_at)
    assert dump_snapshot(back) == dump_snapshot(snapshot)
    for view, reading in snapshot.readings.items():
        if isinstance(reading, Missing):  # not sampled, or not on this release; the reason comes back unchanged
            assert back.readings[view] == reading
            continue
        assert isinstance(reading, Rows)
        # v$instance.taken_at equals the time of the snapshot and is stored once.
        wanted = [{name: value for name, value in row.items() if name != "taken_at"} for row in reading.rows]
        assert list(back.rows(view)) == wanted, view
    write_poll(store, *poll)
    assert counts(store) == {"snapshots": 1, "diagnoses": 1}
    write_poll(store, replace(poll[0], taken_at=None), poll[1])
    assert counts(store) == {"snapshots": 1, "diagnoses": 1}


def test_absent_null_and_missing_values_survive_the_store(store: Repository, stage: Stage) -> None:
    stage.refused = {"undo-storm": ("v$undostat",)}
    published = stage.poll("undo-storm", at=40)
    rows = [{"stat_name": "A", "value": 1}, {"stat_name": "B"}, {"stat_name": "C", "value": None}]
    reading = Rows("v$sys_time_model", tuple(rows), ("one row was assumed",))
    snapshot = replace(published.snapshot, readings={**published.snapshot.readings, reading.view: reading})
    write_poll(store, snapshot, published.diagnosis)
    back = store.last_snapshot("undo-storm")
    assert back is not None
    assert back.read("v$sys_time_model") == reading
    assert back.read("v$undostat") == snapshot.read("v$undostat")


def test_last_snapshot_is_the_newest_of_its_database_and_a_delta_with_it_is_the_same(
    store: Repository, stage: Stage
) -> None:
    polls = {moment: stage.poll("undo-storm", at=moment) for moment in (40, 42, 44)}
    for moment in (42, 40):
        write_poll(store, polls[moment].snapshot, polls[moment].diagnosis)
    back = store.last_snapshot("undo-storm")
    assert back is not None and back.taken_at == stage.began + timedelta(seconds=42)
    assert store.last_snapshot("parse-storm") is None
    delta = between(back, polls[44].snapshot)
    assert isinstance(delta, Delta) and delta == polls[44].delta


def test_diagnoses_are_compressed_and_read_newest_first_also_those_of_an_older_release(
    store: Repository, poll: tuple[Snapshot, Diagnosis]
) -> None:
    snapshot, diagnosis = poll
    start, plain = datetime(2026, 3, 1, tzinfo=UTC), diagnosis.model_dump_json()
    calm = diagnosis.model_copy(update={"findings": ()})
    for seconds, told in ((0, diagnosis), (2, calm), (4, calm)):
        write_poll(store, replace(snapshot, taken_at=start + timedelta(seconds=seconds)), told)
    short = record_of(replace(snapshot, taken_at=start + timedelta(seconds=6)), calm, None, complete=False)
    assert short is not None
    store.write([short])
    assert counts(store) == {"snapshots": 4, "diagnoses": 3}
    kept = diagnoses(store, "undo-storm", start)
    assert [len(one.findings) for one in kept] == [0, 0, len(diagnosis.findings)], "newest first"
    assert kept[-1] == diagnosis
    assert diagnoses(store, "undo-storm", start + timedelta(days=1)) == []
    with store.engine.begin() as connection:
        size = "length" if connection.dialect.name == "sqlite" else "pg_column_size"
        assert connection.exec_driver_sql(f"select max({size}(body)) from diagnoses").scalar_one() < len(plain) / 2
        connection.execute(text("update diagnoses set body = :plain"), {"plain": plain})
    assert diagnoses(store, "undo-storm", start) == [diagnosis] * 3


def test_times_are_utc_and_a_naive_one_is_refused_or_logged(
    store: Repository, poll: tuple[Snapshot, Diagnosis]
) -> None:
    snapshot, diagnosis = poll
    assert snapshot.taken_at is not None
    kyiv = timezone(timedelta(hours=2))
    write_poll(store, replace(snapshot, taken_at=snapshot.taken_at.astimezone(kyiv)), diagnosis)
    back = store.last_snapshot("undo-storm")
    assert back is not None
    assert back.taken_at is not None
    assert (back.taken_at, back.taken_at.tzinfo) == (snapshot.taken_at, UTC)
    with pytest.raises(StatementError, match="no time zone"):
        diagnoses(store, "undo-storm", datetime(2026, 3, 1))  # noqa: DTZ001  the point of the test
    with pytest.raises(NaiveTime, match="no time zone"):
        write_poll(store, replace(snapshot, taken_at=snapshot.taken_at.replace(tzinfo=None)), diagnosis)
    assert counts(store)["snapshots"] == 1


def test_verdict_that_could_not_be_kept_is_kept_next_time(
    store: Repository, place: Place, poll: tuple[Snapshot, Diagnosis], caplog: pytest.LogCaptureFixture
) -> None:
    place.execute("alter table diagnoses rename to elsewhere")
    with pytest.raises(SQLAlchemyError, match="diagnoses"):
        write_poll(store, *poll)
    place.execute("alter table elsewhere rename to diagnoses")
    write_poll(store, *poll)
    assert counts(store) == {"snapshots": 1, "diagnoses": 1}


def test_prune_deletes_expired_rows_in_slices(
    store: Repository, poll: tuple[Snapshot, Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SLICE", 3)
    snapshot, diagnosis = poll
    now = datetime(2026, 3, 1, tzinfo=UTC)
    for hours in range(10):
        write_poll(store, replace(snapshot, taken_at=now - KEEP_SNAPSHOTS - timedelta(hours=hours)), diagnosis)
    write_poll(store, replace(snapshot, taken_at=now - KEEP_DIAGNOSES - timedelta(hours=1)), diagnosis)
    write_poll(store, replace(snapshot, taken_at=now), diagnosis)
    assert counts(store) == {"snapshots": 12, "diagnoses": 12}
    store.prune(now)
    assert counts(store) == {"snapshots": 3, "diagnoses": 1}, "the exact moment of retention is still inside"
    store.prune(now)
    assert counts(store) == {"snapshots": 3, "diagnoses": 1}


def test_sqlite_uses_the_write_ahead_log_and_is_not_reachable_without_its_file(tmp_path: Path) -> None:
    store, file = Repository(f"sqlite:///{tmp_path}/store.db"), tmp_path / "store.db"
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("pragma journal_mode").fetchone() == ("wal",)
    assert store.reachable()
    file.unlink()
    assert not store.reachable()
    store.close()


def test_store_is_reachable_until_its_tables_are_gone(store: Repository, place: Place) -> None:
    assert store.reachable()
    place.execute("alter table snapshots rename to elsewhere")
    assert not store.reachable()
    place.execute("alter table elsewhere rename to snapshots")
    assert store.reachable()


def counts(store: Repository) -> dict[str, int]:
    with store.engine.connect() as connection:
        return {
            name: connection.exec_driver_sql(f"select count(*) from {name}").scalar_one()
            for name in ("snapshots", "diagnoses")
        }


def newer(folder: Path) -> str:
    url = f"sqlite:///{folder}/newer.db"
    Repository(url).close()
    with sqlite3.connect(folder / "newer.db") as other:
        other.execute("update alembic_version set version_num = '9999'")
    other.close()
    return url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (lambda folder: "nonsense", "Could not parse"),
        (lambda folder: f"sqlite:///{folder}", "unable to open database file"),
        (lambda folder: f"sqlite:///{folder}/no/such/folder.db", "unable to open database file"),
        (newer, "which this latchscope does not know"),
        (lambda folder: "oracel://u:geheim@h/db", "oracel"),
        (lambda folder: "postgresql+psycopg://u:geheim@h:port/db", "its port is not a number"),
        (lambda folder: "postgresql+psycopg://u:ge@he:im@h/db", "store postgresql+psycopg://"),
        (lambda folder: "nodriver://h/db?password=geheim", "nodriver"),
        (lambda folder: "nodriver://h/db?password=x@geheim", "nodriver"),
    ],
)
def test_store_error_on_opening_is_one_line_without_the_password(tmp_path: Path, url: object, said: str) -> None:
    assert callable(url)
    with pytest.raises(StoreError) as refused:
        Repository(url(tmp_path))
    text = str(refused.value)
    assert text.startswith("store ") and said in text
    assert [word for word in ("\n", "geheim", "he:im") if word in text] == []
