"""The worker of one database: one login with a refused credential, bugs that do not end the watch, turns of a fleet."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SessionError, SetupError
from collectors.poll import Connection
from service.app import create_app
from service.config.settings import DatabaseSettings, Settings
from service.fleet.coordinator import FleetCoordinator
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector
from service.watch.worker import Worker
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.stage import BEGAN, Client, Kept
from tests.service.standin import QUICK, becomes, idle

TEN_MINUTES = 600.0
HERE = {"host": "127.0.0.1:8000"}


@dataclass
class Site:
    """One database on the stand-in whose account a second wrong password locks, and the file with the credential."""

    listener: Listener
    folder: Path
    interval: float = 15.0

    @property
    def service(self) -> Service:
        return self.listener.services["erp"]

    @property
    def file(self) -> Path:
        return self.folder / "password"

    @property
    def database(self) -> DatabaseSettings:
        dsn = self.listener.dsn("erp")
        return DatabaseSettings(name="erp", dsn=dsn, user=USER, password_file=self.file, interval=self.interval)

    def write(self, password: str) -> None:
        self.file.write_text(password + "\n", encoding="utf-8")

    def worker(self) -> Worker:
        return Worker(MonitoredDatabase(self.database, self.interval), Connector(QUICK), Kept([]))

    @property
    def logins(self) -> int:
        return self.service.counters.logins


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    service = idle()
    service.accounts[USER] = Account(PASSWORD, lock_after=2)
    with Listener({"erp": service}) as listener:
        yield Site(listener, tmp_path)


def live(worker: Worker, seconds: float) -> int:
    """The worker's attempts in so many seconds of simulated time."""
    passed, attempts = 0.0, 0
    while passed < seconds:
        passed += worker.step()
        attempts += 1
    return attempts


def test_standin_worker_logs_in_once_in_ten_minutes_with_a_wrong_password(site: Site) -> None:
    site.write("wrong")
    worker = site.worker()
    attempts = within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert attempts == TEN_MINUTES / site.interval
    assert (site.logins, site.service.counters.failed_logins) == (1, 1)
    failure = worker.watched.failure
    assert failure is not None and failure.kind == "credential"
    assert failure.code == "ORA-01017" and failure.next_attempt is None
    assert not site.service.accounts[USER].locked


def test_standin_worker_logs_in_again_when_the_credential_changes(site: Site) -> None:
    site.service.accounts.lock(USER)
    site.write("forgotten")
    worker = site.worker()
    within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert site.logins == 1
    site.service.accounts.unlock(USER)
    within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert site.logins == 1, "unlocking the account changes nothing: the password is still the refused one"
    site.write(PASSWORD)
    within(HANGS, worker.step)
    assert site.logins == 2 and worker.watched.up
    within(HANGS, worker.stop)


