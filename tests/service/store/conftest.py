"""A spool for polls."""

from pathlib import Path

import pytest

from service.store.disk_queue import DiskQueue


@pytest.fixture
def spool(tmp_path: Path) -> DiskQueue:
    return DiskQueue(tmp_path / "spool", 10 * 2**20)
