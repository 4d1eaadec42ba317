"""Stories of docs/security.md: the sentences stand here as comments, in order. Those of replicas are in test_replicas.py."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from collectors.errors import SessionError
from collectors.model import Snapshot
from rules.cause import catalogue
from rules.model import Diagnosis
from service.state.board import MonitoredDatabase, PollRecord
from service.state.replicas import Leases
from service.store.repository import Repository
from service.store.spool import DiskQueue
from service.store.tables import millis
from service.store.writer import Writer
from service.watch.actions import ActionRunning, OperatorActions
from service.watch.connect import Connector
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.faults import Stage
from tests.oracle_standin.scripted import USER
from tests.service.noting import NOTED
from tests.service.nth_failure import Nth, Traces
from tests.service.running import ASK, serve
from tests.service.standin import QUICK, Fleet, becomes, idle
from tests.service.stores import Place, Postgres
from tests.service.test_crash import noted, stored

pytestmark = pytest.mark.slow

FIRST, SECOND = "first", "second"


@pytest.fixture(autouse=True)
def traces(tmp_path: Path) -> Iterator[None]:
    """And no log has a stack trace."""
    found = Traces()
    logging.getLogger().addHandler(found)
    yield
    logging.getLogger().removeHandler(found)
    assert found.found == []
    for file in tmp_path.glob("*.txt"):
        assert "Traceback" not in file.read_text("utf-8"), file.name


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


def shown_as(database: MonitoredDatabase, words: str) -> None:
    """It is shown as this, and none of its old figures is shown as new."""

    def told() -> bool:
        failure = database.failure
        return failure is not None and f"{failure.kind}: {failure.why}".startswith(words)

    becomes(told, f"it is shown as {words}")
    assert database.published is not None, "there are old ones"
    assert database.current is None and not database.up


def test_listener_that_hangs(tmp_path: Path) -> None:
    with two_databases(tmp_path) as (fleet, first, _):
        service = fleet.services[FIRST]
        # When the listener of the first accepts connections and answers nothing
        service.faults.hang(Stage.ACCEPT)
        service.drop_connections()
        shown_as(first, "network: no answer to the login")
        polled_on(fleet, SECOND)
        # When the listener of the first answers again, then the first is up without a restart
        service.faults.clear()
        becomes(lambda: first.up, "the first is up")
        polled_on(fleet, FIRST, SECOND)


def test_wrong_password(tmp_path: Path) -> None:
    with two_databases(tmp_path) as (fleet, first, _):
        service, worker = fleet.services[FIRST], fleet.workers[FIRST]
        # When the password of the first is changed at the database
        service.accounts.change(USER, "another")
        service.drop_connections()
        shown_as(first, "credential: ORA-01017")
        # And five more polls and five actions cause no other login
        actions = OperatorActions(Connector(QUICK), Leases("a"), lambda name: worker, None)
        polls = service.counters.connections
        for _ in range(5):
            worker.ask_for_samples()
            with suppress(SessionError, ActionRunning):
                actions.confirm(first, catalogue()["undo-segments"])
            assert not first.up and service.counters.connections == polls
        assert service.counters.failed_logins == 1
        polled_on(fleet, SECOND)
        # When the password file has the new password, then the first is up without a restart
        service.accounts[USER] = Account("another")
        fleet.passwords[FIRST].write_text("another", encoding="utf-8")
        becomes(lambda: first.up, "the first is up")


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