def test_standin_worker_tries_a_login_resumed_by_an_operator_once_more(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.write(PASSWORD)
    site.service.accounts.lock(USER)
    fleets: list[FleetCoordinator] = []
    monkeypatch.setattr(
        "service.fleet.build.FleetCoordinator", lambda *given: fleets.append(FleetCoordinator(*given)) or fleets[-1]
    )
    monkeypatch.setattr("service.watch.worker.Worker.start", lambda worker: None)
    settings = Settings(store=f"sqlite:///{site.folder}/store.db", oracle=QUICK, databases=[site.database])
    app = Client(create_app(settings))
    fleets[0].step()
    worker = fleets[0].worker("erp")
    assert worker is not None
    within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert site.logins == 1
    with caplog.at_level(logging.INFO, "latchscope.audit"):
        answer = app.get("/api/v1/databases/erp/login/resume", "POST", headers=HERE)
    assert answer.json() == {"database": "erp", "resumed": True}
    assert "this machine: resume login on erp: resumed" in caplog.text
    within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert site.logins == 2, "one more attempt, and no further one"
    site.service.accounts.unlock(USER)
    app.get("/api/v1/databases/erp/login/resume", "POST", headers=HERE)
    within(HANGS, worker.step)
    assert site.logins == 3 and worker.watched.up
    assert not app.get("/api/v1/databases/erp/login/resume", "POST", headers=HERE).json()["resumed"]


def test_standin_worker_keeps_its_session_through_slow_statements(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write(PASSWORD)
    worker, backend = site.worker(), site.service.backend
    within(HANGS, worker.step)
    at_once = backend.answer
    monkeypatch.setattr(backend, "answer", lambda *given: replace(at_once(*given), delay=60.0))
    within(HANGS, worker.step)
    assert worker.watched.failure is not None and "two statements in a row" in worker.watched.failure.why
    monkeypatch.undo()
    within(HANGS, worker.step)
    assert worker.watched.up and site.logins == 1
    within(HANGS, worker.stop)


@dataclass
class Opener:
    """Opens the given connection, or raises the given error."""

    outcomes: list[Connection | Exception] = field(default_factory=list)
    word: str | Exception = "secret"
    opened: int = 0

    def open(self, watched: MonitoredDatabase) -> Connection:
        self.opened += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def credential(self, watched: MonitoredDatabase) -> str:
        if isinstance(self.word, Exception):
            raise self.word
        return self.word


def scripted() -> ScriptedDatabase:
    return ScriptedDatabase(scenarios()["busy-but-fine"], BEGAN, monotonic)


def worker_of(*outcomes: Connection | Exception, interval: float = 15.0) -> tuple[Worker, Opener]:
    opener = Opener(list(outcomes))
    database = DatabaseSettings(name="erp", dsn="demo:busy-but-fine")
    return Worker(MonitoredDatabase(database, interval), opener, Kept([])), opener


def test_unreadable_credential_does_not_count_as_new() -> None:
    worker, opener = worker_of(CredentialError("ORA-01017: refused"), scripted())
    worker.step()
    opener.word = SetupError("erp: password_file is being replaced")
    assert [worker.step() for _ in range(3)] == [15.0] * 3
    assert opener.opened == 1 and worker.watched.failure and worker.watched.failure.kind == "credential"
    opener.word = "secret"
    worker.step()
    assert opener.opened == 1
    opener.word = "a new one"
    worker.step()
    assert opener.opened == 2 and worker.watched.failure is None


def test_credential_changed_during_the_refused_login_counts_as_new() -> None:
    worker, opener = worker_of(CredentialError("ORA-01017: refused"), scripted())
    opened = opener.open

    def rotated_meanwhile(watched: MonitoredDatabase) -> Connection:
        opener.word = "rotated"
        return opened(watched)

    opener.open = rotated_meanwhile  # type: ignore[method-assign]
    worker.step()
    worker.step()
    assert opener.opened == 2 and worker.watched.up


def test_bug_is_logged_once_and_the_worker_continues(caplog: pytest.LogCaptureFixture) -> None:
    worker, _ = worker_of(*[KeyError("ours")] * 3, scripted())
    for _ in range(3):
        worker.step()
    (record,) = caplog.records
    assert record.exc_info is not None and "KeyError inside latchscope" in record.getMessage()
    assert worker.watched.failure and worker.watched.failure.kind == "bug"
    worker.step()
    assert worker.watched.up


def test_failure_keeps_the_time_of_the_first_in_a_row() -> None:
    worker, _ = worker_of(SessionError("gone"), SessionError("gone"), SessionError("still gone"))
    worker.step()
    assert worker.watched.failure
    first = worker.watched.failure.since
    worker.step()
    worker.step()
    assert worker.watched.failure.since == first and worker.watched.failure.why == "still gone"


def test_resume_login_does_not_hasten_polls_that_succeed() -> None:
    worker, opener = worker_of(scripted(), interval=30.0)
    worker.start()
    becomes(lambda: worker.watched.up, "the first poll")
    published = worker.watched.published
    assert not worker.resume_login()
    worker.join(0.2)
    assert worker.watched.published is published and opener.opened == 1
    worker.stop()
    worker.join(HANGS)
