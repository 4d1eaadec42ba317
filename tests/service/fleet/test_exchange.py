"""What another replica polls: the same answers from the store. Requests are passed on, and a successor continues."""

import logging
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError
from collectors.model import Delta
from rules.cause import catalogue
from rules.changes import Change
from service.config.settings import DatabaseSettings, Settings
from service.fleet import build as module
from service.fleet.build import resume
from service.fleet.coordinator import WorkerFactory
from service.fleet.exchange import RemoteDatabases, StatusExchange
from service.metrics.exposition import exposition
from service.state.board import Board, Failure, MonitoredDatabase
from service.state.episodes import Confirmed
from service.state.login_gate import LoginStopped
from service.state.replicas import Lease, Leases
from service.store.disk_queue import DiskQueue
from service.store.replicas import FleetStatusTable
from service.store.repository import Repository
from service.store.writer import Writer
from service.watch.actions import ActionRunning, OperatorActions, OwnerUnreachable
from service.watch.pipeline import run_poll
from service.watch.scheduler import PollScheduler
from service.watch.worker import Worker
from service.web import presenters
from service.web.presenters import database_out
from tests.service.stage import AtOnce, Stage
from tests.service.stores import Place

NAME = "undo-storm"
POLLS = (36.0, 38.0, 40.0, 42.0)
VIEWS = (
    presenters.diagnosis_of,
    presenters.latches_out,
    presenters.caches_out,
    presenters.capabilities_out,
    lambda watched: [presenters.episode_out(each) for each in watched.episodes.all],
)


class Pair:
    """A replica that polls, and one that does not, on one store. The storm of the script is 42 s old now."""

    def __init__(self, place: Place) -> None:
        self.store = Repository(place.url)
        self.status_table = FleetStatusTable(self.store)
        self.settings = DatabaseSettings(name=NAME, dsn=f"demo:{NAME}")
        self.began = datetime.now(UTC) - timedelta(seconds=POLLS[-1])
        self.owner = MonitoredDatabase(self.settings, 15.0, polled_by="a")
        self.board = Board([MonitoredDatabase(self.settings, 15.0)])
        self.board.share(RemoteDatabases(self.status_table, 0.0).refresh)
        self.status_exchange = StatusExchange(self.status_table)
        self.worker = Worker(self.owner, self, self.store)

    def open(self, watched: MonitoredDatabase | None = None, at: float = POLLS[-1]) -> ScriptedDatabase:
        return ScriptedDatabase(scenarios()[NAME], self.began, lambda: at)

    def credential(self, watched: MonitoredDatabase) -> str:
        return ""

    def poll(self, *moments: float) -> None:
        for at in moments:
            run_poll(self.owner, self.open(at=at), AtOnce(self.store))

    def publish(self) -> None:
        self.status_exchange.publish([self.owner], lambda name: self.worker)

    @property
    def follower(self) -> MonitoredDatabase:
        found = self.board.refreshed(NAME)
        assert found is not None
        return found

    def short(self, watched: MonitoredDatabase) -> dict[str, Any]:
        """The list, without what each replica says of itself."""
        told = database_out(watched).model_dump(exclude={"data_age_seconds", "polled_by", "last_hour"})
        assert watched.age is not None and watched.age < 60.0
        return told


@pytest.fixture
def pair(shared: Place) -> Iterator[Pair]:
    made = Pair(shared)
    yield made
    made.store.close()


def test_follower_and_owner_give_the_same_answers(pair: Pair) -> None:
    assert not pair.follower.up and "no poll has finished" in presenters.diagnosis_of(pair.follower).headline.lower()
    for so_far in range(1, len(POLLS) + 1):
        pair.poll(POLLS[so_far - 1])
        pair.publish()
        (listed,) = pair.board.all_refreshed()
        assert so_far > 1 or listed.published is None, "no snapshot is read for a list"
        assert pair.short(listed) == pair.short(pair.owner)
        for view in VIEWS:
            assert view(pair.follower) == view(pair.owner), (view.__name__, so_far)
        assert pair.short(pair.follower) == pair.short(pair.owner)
    assert pair.follower.published is not None and pair.follower.published.diagnosis.findings, "the storm shows"
    assert pair.follower.episodes.open == pair.owner.episodes.open != ()
    assert pair.follower.up and exposition(pair.board.own(), None)[0] == b"", "who polls it exports it"


