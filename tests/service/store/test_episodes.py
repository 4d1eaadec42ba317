"""The log of episode changes: complete, in order, written once, and kept for its retention."""

import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from collectors.model import NotComparable
from rules.model import Severity
from service.state.board import PollRecord
from service.state.episodes import OF_ONE_POLL, Episode, EpisodeChange
from service.store.engine import StoreUnavailable
from service.store.episodes import KEEP_CHANGES, EpisodeLog
from service.store.record import from_bytes, record_of, to_bytes
from service.store.repository import Repository
from service.web.schemas import EpisodeOut
from tests.oracle_standin.deadline import HANGS, within
from tests.service.stage import BEGAN as STAGE_BEGAN
from tests.service.stage import AtOnce, Stage, write_poll
from tests.service.store.test_topics import ddl
from tests.service.store.test_topics import episode as stored_episode
from tests.service.stores import Place

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def episode(database: str = "erp1", began: datetime = BEGAN, severity: Severity = Severity.WARNING) -> Episode:
    return stored_episode(
        database=database, title="Too many undo segments", begin=began, last_seen=began + timedelta(seconds=15),
        severity=severity, peak_severity=severity, peak_at=began, peak_share_of_db_time=0.31, headline="…",
    )  # fmt: skip


def change(what: str = "begin", minutes: int = 0, database: str = "erp1", severity: str = "warning") -> EpisodeChange:
    return EpisodeChange(what, episode(database, BEGAN + timedelta(minutes=minutes), Severity(severity)))  # type: ignore[arg-type]


def write(store: Repository, *changes: EpisodeChange) -> None:
    with store.engine.begin() as connection:
        store.episode_log.append(connection, changes)
    store.episode_log.announce()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Repository]:
    opened = Repository(f"sqlite:///{tmp_path}/store.db")
    yield opened
    opened.close()


@pytest.fixture
def postgresql(shared: Place) -> Iterator[Engine]:
    engine = create_engine(shared.url)
    yield engine
    engine.dispose()


def test_episode_log_records_the_changes_made_by_polls_of_a_storm(store: Repository, stage: Stage) -> None:
    stage.keeper = AtOnce(store)
    noticed = []
    for moment in range(0, 60, 2):
        stage.poll("undo-storm", moment)
        changes = stage["undo-storm"].published.episode_changes  # type: ignore[union-attr]
        noticed += [(change.what, change.episode.cause) for change in changes]
    told = store.episode_log.since(0, 100)
    assert [(one.what, one.episode["cause"]) for one in told] == noticed
    assert "begin" in {one.what for one in told}
    assert [one.seq for one in told] == sorted({one.seq for one in told})


def test_entry_has_the_episode_fields_of_rest_and_pages_continue(store: Repository) -> None:
    write(store, change())
    (one,) = store.episode_log.since(0, 10)
    assert EpisodeOut.model_validate(one.episode).peak_share_of_db_time == 0.31
    assert set(one.episode) == {field.name for field in fields(Episode)} - OF_ONE_POLL
    assert one.at.tzinfo is not None and one.document()["at"].endswith("Z")
    assert one.document()["episode"]["begin"] == "2026-03-01T12:00:00Z"
    write(store, *(change(minutes=each) for each in range(1, 5)))
    first = store.episode_log.since(0, 3)
    rest = store.episode_log.since(first[-1].seq, 3)
    assert [one.seq for one in (*first, *rest)] == [1, 2, 3, 4, 5]
    assert store.episode_log.newest() == 5
    assert store.episode_log.since(5, 3) == []


