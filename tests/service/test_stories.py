"""The stories of docs/security.md about the store: the sentences stand here as comments, in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collectors.model import Snapshot
from rules.model import Diagnosis
from service.state.board import MonitoredDatabase, PollRecord
from service.store.disk_queue import DiskQueue
from service.store.repository import Repository
from service.store.tables import millis
from service.store.writer import Writer
from tests.service.noting import NOTED
from tests.service.nth_failure import Nth
from tests.service.running import ASK, serve
from tests.service.standin import Fleet, becomes, idle
from tests.service.stores import Place, Postgres
from tests.service.test_crash import noted, stored

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_traces")]

FIRST, SECOND = "first", "second"


@contextmanager
def two_databases(folder: Path) -> Iterator[tuple[Fleet, MonitoredDatabase, MonitoredDatabase]]:
    """Two databases on the stand-in that are polled."""
    with Fleet({FIRST: idle(), SECOND: idle()}, folder) as fleet:
        fleet.start()
        polled_on(fleet, FIRST, SECOND)
        yield fleet, fleet[FIRST], fleet[SECOND]


def polled_on(fleet: Fleet, *names: str) -> None:
    """Two more polls of these databases."""
    for name in names:
        before = len(fleet.polled[name])
        becomes(lambda name=name, before=before: len(fleet.polled[name]) > before + 1, f"{name} is polled on")
        assert fleet[name].up


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    nth, place, taken = Nth(monkeypatch, disk), Place("sqlite", disk, None), set[tuple[str, int]]()
    store = Repository(place.url)
    writer, noting = Writer(store, DiskQueue(disk / "spool", 2**30)), Fleet.keep

    def keep(fleet: Fleet, snapshot: Snapshot, diagnosis: Diagnosis, poll_record: PollRecord | None = None) -> None:
        writer.keep(snapshot, diagnosis, poll_record)
        taken.add((snapshot.database, millis(snapshot.taken_at)))
        noting(fleet, snapshot, diagnosis, poll_record)

    monkeypatch.setattr(Fleet, "keep", keep)
    writer.start()
    with two_databases(tmp_path) as (fleet, _, _):
        # When the disk of store and spool is full
        nth.switch_on("write", 1, lasting=True)
        # The spool's trouble may be known first. The store's is, once the transaction of that second was tried.
        becomes(lambda: "in memory" in (writer.trouble() or ""), "the problem of the store is named")
        polled_on(fleet, FIRST, SECOND)
        # When the disk has room again, then every poll is in the store
        assert nth.switch_off(), "nothing was refused"
        until_then = set(taken)
        becomes(lambda: until_then <= stored(place), "every poll that was taken is stored")
        becomes(lambda: writer.trouble() is None, "and the trouble is over")
        assert writer.spool.lost == 0
    writer.stop()
    store.close()


def test_postgresql_that_freezes(shared: Place, tmp_path: Path, postgres: Postgres) -> None:
    with serve(
        tmp_path,
        databases=[
            {"name": name, "dsn": f"demo:{name}", "interval": "500ms"} for name in ("undo-storm", "parse-storm")
        ],
        store=shared.url,
        defaults={"budget": 1},
        spool={"directory": str(tmp_path / "spool")},
        environment={NOTED: str(tmp_path / "polls.txt")},
    ) as running:
        running.wait(lambda: len(noted(shared)) > 3)
        # When PostgreSQL answers nothing any more
        with postgres.frozen():
            # Then `/readyz` answers 503 and says why, and `/metrics` and the list of databases are answered
            running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 503)
            assert "store" in ASK.get(f"{running.url}/readyz").json()["status"]
            for path in ("/metrics", "/api/v1/databases"):
                assert ASK.get(f"{running.url}{path}").status_code == 200
            polls = len(noted(shared))
        # When PostgreSQL goes on, then `/readyz` answers 200 without a restart, and the databases are polled again
        running.wait(lambda: ASK.get(f"{running.url}/readyz").status_code == 200)
        becomes(lambda: len(noted(shared)) > polls + 3, "polls go on")
        taken = set(noted(shared))
        becomes(lambda: taken <= stored(shared), "every poll that was taken is stored")
