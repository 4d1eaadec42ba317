"""The worker of one database: one login with a refused credential, bugs that do not end the watch, turns of a fleet."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import pstdev
from time import monotonic

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SessionError, SetupError, StartingError
from collectors.model import Binds, Cost
from collectors.poll import Answer, Connection
from service.app import create_app
from service.config.settings import DatabaseSettings, Settings
from service.fleet.coordinator import FleetCoordinator
from service.metrics.exposition import exposition
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector
from service.watch.pipeline import PollContext
from service.watch.worker import (
    FARTHEST_SECONDS,
    LONGEST_PAUSE,
    Worker,
    after_failure,
    felt,
    interval_after,
    nearest,
    turn_of,
)
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.scripted import PASSWORD, USER
from tests.oracle_standin.server import Listener
from tests.service.stage import BEGAN, Client, Kept, Stage
from tests.service.standin import QUICK, becomes, idle

TEN_MINUTES = 600.0
HERE = {"host": "127.0.0.1:8000"}


@dataclass
class WorkerSite:
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
def site(tmp_path: Path) -> Iterator[WorkerSite]:
    service = idle()
    service.accounts[USER] = Account(PASSWORD, lock_after=2)
    with Listener({"erp": service}) as listener:
        yield WorkerSite(listener, tmp_path)


def live(worker: Worker, seconds: float) -> int:
    """The worker's attempts in so many seconds of simulated time."""
    passed, attempts = 0.0, 0
    while passed < seconds:
        passed += worker.step()
        attempts += 1
    return attempts


def test_standin_worker_logs_in_once_in_ten_minutes_with_a_wrong_password(site: WorkerSite) -> None:
    site.write("wrong")
    worker = site.worker()
    attempts = within(HANGS, lambda: live(worker, TEN_MINUTES))
    assert attempts == TEN_MINUTES / site.interval
    assert (site.logins, site.service.counters.failed_logins) == (1, 1)
    failure = worker.watched.failure
    assert failure is not None and failure.kind == "credential"
    assert failure.code == "ORA-01017" and failure.next_attempt is None
    assert not site.service.accounts[USER].locked


def test_standin_worker_logs_in_again_when_the_credential_changes(site: WorkerSite) -> None:
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
    site: WorkerSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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


