"""Episodes, marks, confirmations, what is usual: what goes in comes out, page by page, under today's names."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from sqlalchemy import func, select

from rules.cause import catalogue
from rules.changes import Change
from rules.model import Severity
from service.state.board import PollRecord
from service.state.episodes import Episode
from service.store import record as stored
from service.store.build import ClockCheck, Maintenance
from service.store.episodes import Baseline
from service.store.polls import BadCursor
from service.store.record import current, former
from service.store.reports import StoredReportSummary
from service.store.repository import Repository
from service.store.rows import Partitions
from service.store.tables import POLLS
from tests.service.stage import BEGAN, AtOnce, Stage, write_poll
from tests.service.stores import Place, Postgres

DAY = timedelta(days=1)
Put = Callable[..., None]


def episode(**changed: object) -> Episode:
    first = Episode(
        database="erp1",
        cause="undo-segments",
        cache="dc_rollback_segments",
        title="t",
        begin=BEGAN,
        last_seen=BEGAN + timedelta(minutes=1),
        end=None,
        severity=Severity.WARNING,
        peak_severity=Severity.CRITICAL,
        peak_at=BEGAN,
        peak_share_of_db_time=0.3,
        headline="h",
    )
    return replace(first, **changed)  # type: ignore[arg-type]


@pytest.fixture
def put(store: Repository, stage: Stage) -> Put:
    """Keep a poll with these episodes."""
    published = stage.poll("undo-storm", 40)

    def keep(*episodes: Episode) -> None:
        write_poll(store, published.snapshot, published.diagnosis, PollRecord(published.delta, None, episodes))  # type: ignore[arg-type]

    return keep


def test_episode_is_one_row_with_its_verdict_from_begin_to_end(store: Repository, put: Put) -> None:
    put(episode())
    (lasting,) = store.episodes.open("erp1")
    assert lasting == replace(episode(), title=lasting.title)
    assert store.episodes.open("other") == ()
    grown = episode(last_seen=BEGAN + timedelta(minutes=9), headline="worse")
    put(grown)
    put(episode())
    assert store.episodes.open()[0].headline == "worse", "an older state does not replace a newer one"
    put(replace(grown, end=grown.last_seen))
    put(grown)
    assert store.episodes.open() == (), "what ended stays ended"
    assert store.episodes.between(None, BEGAN, BEGAN + DAY).items[0].end == grown.last_seen
    put(episode(cause="hard-parse-storm"))
    assert store.episodes.verdict("erp1", "hard-parse-storm", BEGAN, "verified", "gone since the change")
    assert not store.episodes.verdict("erp1", "hard-parse-storm", BEGAN + DAY, "verified", "no such")
    put(episode(cause="hard-parse-storm", last_seen=BEGAN + timedelta(minutes=9)))
    assert store.episodes.open("erp1")[-1].verdict == "gone since the change"


def test_episodes_between_are_those_that_lasted_in_the_window(store: Repository, put: Put) -> None:
    put(
        episode(begin=BEGAN - DAY, end=BEGAN - DAY / 2), episode(begin=BEGAN), episode(database="erp2", end=BEGAN + DAY)
    )
    found = store.episodes.between("erp1", BEGAN, BEGAN + DAY).items
    assert [one.begin for one in found] == [BEGAN]
    assert len(store.episodes.between(None, BEGAN, BEGAN + DAY).items) == 2
    assert len(store.episodes.between("erp1", BEGAN - DAY, BEGAN).items) == 1


def test_episode_pages_hold_each_once(store: Repository, put: Put) -> None:
    rows = product(("undo-segments", "hard-parse-storm", "starved-host"), "ab", (BEGAN, BEGAN + DAY / 24))
    made = [episode(cause=cause, database=database, begin=begin) for cause, database, begin in rows]
    put(*made)
    seen, cursor = [], None
    for _ in range(20):
        page = store.episodes.between(None, BEGAN, BEGAN + DAY, cursor, limit=5)
        seen += [(one.begin, one.database, one.cause) for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == len(made)
    assert [one[0] for one in seen] == sorted((one[0] for one in seen), reverse=True)
    for bad in ("x", "2026-03-01T12:00:00+00:00", "2026-03-01~a~b"):
        with pytest.raises(BadCursor):
            store.episodes.between(None, BEGAN, BEGAN + DAY, bad)


def test_old_cause_ids_are_read_as_current_ones(store: Repository, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(episode(cause="rollback-names"))
    monkeypatch.setattr(stored, "RENAMED", {"rollback-names": "undo-segments", "undo-names": "undo-segments"})
    assert current("rollback-names") == "undo-segments" and current("other") == "other"
    assert set(former("undo-segments")) == {"undo-segments", "undo-names", "rollback-names"}
    assert [one.cause for one in store.episodes.open()] == ["undo-segments"]
    assert store.episodes.verdict("erp1", "undo-segments", BEGAN, "verified", "found under its old name")
    monkeypatch.undo()

    assert [old for old in stored.RENAMED if current(old) not in catalogue() or old in catalogue()] == []


def ddl(minute: int, name: str = "ORDERS") -> Change:
    at = BEGAN + timedelta(minutes=minute)
    return Change(
        at=at, kind="ddl", text=f"TABLE APP.{name} changed by DDL", source="dba_objects", con_id=0, not_before=at
    )


def put_changes(store: Repository, *changes: Change, database: str = "erp1") -> None:
    with store.engine.begin() as connection:
        store.timeline.write(connection, [(database, change) for change in changes])


def test_changes_are_paged_newest_first_kept_once_and_memory_gets_the_last_day(store: Repository) -> None:
    made = [ddl(0, "A~B"), ddl(0, "C"), *(ddl(minute) for minute in range(1, 6))]
    put_changes(store, *made)
    put_changes(store, *made[:2])
    put_changes(store, ddl(9), database="erp2")
    first = store.timeline.between("erp1", BEGAN, BEGAN + DAY, limit=6)
    rest = store.timeline.between("erp1", BEGAN, BEGAN + DAY, first.cursor, limit=6)
    assert [*first.items, *rest.items] == [*reversed(made[2:]), *made[:2]] and rest.cursor is None
    now = datetime.now(UTC)
    new, old = (Change(at=now - timedelta(hours=hours), kind="patch", text="p", source="s") for hours in (1, 25))
    put_changes(store, new, old, database="erp3")
    assert list(store.timeline.last_day("erp3")) == [new]


def test_parameter_that_two_polls_show_otherwise_is_kept_with_the_later_poll(store: Repository, stage: Stage) -> None:
    stage.keeper = AtOnce(store)
    stage.poll("undo-storm", 100)
    stage.poll("undo-storm", 410)
    (change,) = store.timeline.between("undo-storm", BEGAN, BEGAN + DAY).items
    assert change.text == "undo_tablespace: UNDOTBS1 → UNDOTBS2"
    assert (change.not_before, change.at) == (BEGAN + timedelta(seconds=100), BEGAN + timedelta(seconds=410))


def test_marks_are_paged_newest_first(store: Repository) -> None:
    made = [store.marks.add("erp1", BEGAN + timedelta(minutes=m), f"change {m}", "anna") for m in range(7)]
    store.marks.add("erp2", BEGAN, "elsewhere", "ben")
    page = store.marks.between("erp1", BEGAN, BEGAN + DAY, limit=4)
    rest = store.marks.between("erp1", BEGAN, BEGAN + DAY, page.cursor, limit=4)
    assert [*page.items, *rest.items] == made[::-1] and rest.cursor is None
    assert len(store.marks.between(None, BEGAN, BEGAN + DAY).items) == 8
    with pytest.raises(Exception, match="no time zone"):
        store.marks.add("erp1", datetime(2026, 3, 1), "naive", "anna")  # noqa: DTZ001  the point of the test


def test_baselines_are_replaced(store: Repository) -> None:
    first = Baseline("erp1", "impact.share_of_db_time", 0, 0.01, 0.0, 0.02, 12)
    store.baselines.put([first, replace(first, hour_of_week=167)])
    store.baselines.put([replace(first, median=0.05)])
    kept = store.baselines.of("erp1", "impact.share_of_db_time")
    assert (kept[0].median, kept[167].median, len(kept)) == (0.05, 0.01, 2)
    assert store.baselines.of("erp1", "other") == {}


def test_prune_deletes_each_tier_when_its_time_is_over(store: Repository, place: Place, stage: Stage, put: Put) -> None:
    stage.keeper = AtOnce(store)
    for at in (10, 20, 30):
        stage.poll("undo-storm", at)
    put(episode(end=BEGAN + timedelta(hours=1)), episode(cause="starved-host"))
    store.marks.add("erp1", BEGAN, "m", "w")
    put_changes(store, ddl(0))
    store.upkeep.sum_hours(BEGAN + DAY)
    gone = {
        1.9: [],
        15.5: ["polls"],  # on PostgreSQL a partition goes after its last day
        91: ["diagnoses"],
        402: ["snapshots", "hours", "frames"],
        732: ["marks", "database_changes"],
    }
    tiers = {"episodes", *(tier for some in gone.values() for tier in some)}
    for days, some in gone.items():
        store.prune(BEGAN + timedelta(days=days))
        tiers -= {*some}
        assert {one for one in tiers if place.execute(f"select count(*) from {one}") != [(0,)]} == tiers, days
        assert [one for one in some if place.execute(f"select count(*) from {one}") != [(0,)]] == [], days
    assert len(store.episodes.open()) == 1, "open ones are kept, however old"


class Watch:
    """A store under upkeep, polls of real databases by their own clocks, and the two clocks of our host."""

    def __init__(self, store: Repository, stage: Stage, *real: str) -> None:
        self.store, self.real, self.ticks = store, real, 0.0
        self._polls = [stage.poll("undo-storm", at) for at in (10, 20)]
        self.start()

    def start(self) -> None:
        """The service starts."""
        clock = ClockCheck(self.store, self.real, lambda: self.ticks)
        self._upkeep = Maintenance(self.store, clock=clock)

    def poll(self, at: datetime, *databases: str) -> None:
        """These are polled when their clocks say so."""
        one = self._polls[1]
        for database in databases:
            snapshot = replace(one.snapshot, database=database, taken_at=at)
            write_poll(self.store, snapshot, one.diagnosis, PollRecord(replace(one.delta, database=database)))  # type: ignore[type-var]

    def upkeep(self, now: datetime) -> int:
        """One round by our clock. What is left of the polls."""
        self._upkeep._pruned = float("-inf")
        self._upkeep.do(now)
        with self.store.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(POLLS)) or 0


AHEAD = timedelta(days=1100)


def test_nothing_is_deleted_by_a_clock_that_nobody_else_has(
    store: Repository, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(store, stage, "erp1", "erp2", "erp3")
    watch.poll(BEGAN, "erp1", "erp2")
    store.reports.keep(StoredReportSummary("r", BEGAN, "r", 1, "x", (), "info", "h"), "{}", b"body")
    watch.start()
    with caplog.at_level(logging.WARNING, "latchscope.store"):
        for times, hour in enumerate((1, 9, 17, 25), 2):
            watch.ticks = hour * 3600.0
            watch.poll(BEGAN + timedelta(hours=hour), "erp1", "erp2")
            assert watch.upkeep(BEGAN + AHEAD + timedelta(hours=hour)) == 2 * times
        watch.start()
        assert watch.upkeep(BEGAN + AHEAD + timedelta(hours=25)) == 10, "also after another start"
    said = [record.getMessage() for record in caplog.records]
    assert (
        len(said) == 2
        and "our clock says 2029-03-05 13:00 UTC, and the newest poll is of 2026-03-01 13:00 UTC" in said[0]
    )
    watch.poll(BEGAN + AHEAD + timedelta(hours=25), "erp3")
    assert watch.upkeep(BEGAN + AHEAD + timedelta(hours=25)) == 11, "one that agrees may be as wrong"
    watch.poll(BEGAN + AHEAD + timedelta(hours=25), "erp1")
    assert watch.upkeep(BEGAN + AHEAD + timedelta(hours=25)) == 2 and not store.reports.newest(9)


def test_new_store_does_not_doubt_a_clock_that_the_first_poll_confirms(
    store: Repository, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(store, stage, "erp1", "erp2")
    watch.start()
    watch.poll(BEGAN + DAY, "erp1")
    assert watch.upkeep(BEGAN + DAY) == 1 and caplog.records == []
    assert watch.upkeep(BEGAN + AHEAD) == 1 and "our clock says" in caplog.records[0].getMessage()


def test_clock_that_jumps_deletes_nothing_and_one_that_was_off_for_days_goes_on(
    store: Repository, stage: Stage
) -> None:
    watch = Watch(store, stage, "erp1")
    watch.poll(BEGAN, "erp1")
    watch.start()
    week = timedelta(days=21)
    watch.ticks = week.total_seconds()
    watch.poll(BEGAN + week, "erp1")
    assert watch.upkeep(BEGAN + AHEAD + week) == 2, "it jumped while it ran"
    assert watch.upkeep(BEGAN + week) == 1, "and back"
    watch.start()
    later = BEGAN + week + timedelta(days=16)
    assert watch.upkeep(later) == 1, "off for sixteen days"
    watch.poll(later, "erp1")
    assert watch.upkeep(later) == 1


def test_partitions_are_created_ahead_and_dropped_whole(postgres: Postgres) -> None:
    postgres.query("create database partitioned")
    store = Repository(postgres.url("partitioned"))
    now = datetime(2026, 3, 5, 12, tzinfo=UTC)

    def partitions() -> list[str]:
        parts = "select inhrelid::regclass::text from pg_inherits where inhparent = 'polls'::regclass order by 1"
        return [name for (name,) in postgres.query(parts, "partitioned")]

    store.partitions.ahead(now)
    assert partitions() == ["polls_20260305", "polls_20260307"]
    first = [1_771_286_400_000]
    for partitions_of in (store.partitions, Partitions(store.engine)):
        partitions_of.ensure(first)
    assert partitions()[0] == "polls_20260217"
    assert store.prune(now)["polls"] == 1
    assert partitions() == ["polls_20260305", "polls_20260307"]
    store.partitions.ensure(first)
    assert partitions()[0] == "polls_20260217", "a dropped one can be created again"
    store.close()