def test_what_changed_reaches_the_follower_and_a_successor(pair: Pair, tmp_path: Path) -> None:
    pair.poll(*POLLS[:-1])
    seen = Change(
        at=datetime.now(UTC).replace(microsecond=0), kind="ddl", text="TABLE A.B changed by DDL", source="dba_objects"
    )
    pair.owner.timeline.add([seen])
    pair.poll(POLLS[-1])
    pair.publish()
    assert pair.follower.timeline.changes == (seen,)
    successor = MonitoredDatabase(pair.settings, 15.0)
    resume([successor], pair.store, Writer(pair.store, DiskQueue(tmp_path / "spool", 2**20)))
    assert successor.timeline.changes == (seen,) and successor.timeline.take_new() == ()


def test_failure_of_a_database_reaches_the_follower_and_no_credential(pair: Pair) -> None:
    pair.poll(*POLLS)
    pair.owner.failure = Failure("credential", str(CredentialError("ORA-01017: no login")), time.time(), None)
    pair.publish()
    assert pair.follower.failure == pair.owner.failure and not pair.follower.up
    assert pair.short(pair.follower) == pair.short(pair.owner)
    assert presenters.diagnosis_of(pair.follower) == presenters.diagnosis_of(pair.owner)
    (status,) = pair.status_table.all().values()
    assert "password" not in status.model_dump_json().lower()


def test_refresh_leaves_a_database_owned_meanwhile_alone(pair: Pair) -> None:
    pair.poll(*POLLS)
    pair.publish()
    watched = pair.follower
    published, watched.owned = watched.published, True
    pair.poll(44.0)
    RemoteDatabases(pair.status_table, 0.0).refresh([watched], True)
    assert watched.published is published


def test_follower_keeps_what_it_knows_while_the_store_is_away(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "latchscope.fleet")
    pair.poll(*POLLS)
    pair.publish()
    before = presenters.diagnosis_of(pair.follower)

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise OperationalError("select", {}, Exception("no"))

    watched = pair.follower
    remote = RemoteDatabases(Away(), 0.0)
    remote.refresh([watched], True), remote.refresh([watched], False)
    assert [record.getMessage() for record in caplog.records] == [
        "the state of other replicas' databases cannot be read: no"
    ]
    assert presenters.diagnosis_of(watched) == before
    StatusExchange(Away()).publish([pair.owner], lambda name: None)


def actions(pair: Pair, leases: Leases | None = None, messenger: object = None) -> OperatorActions:
    """Those of the replica that does not poll."""
    return OperatorActions(pair, leases or Leases("b"), lambda name: None, messenger or pair.status_table)  # type: ignore[arg-type]


def test_requests_to_the_owner_are_carried_out_once(pair: Pair) -> None:
    pair.poll(*POLLS)
    can, resumed, asked = actions(pair), [], []
    pair.worker.resume_login = lambda: bool(resumed.append(1))  # type: ignore[method-assign,func-returns-value]
    pair.worker.ask_for_samples = lambda: asked.append(1)  # type: ignore[method-assign]
    can.sample(pair.follower)
    pair.owner.failure = Failure("credential", "ORA-01017", time.time(), None)
    pair.publish()
    assert can.resume_login(pair.follower)
    pair.publish(), pair.publish()
    assert (resumed, asked) == ([1], [1])
    pair.owner.failure = None
    pair.publish()
    assert not can.resume_login(pair.follower), "the login was not stopped"


def test_confirmation_run_by_a_follower_counts_for_the_owner(pair: Pair) -> None:
    pair.poll(*POLLS)
    pair.publish()
    result = actions(pair).confirm(pair.follower, catalogue()["undo-segments"], names=True)
    pair.publish()
    (counting,) = pair.owner.confirmations().values()
    assert (counting.value, counting.names) == (result.value, result.names)
    pair.poll(44.0)
    pair.publish()
    for watched in (pair.owner, pair.follower):
        (finding,) = (one for one in presenters.diagnosis_of(watched).findings if one.cause == "undo-segments")
        assert finding.confirm is not None and finding.confirm.result == result.value
        assert finding.confirm.names[0]["tablespace_name"] == "UNDOTBS1"


