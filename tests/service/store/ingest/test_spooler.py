"""The spooler: a stuck disk delays neither polls nor the end of the service, and both report it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from service.store import writer as module
from service.store.ingest import disk_queue
from service.store.ingest.disk_queue import DiskQueue
from service.store.ingest.record import IngestRecord
from service.store.writer import Writer
from tests.oracle_standin.deadline import within


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
    monkeypatch.setattr(disk_queue, "STUCK_SECONDS", 0.0)
    yield well
    well.set()


def test_stuck_disk_holds_up_neither_polls_nor_the_end(
    spool: DiskQueue, record: IngestRecord, stuck: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SimpleNamespace(write=away, reachable=lambda: False)
    writer = Writer(store, spool)  # type: ignore[arg-type]
    numbers = iter(range(9))

    def recorded(*_: object) -> IngestRecord:
        return replace(record, database="a", at=datetime(2026, 3, 1, 0, 0, next(numbers), tzinfo=UTC))

    monkeypatch.setattr(module, "record_of", recorded)
    writer.start()
    for _ in range(4):
        within(60, lambda: writer.keep(None, None))  # type: ignore[arg-type]
    assert "4 in memory" in str(writer.trouble()) and f"the spool {spool.directory} has not answered for" in str(
        writer.trouble()
    )
    within(60, writer.stop)
    assert spool.lost == 4, "a poll that neither store nor disk takes is reported as lost"
