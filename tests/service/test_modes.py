"""Only the owner can read what latchscope writes, and files that an older one left open are closed."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.store.disk_queue import DiskQueue
from service.store.record import IngestRecord
from service.store.repository import Repository
from tests.oracle_standin.deadline import HANGS
from tests.service.running import demo
from tests.started import Started


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Name → mode of everything below a folder."""
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.rglob("*")}


@pytest.mark.slow
def test_service_writes_for_its_owner_alone(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        running.wait(lambda: any(one["up"] for one in running.json("/api/v1/databases")))
        (folder,) = tmp_path.glob("latchscope-*")
        found = modes(folder)
        running.stop(signal.SIGTERM)
    assert {"demo.db", "demo.db-wal"} <= set(found)
    assert {mode for name, mode in found.items() if not name.endswith("-spool")} == {"0o600"}


def test_files_of_commands_are_for_their_owner_alone(tmp_path: Path) -> None:
    config = tmp_path / "latchscope.yaml"
    config.write_text("databases:\n  - {name: demo, dsn: 'demo:undo-storm'}\n")
    capture = tmp_path / "demo.json"
    words = ("capture", "demo", "-o", str(capture), "--seconds", "0", "--config", str(config))
    assert Started("-m", "service", *words).wait(HANGS) == 0
    assert modes(tmp_path)["demo.json"] == "0o600"


def test_store_and_spool_that_were_left_open_are_closed(tmp_path: Path, record: IngestRecord) -> None:
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    store.write([record])
    spool = DiskQueue(tmp_path / "store.db-spool", 2**20)
    spool.append(1, record)
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    again = Repository(f"sqlite:///{tmp_path}/store.db")
    spool = DiskQueue(tmp_path / "store.db-spool", 2**20)
    spool.append(2, record)
    found = modes(tmp_path)
    for each in (store, again):
        each.close()
    assert {found[name] for name in ("store.db", "store.db-wal", "store.db-shm")} == {"0o600"}
    assert found["store.db-spool"] == "0o700"
    assert {mode for name, mode in found.items() if name.endswith("2-undo-storm.poll")} == {"0o600"}
