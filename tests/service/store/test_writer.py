"""The writer and the spool: a store that is slow, away or refuses a poll delays nobody and loses nothing."""

import errno
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep

import pytest
from sqlalchemy.exc import DataError, OperationalError

from rules.model import Diagnosis, Severity, verdict_of
from service.state.board import PollRecord
from service.store import disk_queue as spool_
from service.store import writer as module
from service.store.disk_queue import DiskQueue
from service.store.record import CompleteDiagnoses, IngestRecord, from_bytes, record_of, to_bytes
from service.store.repository import Repository
from service.store.writer import Writer
from tests.oracle_standin.deadline import HANGS
from tests.service.stage import Stage
from tests.service.standin import becomes
from tests.service.stores import Place

START = datetime(2026, 3, 1, tzinfo=UTC)


class Recorder:
    """A store that records what it takes, and fails on request."""

    lasting = None
    kept = None

    def __init__(self) -> None:
        self.taken: list[tuple[str, datetime]] = []
        self.fails: Callable[[Sequence[IngestRecord]], None] = lambda records: None

    def write(self, records: Sequence[IngestRecord]) -> None:
        self.fails(records)
        self.taken += [(one.database, one.at) for one in records]

    def reachable(self) -> bool:
        return True

    def last_snapshot(self, database: str) -> None:
        raise OperationalError("select", {}, Exception("away"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(spool_, "PATIENCE", HANGS)  # no disk is slow in these tests unless they say so
    monkeypatch.setattr(module, "PATIENCE", HANGS)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def writer(recorder: Recorder, spool: DiskQueue, quick: None) -> Iterator[Writer]:
    made = Writer(recorder, spool)  # type: ignore[arg-type]
    yield made
    made.stop()


def give(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, record: IngestRecord, *seconds: int, database: str = "a"
) -> None:
    """Give polls to the writer. Their records are made elsewhere."""
    for second in seconds:
        one = replace(record, database=database, at=START + timedelta(seconds=second))
        with monkeypatch.context() as patch:
            patch.setattr(module, "record_of", lambda *_, one=one, **more: one)
            patch.setattr(CompleteDiagnoses, "due", lambda *_: True)
            writer.keep(None, None)  # type: ignore[arg-type]


def until(so: Callable[[], bool]) -> None:
    becomes(so, "it comes to that")


def seconds(recorder: Recorder) -> list[int]:
    """The times of the polls that arrived, in order. One in flight may arrive twice, which changes nothing in a store."""
    return list(dict.fromkeys(int((at - START).total_seconds()) for _, at in recorder.taken))


def away(records: Sequence[IngestRecord]) -> None:
    raise OperationalError("insert", {}, Exception("the disk is full"))


def test_record_is_read_back_from_its_bytes(stage: Stage) -> None:
    for moment in (40, 42, 44):
        stage.poll("undo-storm", moment)
    for poll, kept in zip(stage.keeper.polls, stage.keeper.records, strict=True):
        made = record_of(*poll, kept)
        assert made is not None
        assert to_bytes(from_bytes(to_bytes(made))) == to_bytes(made)
    assert None not in made.numbers[:12] and made.episodes


def test_polls_that_went_to_disk_while_the_writer_gathered_are_written_before_later_ones(
    writer: Writer, recorder: Recorder, record: IngestRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathering, go, disk = threading.Event(), threading.Event(), threading.Event()
    append = writer.spool.append

    def gather() -> None:
        gathering.set()
        writer._awake.wait_for(go.is_set, HANGS)

    monkeypatch.setattr(writer, "_gather", gather)
    writer.start()
    assert gathering.wait(HANGS)
    give(writer, monkeypatch, record, 0, 1)
    until(lambda: len(writer.spool) == 2)
    monkeypatch.setattr(writer.spool, "append", lambda *poll: disk.wait(HANGS) and append(*poll))
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    give(writer, monkeypatch, record, 2)
    go.set()
    with writer._awake:
        writer._awake.notify_all()
    until(lambda: len(seconds(recorder)) == 3)
    disk.set()
    assert seconds(recorder) == [0, 1, 2]


def test_polls_that_follow_a_transaction_share_the_next(
    writer: Writer, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, record: IngestRecord
) -> None:
    monkeypatch.setattr(module, "GATHERING", 1e9)
    monkeypatch.setattr(module, "LONGEST_GATHERING", 1e9)
    together: list[int] = []
    recorder.fails = lambda records: together.append(len(records))
    writer.start()
    for database in ("a", "b", "c"):
        give(writer, monkeypatch, record, 0, database=database)
        becomes(lambda: "a" in {name for name, _ in recorder.taken}, "the first is written at once")
        sleep(0.1)  # enough for a writer that does not wait
    writer.stop()
    assert together == [1, 2]
    assert [name for name, _ in recorder.taken] == ["a", "b", "c"]


def test_poll_of_a_short_interval_ends_the_wait_for_others(
    writer: Writer, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, record: IngestRecord
) -> None:
    monkeypatch.setattr(module, "LONGEST_GATHERING", 1e9)
    together: list[int] = []
    recorder.fails = lambda records: together.append(len(records))
    writer.start()
    give(writer, monkeypatch, record, 0)
    becomes(lambda: len(together) == 1, "the first is written at once")
    give(writer, monkeypatch, replace(record, seconds=1e9), 0, database="b")
    give(writer, monkeypatch, replace(record, seconds=0.1), 0, database="c")
    becomes(lambda: together == [1, 2], "the second is written with the third, which must not wait")
    assert len(writer.spool) == 0


def test_writer_keeps_all_polls_on_disk_undelayed_while_the_store_hangs(
    writer: Writer, recorder: Recorder, record: IngestRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, entered = threading.Event(), threading.Event()

    def hang(records: Sequence[IngestRecord]) -> None:
        entered.set()
        hangs.wait(60)

    recorder.fails = hang
    writer.start()
    give(writer, monkeypatch, record, 0)
    assert entered.wait(60)
    give(writer, monkeypatch, record, 1, 2, 3)
    give(writer, monkeypatch, record, 1, database="b")
    assert len(writer.spool) == 5, "everything is on disk, and the poll in flight comes before those that follow it"
    assert len(DiskQueue(writer.spool.directory, 2**24).oldest(9)) == 5, "as the next start will find it"
    assert recorder.taken == []
    hangs.set()
    until(lambda: len(recorder.taken) == 6 and not len(writer.spool))
    of_a = [int((at - START).total_seconds()) for name, at in recorder.taken if name == "a"]
    assert of_a == [0, 0, 1, 2, 3], "the one in flight is written twice, which does no harm in a store"


def test_writer_keeps_polls_in_order_while_the_store_is_away(
    writer: Writer,
    recorder: Recorder,
    record: IngestRecord,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    recorder.fails = away
    writer.start()
    give(writer, monkeypatch, record, *range(10))
    until(lambda: writer.trouble() == "the store does not answer; 10 polls wait in the spool")
    recorder.fails = lambda records: None
    until(lambda: len(set(recorder.taken)) == 10 and not len(writer.spool))
    assert seconds(recorder) == list(range(10))
    until(lambda: writer.trouble() is None)
    said = [one.getMessage() for one in caplog.records if "spool" in one.getMessage()]
    assert len(said) == 2, "the log says once that the store is away, and once that it is back"
    assert "the disk is full" in said[0] and "answers again" in said[1]


def test_writer_stop_leaves_unwritten_polls_for_the_next_start(
    recorder: Recorder, spool: DiskQueue, record: IngestRecord, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.fails = away
    first = Writer(recorder, spool)  # type: ignore[arg-type]
    first.start()
    give(first, monkeypatch, record, 0, 1, 2)
    first.stop()
    give(first, monkeypatch, record, 3)
    assert len(spool) == 4, "a poll that ends after the stop is not lost either"
    second = Writer(Recorder(), DiskQueue(spool.directory, 2**20))  # type: ignore[arg-type]
    assert second.last_snapshot("a") is not None, "the latest poll is in the spool"
    second.catch_up()
    assert seconds(second._store) == [0, 1, 2, 3]  # type: ignore[arg-type]
    assert len(DiskQueue(spool.directory, 2**20)) == 0


def test_writer_loses_only_the_poll_whose_record_fails_and_says_that_the_last_cannot_be_read(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(module, "record_of", broken)
    published = stage.poll("undo-storm", at=40)
    writer.keep(published.snapshot, published.diagnosis)
    assert "a poll of undo-storm was not kept" in caplog.text
    assert writer.last_snapshot("a") is None
    assert "the last poll of a cannot be read: away" in caplog.text


# a disk in trouble


READ_ONLY = OSError(errno.EROFS, "Read-only file system")


def refused(*_: object, **__: object) -> None:
    raise READ_ONLY


def test_writer_goes_on_while_the_spool_cannot_be_emptied_and_says_so(
    writer: Writer, recorder: Recorder, record: IngestRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.spool.append(writer.spool.next_number(), replace(record, database="a", at=START))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        writer.start()
        until(lambda: seconds(recorder) == [0])
        until(lambda: "Read-only file system" in str(writer.trouble()))
        give(writer, monkeypatch, record, 1, 2)
        until(lambda: seconds(recorder) == [0, 1, 2])
    until(lambda: writer.trouble() is None)
    assert list(writer.spool.directory.glob("*.poll")) == [], "what the store has is removed in the end"


def test_writer_that_died_goes_on_with_the_polls_it_had_in_flight(
    recorder: Recorder, spool: DiskQueue, record: IngestRecord, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.background.FIRST_PAUSE", 0.05)
    writer = Writer(recorder, spool)  # type: ignore[arg-type]
    died = threading.Event()

    def die(records: Sequence[IngestRecord]) -> None:
        recorder.fails = lambda records: None
        died.set()
        raise SystemExit

    recorder.fails = die
    writer.start()
    try:
        give(writer, monkeypatch, record, 1)
        assert died.wait(60)
        give(writer, monkeypatch, record, 2)
        until(lambda: seconds(recorder) == [1, 2])
    finally:
        writer.stop()
    assert spool.lost == 0


@pytest.mark.parametrize("comes_back", [True, False])
def test_polls_that_only_memory_takes_are_not_lost_if_the_store_comes_back_and_counted_once_if_not(
    writer: Writer, recorder: Recorder, record: IngestRecord, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    if not comes_back:
        monkeypatch.setattr(module, "MOST_IN_MEMORY", 2)
    recorder.fails = away
    with monkeypatch.context() as patch:
        patch.setattr(DiskQueue, "_write", refused)
        writer.start()
        give(writer, monkeypatch, record, *range(6))
        if comes_back:
            until(lambda: "Read-only file system" in str(writer.trouble()))
            recorder.fails = lambda records: None
            until(lambda: seconds(recorder) == list(range(6)))
        else:
            until(lambda: writer.spool.lost >= 4)
        writer.stop()
    assert writer.spool.lost == (0 if comes_back else 6)


@pytest.mark.parametrize("after_an_outage", [False, True])
def test_writer_sets_a_refused_poll_aside_without_delaying_others(
    writer: Writer, recorder: Recorder, record: IngestRecord, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, after_an_outage: bool,
) -> None:  # fmt: skip
    bad = START + timedelta(seconds=3)

    def refuse(records: Sequence[IngestRecord]) -> None:
        if any(one.at == bad for one in records):
            raise DataError("insert", {}, Exception("out of range"))

    recorder.fails = away if after_an_outage else refuse
    writer.start()
    give(writer, monkeypatch, record, *range(6))
    if after_an_outage:
        until(lambda: writer.trouble() is not None)
        recorder.fails = refuse
    until(lambda: len(set(recorder.taken)) == 5 and not len(writer.spool))
    assert (seconds(recorder) if after_an_outage else sorted(seconds(recorder))) == [0, 1, 2, 4, 5]
    until(lambda: writer.trouble() is None)
    (kept,) = writer.spool.directory.glob("*.refused")
    assert from_bytes(kept.read_bytes()).at == bad
    assert "is set aside" in caplog.text


# with real stores


def test_writer_loses_nothing_in_an_outage_of_the_real_store(
    store: Repository, place: Place, tmp_path: Path, stage: Stage, quick: None
) -> None:
    writer = Writer(store, DiskQueue(tmp_path / "spool", 2**24))
    stage.watch(*stage.databases[:2])
    stage.keeper = writer  # type: ignore[assignment]
    writer.start()
    try:
        stage.poll_all(40, 42)
        until(lambda: place.execute("select count(*) from polls") == [(4,)])
        with place.away():
            stage.poll_all(44, 46, 48)
            until(lambda: writer.trouble() is not None and len(writer.spool) >= 4)
        until(lambda: not len(writer.spool) and place.execute("select count(*) from polls") == [(10,)])
    finally:
        writer.stop()
    assert place.execute("select count(*) from snapshots") == [(10,)] and writer.spool.lost == 0


def test_diagnosis_is_stored_complete_with_a_new_verdict_and_again_after_a_time(stage: Stage) -> None:
    complete = CompleteDiagnoses()
    first, calm, storm = (stage.poll("undo-storm", at=at) for at in (1, 3, 40))
    assert first.snapshot.taken_at is not None

    def due(verdict: Diagnosis, minutes: float) -> bool:
        assert first.snapshot.taken_at is not None
        at = first.snapshot.taken_at + timedelta(minutes=minutes)
        return complete.due(replace(first.snapshot, taken_at=at), verdict)

    assert verdict_of(calm.verdict) != verdict_of(storm.verdict)
    assert [due(first.verdict, 0), due(first.verdict, 1)] == [True, True], "a poll without an interval"
    assert [due(calm.verdict, minute) for minute in (2, 2.1)] == [True, False], "the first verdict"
    assert sum(due(calm.verdict, minute) for minute in range(3, 63)) == 1, "one an hour"
    assert [due(storm.verdict, minute) for minute in (64, 64.1)] == [True, False], "a new verdict"
    assert sum(due(storm.verdict, minute) for minute in range(65, 185)) == 2
    assert due(storm.verdict, 5), "the clock of the database went back"
    unexplained = calm.verdict.model_copy(update={"severity": Severity.CRITICAL})
    assert [due(calm.verdict, 6), due(unexplained, 7), due(calm.verdict, 8)] == [True] * 3, (
        "waits without a known cause"
    )


def test_complete_diagnoses_of_a_fleet_are_spread_over_the_hour(stage: Stage) -> None:
    complete, poll = CompleteDiagnoses(), [stage.poll("undo-storm", at=at) for at in (40, 42)][-1]
    began = poll.snapshot.taken_at
    assert began is not None and poll.verdict.basis is not None

    def due(minute: int) -> int:
        polls = (replace(poll.snapshot, database=f"db{number}", taken_at=at(minute)) for number in range(300))
        return sum(complete.due(each, poll.verdict) for each in polls)

    def at(minute: int) -> datetime:
        return began + timedelta(minutes=minute)

    assert due(0) == 300, "a new verdict is stored at once"
    assert max(due(minute) for minute in range(1, 61)) < 20


def test_stored_diagnosis_has_its_reasons(stage: Stage) -> None:
    stage.poll("undo-storm", at=40)
    storm = stage.poll("undo-storm", at=42)
    made = record_of(storm.snapshot, storm.verdict, PollRecord(storm.delta, examined=storm.examined))  # type: ignore[arg-type]
    short = record_of(storm.snapshot, storm.verdict, None, complete=False)
    assert made is not None and short is not None and (storm.verdict.steps, short.diagnosis) == ((), "")
    assert Diagnosis.model_validate_json(made.diagnosis).steps == storm.diagnosis.steps != ()
