"""The spool: whatever the disk does, latchscope reports it, survives it, and counts it once."""

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy.exc import OperationalError

from service.store import disk_queue as spool_
from service.store import writer as module
from service.store.disk_queue import DiskQueue, held_spool
from service.store.engine import StoreError
from service.store.record import CompleteDiagnoses, IngestRecord, to_bytes
from service.store.writer import StoreMetrics, Writer
from tests.oracle_standin.deadline import within

START = datetime(2026, 3, 1, tzinfo=UTC)


class Disk:
    """Refuses the named operations on files below a folder while it is switched on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.refuses: set[str] = set()
        for name in ("unlink", "rename", "open", "touch"):
            monkeypatch.setattr(Path, name, self._wrapped(name, getattr(Path, name), folder))

    def _wrapped(self, name: str, real: Callable[..., object], folder: Path) -> Callable[..., object]:
        def call(path: Path, *rest: object, **more: object) -> object:
            reads = name == "open" and "rb" in (*rest, more.get("mode"))
            if name in self.refuses and path.is_relative_to(folder) and not reads:
                raise OSError(errno.EROFS, "Read-only file system")
            return real(path, *rest, **more)

        return call


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Disk:
    return Disk(monkeypatch, tmp_path)


def test_disk_queue_logs_and_counts_the_oldest_it_drops_when_full(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(to_bytes(record))
    spool = DiskQueue(tmp_path / "spool", 3 * size + 200)
    for number in range(1, 6):
        spool.append(number, replace(record, at=START + timedelta(seconds=number)))
    assert [one.at.second for _, one in spool.oldest(9)] == [3, 4, 5]
    assert spool.lost == 2
    assert spool.size <= 3 * size + 200
    assert "is full (spool.max_bytes" in caplog.text and "are lost" in caplog.text
    registry = CollectorRegistry()
    answers: list[bool] = [False]
    writer = Writer(SimpleNamespace(reachable=lambda: answers[0], kept=None), spool)  # type: ignore[arg-type]
    registry.register(StoreMetrics(writer))
    assert "latchscope_store_up 0.0" in generate_latest(registry).decode()
    answers[0] = True
    told = generate_latest(registry).decode()
    assert "latchscope_store_up 1.0" in told and "latchscope_memory_polls 0.0" in told
    assert "latchscope_spool_polls 3.0" in told
    assert f"latchscope_spool_bytes {float(spool.size)}" in told
    assert "latchscope_spool_lost_polls_total 2.0" in told
    spool = DiskQueue(tmp_path / "late", 2**20)
    for number in (2, 3, 1):
        spool.append(number, record)
    assert [name[:16].lstrip("0") for name, _ in spool.oldest(9)] == ["1", "2", "3"]
    monkeypatch.setattr(spool_, "to_bytes", lambda record: int(record.database))
    assert spool.append(7, record) is True and spool.lost == 1, "no disk would ever take it"
    assert "a poll of undo-storm cannot be put into a file (invalid literal" in caplog.text


@pytest.mark.parametrize("place", ["spool", "file/spool"])
def test_disk_queue_that_cannot_be_written_or_looked_at_says_so(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    (tmp_path / place.partition("/")[0]).write_text("a file")
    spool = DiskQueue(tmp_path / place, 2**20)
    assert spool.trouble == f"the spool {tmp_path}/{place} cannot be used: Not a directory"
    assert spool.append(1, record) is False
    assert f"{place} cannot be used: Not a directory" in caplog.text


FIRST = "0000000000000001-undo-storm.poll"


@pytest.mark.parametrize(
    ("becomes", "refuses", "said"),
    [
        ("noise", (), f"{FIRST} is set aside"),
        ("a folder", (), f"{FIRST} is set aside"),
        ("noise", ("rename",), "Read-only"),
        ("nothing", (), f"somebody removed {FIRST}"),
    ],
)
def test_disk_queue_goes_on_past_a_poll_that_cannot_be_read(
    tmp_path: Path, record: IngestRecord, disk: Disk, caplog: pytest.LogCaptureFixture,
    becomes: str, refuses: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    spool = DiskQueue(tmp_path, 2**20)
    spool.append(1, record), spool.append(2, record)
    first, size = tmp_path / FIRST, spool.size
    first.unlink()
    if becomes == "noise":
        first.write_bytes(b"\x00" * 10)
    elif becomes == "a folder":
        first.mkdir()
    disk.refuses = {*refuses}
    assert [name for name, _ in spool.oldest(9)] == [FIRST.replace("1-", "2-")]
    assert len(spool) == 1 and spool.size == size / 2 and spool.lost == (becomes == "nothing")
    assert said in caplog.text + str(spool.trouble)
    aside = first.with_name(f"{FIRST}.refused").exists()
    assert aside == ("set aside" in said) and ("it cannot be read" in caplog.text) == (becomes != "nothing")


# files that are not polls, and a disk in trouble


STRAYS = ("core", "x.poll", "abc-undo-storm.poll", "9999999999999999-a.poll", "12-a.poll", "note.txt")


def test_disk_queue_names_strays_and_sets_them_aside(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    for name in STRAYS:
        (tmp_path / name).write_text("?")
    (tmp_path / "0000000000000001-a.poll").mkdir()
    (tmp_path / "0000000000000002-b.poll").symlink_to(tmp_path / "gone")
    spool = DiskQueue(tmp_path, 2**20)
    assert spool.append(spool.next_number(), record)
    assert [name for name, _ in spool.oldest(9)] == ["0000000000000001-undo-storm.poll"]
    for name in (*STRAYS, "0000000000000001-a.poll", "0000000000000002-b.poll"):
        assert f"{name} is set aside as {name}.refused: it is not a poll of latchscope" in caplog.text
    caplog.clear()
    assert len(DiskQueue(tmp_path, 2**20)) == 1
    assert caplog.text == "", "strays that were set aside are not named at every start"


def test_disk_queue_removes_the_drafts_of_a_killed_process_and_of_a_full_disk(
    tmp_path: Path, record: IngestRecord, disk: Disk
) -> None:
    (tmp_path / "0000000000000002-b.poll.draft").write_bytes(b"half")
    spool = DiskQueue(tmp_path, 2**20)
    assert list(tmp_path.iterdir()) == []
    disk.refuses = {"rename"}
    assert not spool.append(1, record) and spool.trouble is not None
    assert list(tmp_path.iterdir()) == []
    disk.refuses = set()
    assert spool.append(1, record) and spool.trouble is None, "a disk that takes a poll again is no trouble"


def test_disk_queue_that_is_read_only_forgets_what_the_store_has_and_says_so(
    tmp_path: Path, record: IngestRecord, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    for number in (1, 2):
        spool.append(number, record)
    disk.refuses = {"unlink", "rename", "open", "touch"}
    spool.done(name for name, _ in spool.oldest(9))
    spool.done(())
    assert len(spool) == 0 and spool.size == 0
    assert spool.trouble == f"the spool {tmp_path} cannot be used: Read-only file system"
    assert not spool.append(3, record) and not spool.append(3, record)
    assert spool.lost == 0, "the caller decides whether the poll is lost"
    spool.look_again()
    assert spool.trouble is not None
    assert caplog.text.count("cannot be used") == 1, "said once"
    disk.refuses = set()
    spool.look_again()
    assert spool.trouble is None
    assert "can be used again" in caplog.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("changes_its_mind", [False, True])
def test_disk_that_is_full_is_said_once_a_minute_at_most(
    tmp_path: Path,
    record: IngestRecord,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    changes_its_mind: bool,
) -> None:
    """It still takes an empty file, or anything for a moment; the log may be on it."""
    spool, taken, write = DiskQueue(tmp_path, 2**20), count(), DiskQueue._write

    def full(queue: DiskQueue, name: str, data: bytes) -> None:
        if data and not (changes_its_mind and next(taken) % 2):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(queue, name, data)

    monkeypatch.setattr(DiskQueue, "_write", full)
    for _ in range(40):
        refused = not spool.append(1, record)
        assert refused == (spool.trouble is not None), "what /readyz says is always of now"
        spool.look_again()
        assert changes_its_mind or spool.trouble == f"the spool {tmp_path} cannot be used: No space left on device"
        spool.done(name for name, _ in spool.oldest(9))
        spool.lose(1, "memory is full")
    assert len(caplog.records) == (3 if changes_its_mind else 2), caplog.text
    assert spool.lost == 40, "each is counted"


@contextmanager
def running(root: Path, name: str) -> Iterator[DiskQueue]:
    """The spool of a replica during its life."""
    spool, lock = held_spool(root, name, 2**24)
    assert lock is not None
    try:
        yield spool
    finally:
        lock.close()


def test_polls_of_a_replica_that_is_gone_are_taken_over_in_order(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, "host_8000") as before:
        for second in range(3):
            before.append(before.next_number(), replace(record, database="a", at=START + timedelta(seconds=second)))
        with running(tmp_path, "host_8001") as beside:
            assert len(beside) == 0 and len(list(before.directory.glob("*.poll"))) == 3, "it still runs"
    with running(tmp_path, "host_8002") as after:
        assert [int((each.at - START).total_seconds()) for _, each in after.oldest(9)] == [0, 1, 2]
        assert after.size == before.size
    assert f"3 polls that wait in {tmp_path}/host_8000 are taken over: that replica is gone" in caplog.text
    assert {each.name for each in tmp_path.iterdir()} == {"host_8001.lock", "host_8002", "host_8002.lock"}


def test_folder_of_a_process_that_runs_is_refused_and_one_of_an_older_latchscope_is_named_and_left(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    way_out = r"in use by another latchscope; give each replica a `replica\.name` of its own"
    with running(tmp_path, "a"), pytest.raises(StoreError, match=way_out), running(tmp_path, "a"):
        pass
    with running(tmp_path, "a"):
        pass
    older = DiskQueue(tmp_path / "host_8000", 2**24)
    older.append(older.next_number(), replace(record, database="a", at=START))
    with running(tmp_path, "host_8001") as after:
        assert len(after) == 0
    assert "start this one with `replica.name` host_8000 once" in caplog.text


def away(*_: object) -> None:
    raise OperationalError("insert", {}, Exception("away"))


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A disk without an answer to any write until the event is set."""
    well = threading.Event()
    write = DiskQueue._write

    def hang(queue: DiskQueue, name: str, data: bytes) -> None:
        well.wait()
        write(queue, name, data)

    monkeypatch.setattr(DiskQueue, "_write", hang)
    monkeypatch.setattr(spool_, "STUCK_SECONDS", 0.0)
    yield well
    well.set()


def test_stuck_disk_holds_up_neither_polls_nor_the_end(
    spool: DiskQueue, record: IngestRecord, stuck: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SimpleNamespace(write=away, reachable=lambda: False, lasting=None, kept=None)
    writer = Writer(store, spool)  # type: ignore[arg-type]
    numbers = iter(range(9))

    def recorded(*_: object, **more: object) -> IngestRecord:
        return replace(record, database="a", at=datetime(2026, 3, 1, 0, 0, next(numbers), tzinfo=UTC))

    monkeypatch.setattr(module, "record_of", recorded)
    monkeypatch.setattr(CompleteDiagnoses, "due", lambda *_: True)
    writer.start()
    for _ in range(4):
        within(60, lambda: writer.keep(None, None))  # type: ignore[arg-type]
    trouble = str(writer.trouble())
    assert "4 in memory" in trouble and f"the spool {spool.directory} has not answered for" in trouble
    within(60, writer.stop)
    assert spool.lost == 4, "a poll that neither store nor disk takes is reported as lost"