def test_change_written_twice_is_stored_once_and_an_error_is_one_line(store: Repository) -> None:
    severities = [("begin", "notice"), ("worse", "warning"), ("worse", "critical"), ("end", "critical")]
    life = [change(what, severity=severity) for what, severity in severities]
    write(store, *life)
    write(store, *life)
    write(store, change(minutes=9))
    assert [one.what for one in store.episode_log.since(0, 10)] == ["begin", "worse", "worse", "end", "begin"]
    with store.engine.begin() as connection:
        connection.execute(text("drop table episode_changes"))
    for ask in (lambda: store.episode_log.since(0, 1), store.episode_log.newest):
        with pytest.raises(StoreUnavailable, match="no such table: episode_changes") as error:
            ask()
        assert "\n" not in str(error.value)


def test_changes_survive_the_spool_with_their_poll(store: Repository, stage: Stage) -> None:
    told: list[int] = []
    store.episode_log.on_news.append(lambda: told.append(store.episode_log.newest()))
    published = stage.poll("undo-storm", 40)
    gap = NotComparable("undo-storm", None, "the first poll has nothing to compare with", "wait")
    changes = (change("begin", database="undo-storm"), change("end", database="undo-storm"))
    poll = PollRecord(gap, episode_changes=changes, happened=(ddl(3),))
    record = record_of(published.snapshot, published.diagnosis, poll)
    assert record is not None
    spooled = from_bytes(to_bytes(record))
    for _ in range(2):
        store.write([spooled])
    assert store.timeline.between("undo-storm", BEGAN, BEGAN + timedelta(days=1)).items == (ddl(3),)
    assert [one.what for one in store.episode_log.since(0, 10)] == ["begin", "end"]
    assert told[0] == 2, "announced once readers could see it"


def test_changes_are_not_kept_without_their_poll(store: Repository, stage: Stage) -> None:
    published = stage.poll("undo-storm", 40)
    store.episode_log.recipients = [lambda change: (_ for _ in ()).throw(OperationalError("", {}, Exception("gone")))]
    gap = NotComparable("undo-storm", None, "the first poll has nothing to compare with", "wait")
    with pytest.raises(OperationalError):
        write_poll(store, published.snapshot, published.diagnosis, PollRecord(gap, episode_changes=(change(),)))
    assert store.episode_log.since(0, 10) == [] and store.last_snapshot("undo-storm") is None