def test_action_running_on_another_replica_is_refused_and_one_that_cannot_reach_the_owner_says_so(pair: Pair) -> None:
    class Taken(Leases):
        def acting(self, database: str) -> Any:
            return nullcontext(False)

    with pytest.raises(ActionRunning):
        actions(pair, Taken("b")).profile(pair.follower, 0.1, 1)
    assert not pair.follower.action_lock.locked()

    class Away:
        def ask(self, request: object) -> None:
            raise OperationalError("insert", {}, Exception("no"))

    with pytest.raises(OwnerUnreachable, match="another replica polls it"):
        actions(pair, messenger=Away()).sample(pair.follower)


def test_action_logs_in_nowhere_after_the_owner_reported_a_refused_login(pair: Pair) -> None:
    pair.poll(*POLLS)
    pair.owner.failure = Failure("credential", "erp: ORA-01017: refused", 1767225600.0, None)
    pair.publish()
    opened = list[object]()
    pair.open = lambda watched: opened.append(watched)  # type: ignore[method-assign,assignment,func-returns-value]
    can = actions(pair)
    for run in (
        lambda: can.confirm(pair.follower, catalogue()["undo-segments"]),
        lambda: can.profile(pair.follower, 0.1, 1),
        lambda: can.sample(pair.follower),
    ):
        with pytest.raises(
            LoginStopped, match=r"is refused, and no poll succeeded since 2026-01-01T00:00:00Z .*ORA-01017"
        ):
            run()
    assert opened == [] and not pair.follower.action_lock.locked()


def crew_of(pair: Pair, tmp_path: Path) -> WorkerFactory:
    writer = Writer(pair.store, DiskQueue(tmp_path / "spool", 2**20))
    continued = lambda taken: resume(taken, pair.store, writer)  # noqa: E731
    return WorkerFactory(pair, writer, Settings(), continued, pair.status_table, PollScheduler())


def test_successor_continues_where_the_previous_owner_stopped(pair: Pair, tmp_path: Path) -> None:
    pair.poll(*POLLS)
    pair.publish()
    watched = MonitoredDatabase(pair.settings, 15.0)
    (worker,) = crew_of(pair, tmp_path).make_workers([(watched, Lease(NAME, lambda _: True))])
    assert watched.up, "the last poll of the other is young enough"
    assert watched.published is None and "latchscope_latch_gets_total" not in exposition([watched], None)[0].decode()
    assert watched.episodes.open == pair.owner.episodes.open, "the trouble continues"
    due = worker._due - time.monotonic()
    assert 0 < due <= 15.0, "no sooner than the interval after the last poll of the other"
    published = run_poll(watched, pair.open(at=44.0), AtOnce(pair.store))
    assert published.delta is not None and published.delta.basis.seconds == 2.0 and not published.delta.notes


def test_successor_without_a_predecessor_polls_at_once(pair: Pair, tmp_path: Path) -> None:
    (worker,) = crew_of(pair, tmp_path).make_workers(
        [(MonitoredDatabase(pair.settings, 15.0), Lease(NAME, lambda _: True))]
    )
    assert worker._due <= time.monotonic()


# A restart continues: the first poll has an interval, a trouble goes on, a confirmation still counts

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
    stage.keeper = AtOnce(store)
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
    stage.keeper = AtOnce(store)
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
    stage.keeper = AtOnce(store)
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
    stage.keeper = AtOnce(store)
    stage.poll(DB, 40)
    never_started = Writer(store, DiskQueue(tmp_path / "spool", 2**20))
    stage.keeper = never_started  # type: ignore[assignment]
    stage.poll(DB, 42)
    stage.poll(DB, 44)
    never_started.stop()
    restarted(stage, store, tmp_path)
    stage.keeper = AtOnce(store)
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
