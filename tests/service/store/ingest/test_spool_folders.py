"""Spool folders of replicas: the next replica, whatever its name, brings in what a dead one left behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.store.ingest.disk_queue import DiskQueue
from service.store.ingest.record import IngestRecord
from service.store.ingest.spool_folders import held_spool
from service.store.schema.engine import StoreError

START = datetime(2026, 3, 1, tzinfo=UTC)


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


def test_folder_of_a_process_that_runs_is_refused(tmp_path: Path) -> None:
    way_out = r"in use by another latchscope; give each replica a `replica\.name` of its own"
    with running(tmp_path, "a"), pytest.raises(StoreError, match=way_out), running(tmp_path, "a"):
        pass
    with running(tmp_path, "a"):
        pass


def test_polls_of_an_older_latchscope_are_named_and_left(
    tmp_path: Path, record: IngestRecord, caplog: pytest.LogCaptureFixture
) -> None:
    older = DiskQueue(tmp_path / "host_8000", 2**24)
    older.append(older.next_number(), replace(record, database="a", at=START))
    with running(tmp_path, "host_8001") as after:
        assert len(after) == 0
    assert "start this one with `replica.name` host_8000 once" in caplog.text