def test_prune_deletes_old_changes_and_their_numbers_are_not_reused(
    store: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.episode_log.recipients = [lambda change: ["one"]]
    write(store, change(), change("end"))
    store.episode_log.prune(datetime.now(UTC) + KEEP_CHANGES - timedelta(minutes=1))
    assert len(store.episode_log.since(0, 10)) == 2
    store.episode_log.prune(datetime.now(UTC) + KEEP_CHANGES + timedelta(minutes=1))
    assert store.episode_log.since(0, 10) == [] and store.deliveries.next_of("one") == []
    write(store, change(minutes=1))
    assert store.episode_log.newest() == 3
    assert [one.change.seq for one in store.deliveries.next_of("one")] == [3]
    asked: list[datetime] = []
    monkeypatch.setattr(store.episode_log, "prune", asked.append)
    store.prune(BEGAN)
    assert len(asked) == 1 and asked[0] > BEGAN, "by our own clock, which stamps the entries"


def test_postgresql_stores_a_change_written_twice_once(postgresql: Engine) -> None:
    log = EpisodeLog(postgresql)
    log.recipients = [lambda change: ["one"]]
    for _ in range(2):
        with postgresql.begin() as connection:
            log.append(connection, [change(database="same"), change("end", database="same")])
    told = [one for one in log.since(0, 100) if one.database == "same"]
    assert [(one.what, one.episode["peak_severity"]) for one in told] == [("begin", "warning"), ("end", "warning")]
    assert told[0].at.tzinfo is not None and log.newest() == told[-1].seq


def test_postgresql_shows_numbers_in_their_order(postgresql: Engine) -> None:
    """A reader must not miss a transaction that gets its number first and commits last."""
    log, second_is_in = EpisodeLog(postgresql), threading.Event()
    before = log.newest()

    def second() -> None:
        with postgresql.begin() as connection:
            log.append(connection, [change(database="second")])
        second_is_in.set()

    with postgresql.connect() as first:
        log.append(first, [change(database="first")])
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        waits = text("select count(*) from pg_locks where locktype = 'advisory' and not granted")

        def waiting() -> None:
            while not second_is_in.is_set():
                with postgresql.connect() as other:
                    if other.scalar(waits):
                        return

        within(HANGS, waiting)
        assert log.since(before, 10) == [], "the second is visible before the first commits"
        first.commit()
    assert second_is_in.wait(HANGS)
    assert [one.database for one in log.since(before, 10)] == ["first", "second"]


MINUTE = timedelta(minutes=1)


def test_last_mark_of_each_database_comes_with_the_troubles_before_and_after(store: Repository, stage: Stage) -> None:
    published = stage.poll("undo-storm", 40)
    ended = replace(stored_episode(), last_seen=STAGE_BEGAN + 5 * MINUTE, end=STAGE_BEGAN + 5 * MINUTE)
    later = STAGE_BEGAN + 30 * MINUTE
    again = replace(stored_episode(), begin=later, last_seen=later + MINUTE, peak_at=later)
    record = PollRecord(published.delta, None, (ended, again))  # type: ignore[arg-type]
    write_poll(store, published.snapshot, published.diagnosis, record)
    assert store.recent.last_marks() == {}
    store.marks.add("erp1", STAGE_BEGAN, "an older one", "me")
    store.marks.add("erp1", STAGE_BEGAN + 4 * MINUTE, "undo tablespace recreated", "me")
    store.marks.add("crm", STAGE_BEGAN, "calm", "me")
    marks = store.recent.last_marks()
    said = {name: last.mark.text for name, last in marks.items()}
    assert said == {"erp1": "undo tablespace recreated", "crm": "calm"}
    assert store.recent.last_marks("erp1") == {"erp1": marks["erp1"]} and store.recent.last_marks("nobody") == {}
    assert [(one.cause, one.begin, one.end) for one in marks["erp1"].before] == [
        ("undo-segments", STAGE_BEGAN, STAGE_BEGAN + 5 * MINUTE)
    ]
    assert (marks["erp1"].after, marks["crm"].before) == ({"undo-segments"}, ())
    assert store.recent.earlier("erp1", "undo-segments", STAGE_BEGAN + 30 * MINUTE) == 1
    assert store.recent.earlier("erp1", "undo-segments", STAGE_BEGAN) == 0


def test_fleet_is_drawn_without_a_store_that_hangs(store: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    told, found = Event(), list[object]()

    def hangs(engine: Engine) -> None:
        told.wait(2 * HANGS)
        raise OperationalError("select", {}, ConnectionError("it was frozen"))

    monkeypatch.setattr(Engine, "connect", hangs)
    reader = Thread(target=lambda: found.append(store.recent.last_marks()), daemon=True)
    reader.start()
    reader.join(HANGS)
    told.set()
    assert found == [{}], "no page waits for a store that hangs"


def test_minutes_are_means_weighted_by_seconds_of_the_databases_asked_for(store: Repository, stage: Stage) -> None:
    for at in (60, 62, 64, 180):
        published = stage.poll("undo-storm", at)
        change = published.delta or NotComparable("undo-storm", None, "the first poll", "wait", kind="first_poll")
        write_poll(store, published.snapshot, published.diagnosis, PollRecord(change))
    minutes = store.recent.minutes(["undo-storm", "nobody"], STAGE_BEGAN)
    assert minutes is not None and minutes["nobody"] == {}
    first = int((STAGE_BEGAN.timestamp() + 62) // 60)
    assert set(minutes["undo-storm"]) == {first, first + 2}
    assert 0.31 < minutes["undo-storm"][first] < 0.33
    assert store.recent.minutes(["undo-storm"], STAGE_BEGAN + timedelta(hours=1)) == {"undo-storm": {}}
