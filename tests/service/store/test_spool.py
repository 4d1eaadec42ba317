"""The spool: whatever the disk does, latchscope reports it, survives it, and counts it once."""

import errno
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from service.store.ingest.disk_queue import DiskQueue
from service.store.ingest.record import IngestRecord, to_bytes
from service.store.writer import SpoolMetrics

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
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
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
    registry.register(SpoolMetrics(spool))
    told = generate_latest(registry).decode()
    assert "latchscope_spool_polls 3.0" in told
    assert f"latchscope_spool_bytes {float(spool.size)}" in told
    assert "latchscope_spool_lost_polls_total 2.0" in told


def test_disk_queue_that_cannot_be_written_says_so(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    spool = DiskQueue(tmp_path / "file" / "spool", 2**20)
    assert spool.append(1, record) is False
    assert "spool cannot be used: Not a directory" in caplog.text


def test_disk_queue_sets_a_damaged_poll_aside(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    for number in (1, 2):
        spool.append(number, record)
    first = next(tmp_path.glob("*1-*.poll"))
    first.write_bytes(b"\x00" * 10)
    assert [name for name, _ in spool.oldest(9)] == ["0000000000000002-undo-storm.poll"]
    assert len(spool) == 1 and first.with_name(f"{first.name}.refused").exists()
    assert "it cannot be read" in caplog.text


def test_disk_queue_sorts_late_numbers_into_place(tmp_path: Path, record: IngestRecord) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    for number in (2, 3, 1):
        spool.append(number, record)
    assert [name[:16].lstrip("0") for name, _ in spool.oldest(9)] == ["1", "2", "3"]


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


def test_disk_queue_sets_an_entry_aside_that_turned_into_a_folder(tmp_path: Path, record: IngestRecord) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    spool.append(1, record)
    (tmp_path / "0000000000000001-undo-storm.poll").unlink()
    (tmp_path / "0000000000000001-undo-storm.poll").mkdir()
    spool.append(2, record)
    assert [name[:16] for name, _ in spool.oldest(9)] == ["0000000000000002"]
    assert len(spool) == 1


def test_disk_queue_counts_a_poll_that_somebody_removed(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    spool.append(1, record)
    (tmp_path / "0000000000000001-undo-storm.poll").unlink()
    assert spool.oldest(9) == [] and len(spool) == 0 and spool.size == 0
    assert spool.lost == 1
    assert "somebody removed 0000000000000001-undo-storm.poll" in caplog.text


def test_disk_queue_removes_the_drafts_of_a_killed_process_and_of_a_full_disk(
    tmp_path: Path, record: IngestRecord, disk: Disk
) -> None:
    (tmp_path / "0000000000000002-b.poll.draft").write_bytes(b"half")
    spool = DiskQueue(tmp_path, 2**20)
    assert list(tmp_path.iterdir()) == []
    disk.refuses = {"rename"}
    assert not spool.append(1, record)
    assert list(tmp_path.iterdir()) == []


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


def test_disk_queue_survives_that_a_poll_cannot_be_set_aside(tmp_path: Path, record: IngestRecord, disk: Disk) -> None:
    spool = DiskQueue(tmp_path, 2**20)
    spool.append(1, record)
    (tmp_path / "0000000000000001-undo-storm.poll").write_bytes(b"noise")
    disk.refuses = {"rename"}
    assert spool.oldest(9) == [] and len(spool) == 0
    assert "Read-only" in str(spool.trouble)


def test_disk_queue_that_cannot_be_looked_at_says_so(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    assert DiskQueue(tmp_path / "spool", 2**20).trouble == f"the spool {tmp_path}/spool cannot be used: Not a directory"
