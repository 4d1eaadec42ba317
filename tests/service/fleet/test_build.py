"""A restart continues: the first poll has an interval, a trouble goes on, a confirmation still counts."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.model import Delta
from service.config.settings import DatabaseSettings
from service.fleet import build as module
from service.fleet.build import resume
from service.state.board import Board, MonitoredDatabase
from service.state.episodes import Confirmed
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.writer import Writer
from tests.service.stage import Stage

DB = "undo-storm"


def restarted(stage: Stage, store: Repository, folder: Path) -> MonitoredDatabase:
    """The board of a new process over the same store."""
    stage.board = Board([MonitoredDatabase(DatabaseSettings(name=DB, dsn=f"demo:{DB}"), 2.0)])
    writer = Writer(store, DiskQueue(folder / "spool", 2**20))
    writer.catch_up()
    resume(stage.board, store, writer)
    return stage[DB]


def test_first_poll_after_a_restart_has_an_interval_says_so_and_the_open_episode_continues(
    store: Repository, stage: Stage, tmp_path: Path
) -> None:
    stage.keeper = store  # type: ignore[assignment]
    for moment in (40, 42, 44):
        stage.poll(DB, moment)
    (before,) = stage[DB].episodes.open
    assert store.episodes.open() == (before,)
    watched = restarted(stage, store, tmp_path)
    assert watched.episodes.open == (before,)
    published = stage.poll(DB, 60)
    assert isinstance(published.delta, Delta) and published.delta.basis.seconds == 16
    assert any("did not watch between 2026-03-01 12:00:44" in note for note in published.diagnosis.notes)
    (after,) = watched.episodes.open
    assert after.begin == before.begin and after.last_seen > before.last_seen
    assert [change.what for change in published.episode_changes if change.what == "begin"] == []
    assert len(store.episodes.between(None, stage.began, after.last_seen).items) == 1
    again = stage.poll(DB, 62)
    assert again.delta is not None and again.delta.notes == ()
    polls = store.history.polls(DB, stage.began, published.snapshot.taken_at)  # type: ignore[arg-type]
    assert [one.seconds for one in polls] == [None, 2, 2]


def test_instance_restart_meanwhile_leaves_no_interval(
    store: Repository, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.keeper = store  # type: ignore[assignment]
    last = stage.poll(DB, 40).snapshot
    instance = last.readings["v$instance"]
    (row,) = instance.rows  # type: ignore[union-attr]
    other = replace(instance, rows=({**row, "startup_time": "2001-01-01 00:00:00"},))
    watched = restarted(stage, store, tmp_path)
    watched.resume = lambda: replace(last, readings={**last.readings, "v$instance": other})
    published = stage.poll(DB, 60)
    assert published.delta is None
    (told,) = store.history.polls(DB, last.taken_at.replace(second=41), last.taken_at.replace(minute=5))  # type: ignore[union-attr]
    assert told.seconds is None and told.why is not None and "the instance restarted" in told.why


def test_live_confirmation_still_counts_after_a_restart(
    store: Repository, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.keeper = store  # type: ignore[assignment]
    published = stage.poll(DB, 40)
    now = time.time()
    started = published.snapshot.startup_time
    names = ({"tablespace_name": "UNDOTBS1", "segments": 14837.0},)
    told = {"sql": "select 1", "startup_time": started, "at": now - 60, "expires": time.monotonic() + 3540}
    live = Confirmed(14838.0, "ERP1", 3, names=names, cause="undo-segments", **told)  # type: ignore[arg-type]
    old = replace(live, cause="hard-parse-storm", at=now - 7200, expires=time.monotonic() - 3600)
    refused = replace(live, value=None, names=(), refused=("cdb_sequences",), cause="sequence-nocache")
    stage[DB].confirmed |= {one.cause: one for one in (live, old, refused)}
    stage.poll(DB, 42)
    watched = restarted(stage, store, tmp_path)
    assert set(watched.confirmed) == {"undo-segments", "sequence-nocache"}
    for cause, before in (("undo-segments", live), ("sequence-nocache", refused)):
        again = watched.confirmed[cause]
        assert again.expires == pytest.approx(before.expires, abs=30)
        assert again.at == pytest.approx(before.at, abs=0.01)
        assert replace(again, at=before.at, expires=before.expires) == before


def test_spooled_polls_come_first_after_a_restart(store: Repository, stage: Stage, tmp_path: Path) -> None:
    stage.keeper = store  # type: ignore[assignment]
    stage.poll(DB, 40)
    never_started = Writer(store, DiskQueue(tmp_path / "spool", 2**20))
    stage.keeper = never_started  # type: ignore[assignment]
    stage.poll(DB, 42)
    stage.poll(DB, 44)
    never_started.stop()
    restarted(stage, store, tmp_path)
    stage.keeper = store  # type: ignore[assignment]
    assert stage.poll(DB, 60).delta.basis.seconds == 16  # type: ignore[union-attr]
    polls = store.history.polls(DB, stage.began, stage.began.replace(hour=23))
    assert [one.seconds for one in polls] == [None, 2, 2, 16]


def test_unreadable_store_lets_everything_start_anew(
    stage: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    with store.engine.begin() as connection:
        connection.exec_driver_sql("drop table episodes")
        connection.exec_driver_sql("drop table snapshots")
    restarted(stage, store, tmp_path)
    assert stage.poll(DB, 40).delta is None
    assert "open episodes cannot be read" in caplog.text
    assert module.log.name == "latchscope.store"
    store.close()
