"""A poll as the store takes it, and a spool for it."""

from pathlib import Path

import pytest

from service.store.record import IngestRecord, record_of
from service.store.spool import DiskQueue
from tests.service.stage import Stage


@pytest.fixture
def record(stage: Stage) -> IngestRecord:
    published = stage.poll("undo-storm", at=40)
    made = record_of(published.snapshot, published.diagnosis, None)
    assert made is not None
    return made


@pytest.fixture
def spool(tmp_path: Path) -> DiskQueue:
    return DiskQueue(tmp_path / "spool", 10 * 2**20)