def test_standin_worker_keeps_its_session_through_slow_statements(
    site: WorkerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_another_credential_counts_as_new_even_during_the_refused_login_and_an_unreadable_one_does_not() -> None:
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
    worker, opener = worker_of(CredentialError("ORA-01017: refused"), scripted())
    opened = opener.open

    def rotated_meanwhile(watched: MonitoredDatabase) -> Connection:
        opener.word = "rotated"
        return opened(watched)

    opener.open = rotated_meanwhile  # type: ignore[method-assign]
    worker.step(), worker.step()
    assert opener.opened == 2 and worker.watched.up


def test_bug_is_logged_once_keeps_the_time_of_the_first_and_the_worker_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker, _ = worker_of(*[KeyError("ours")] * 3, SessionError("gone"), SessionError("still gone"), scripted())
    worker.step()
    assert worker.watched.failure and worker.watched.failure.kind == "bug"
    since = worker.watched.failure.since
    for _ in range(4):
        worker.step()
    bugs = [record for record in caplog.records if record.exc_info]
    assert len(bugs) == 1 and "KeyError inside latchscope" in bugs[0].getMessage()
    assert (worker.watched.failure.since, worker.watched.failure.why) == (since, "still gone")
    worker.step()
    assert worker.watched.up


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


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def pauses(error: Exception, count: int) -> list[float | None]:
    return [after_failure(error, number, middle).pause for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("error", "kind", "first", "last"),
    [
        (CredentialError("ORA-01017"), "credential", [None, None], []),
        (SetupError("DPY-3010"), "setup", [60.0, 60.0], [LONGEST_PAUSE]),
        (StartingError("ORA-01033"), "starting", [3.0] * 40, [LONGEST_PAUSE]),
        (SessionError("gone"), "network", [1.8, 3.6, 7.2, 14.4], [0.9 * LONGEST_PAUSE]),
        (KeyError("ours"), "bug", [1.8, 3.6, 7.2, 14.4], [0.9 * LONGEST_PAUSE]),
    ],
)
def test_failure_is_retried_ever_more_rarely_or_not_at_all(
    error: Exception, kind: str, first: list[float | None], last: list[float]
) -> None:
    assert after_failure(error, 1).kind == kind
    found = pauses(error, 2000)
    assert found[: len(first)] == pytest.approx(first)
    known = [pause for pause in found if pause is not None]
    assert known == sorted(known) and known[-1:] == pytest.approx(last)
    differ = {after_failure(error, 3).pause for _ in range(20)}
    assert len(differ) > 15 or len(first) == 2, "from database to database"
    assert (after_failure(error, 10**6).pause is None) == (kind == "credential")


def test_turns_of_a_fleet_spread_over_the_interval() -> None:
    turns = sorted(turn_of(f"db-{number}", 1000.0, 15.0) - 1000.0 for number in range(500))
    assert turns[0] >= 0 and turns[-1] < 15.0
    assert pstdev(turns) == pytest.approx(15.0 / 12**0.5, rel=0.05)
    assert turn_of("erp", 1000.0, 15.0) == turn_of("erp", turn_of("erp", 1000.0, 15.0) - 14.0, 15.0)


@pytest.mark.parametrize(
    ("recent", "expected"),
    [
        *(([poll, poll], 15.0) for poll in (0.05, 0.15, 0.0)),
        *(([poll, poll], 100 * poll) for poll in (0.3, 3.0)),
        ([60.0, 60.0], 600.0),
        *((recent, 15.0) for recent in ([], [3.0], [3.0, 0.05], [0.05, 3.0], [3.0, 3.0, 0.05])),
    ],
)
def test_interval_grows_when_polls_exceed_their_share_but_for_a_single_one(
    recent: list[float], expected: float
) -> None:
    assert interval_after(recent, 15.0, 0.01) == pytest.approx(expected)


@dataclass
class Dear:
    """Connections to a scripted database whose every statement takes simulated time."""

    stage: Stage
    seconds: float = 0.0

    def open(self, _: MonitoredDatabase) -> Connection:
        self._inner = ScriptedDatabase(scenarios()["busy-but-fine"], self.stage.began, lambda: self.stage.at)
        return self

    def credential(self, _: MonitoredDatabase) -> str:
        return ""

    def query(self, sql: str, binds: Binds) -> Answer:
        self.stage.at += self.seconds
        return self._inner.query(sql, binds)

    def close(self) -> None:
        """Nothing to give back."""


@pytest.fixture
def simulated(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Polls take the time of the stage, at intervals of 15 s."""
    stage["busy-but-fine"].interval = 15.0
    monkeypatch.setattr("service.watch.worker.PollContext", partial(PollContext, clock=lambda: stage.at))
    return stage


def test_worker_slows_down_for_expensive_polls_and_speeds_up_again(simulated: Stage) -> None:
    watched, dear = simulated["busy-but-fine"], Dear(simulated)
    worker = Worker(watched, dear, simulated.keeper, budget=0.01)
    found = []
    for dear.seconds in (0.0, 0.2, 0.2, 0.2, 0.0):
        found.append(worker.step())
        simulated.at += found[-1]
        page = exposition([watched], None)[0].decode()
        (told,) = re.findall(r"^latchscope_poll_interval_seconds\{.*\} (\S+)$", page, re.MULTILINE)
        assert float(told) == pytest.approx(found[-1])
    assert found[0] == found[1] == found[4] == 15.0
    assert all(45.0 <= pause <= 90.0 for pause in found[2:4])


@pytest.mark.parametrize("seconds", [0.012, 0.2])
def test_distance_does_not_lengthen_the_interval(seconds: float, simulated: Stage) -> None:
    worker = Worker(simulated["busy-but-fine"], Dear(simulated, seconds), simulated.keeper, budget=0.01)
    assert [worker.step() for _ in range(4)] == [15.0] * 4


def test_felt_is_what_exceeds_the_way_there_and_back() -> None:
    costs = [Cost(0.012, 1, 1), Cost(0.512, 3, 1), Cost(0.036, 4000, 3)]
    assert nearest(costs) == pytest.approx(0.012) and felt(costs, nearest(costs)) == pytest.approx(0.5)
    assert nearest([]) == nearest([Cost(2.0, 1, 1)]) == FARTHEST_SECONDS
    assert felt([Cost(2.0, 1, 1)], FARTHEST_SECONDS) == pytest.approx(1.75), "slow by itself, whatever the distance"


def test_late_polls_tell_the_interval_in_fact(stage: Stage) -> None:
    watched = stage["busy-but-fine"]
    watched.interval = 15.0
    worker = Worker(watched, Dear(stage), stage.keeper)
    worker._poll(1000.0)
    assert watched.pace == 15.0
    for worker._due, at, pace in ((1015.0, 1015.5, 15.0), (1030.0, 1045.5, 30.0), (1060.0, 1060.0, 15.0)):
        worker._poll(at)
        assert watched.pace == pace, "where it is longer, our own queue was too long"
