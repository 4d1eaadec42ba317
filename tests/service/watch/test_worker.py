"""The worker of one database: one login with a refused credential, bugs that do not end the watch, turns of a fleet."""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import pstdev
from time import monotonic
from typing import Any

import pytest

from collectors.capabilities import capabilities
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import BEGIN, END, scenarios
from collectors.errors import (
    Cancelled,
    CredentialError,
    SessionError,
    SessionKept,
    SetupError,
    StartingError,
    StatementError,
)
from collectors.model import Binds, Cost, Missing, Rows
from collectors.ondemand.blockers import AGAIN_SECONDS, ELSEWHERE, VIEW
from collectors.oracle import prepare
from collectors.poll import Answer, Connection
from collectors.registry import view_of
from rules.model import Diagnosis
from service.app import create_app
from service.config.logs import Audit
from service.config.settings import DatabaseSettings, Defaults, OracleSettings, Settings
from service.fleet.coordinator import FleetCoordinator
from service.metrics.exposition import exposition
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector
from service.watch.pipeline import run_poll
from service.watch.worker import (
    FARTHEST_SECONDS,
    LONGEST_PAUSE,
    BlockerLook,
    Worker,
    after_failure,
    felt,
    interval_after,
    nearest,
    turn_of,
)
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer as Scripted
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import ORACLE_19C
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener
from tests.service.stage import BEGAN, Client, Kept, Stage
from tests.service.standin import QUICK, becomes, idle, unlisted

DDL_HANG = scenarios()["ddl-hang"]


class Site:
    """A worker on the hanging database, two seconds older at each poll."""

    def __init__(self, look: BlockerLook, at: float = 70.0, scenario: Scenario = DDL_HANG) -> None:
        self.at, self.looks, self.opened, self.asked = at, 0, 0, list[Binds]()
        self.error: Exception | None = None
        self._script = ScriptedDatabase(scenario, BEGAN, lambda: self.at)
        watched = MonitoredDatabase(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"), 2.0)
        self.worker = Worker(watched, self, Kept([]), 1.0, blockers=look)

    def query(self, sql: str, binds: Binds) -> Answer:
        view = view_of(sql)
        self.at += 2 if view == "v$instance" else 0
        self.asked += [binds] if sql == ELSEWHERE else []
        if view == VIEW:
            self.looks += 1
            if self.error is not None:
                raise self.error
        return self._script.query(sql, binds)

    def close(self) -> None:
        pass

    def open(self, watched: MonitoredDatabase) -> "Site":
        self.opened += 1
        return self

    def credential(self, watched: MonitoredDatabase) -> str:
        return "secret"

    def poll(self, times: int = 1) -> Diagnosis:
        for _ in range(times):
            self.worker.step()
        assert self.worker.watched.published is not None
        return self.worker.watched.published.diagnosis


def test_blockers_are_looked_for_once_a_hang_and_audited(tmp_path: Path) -> None:
    site = Site(BlockerLook(Audit(tmp_path / "audit.log")))
    got = site.poll(12)
    assert site.looks == 1
    assert got.blockers is not None
    (blocker,) = got.blockers.blockers
    assert (blocker.sid, blocker.serial, blocker.object) == (312, 48211, "ORDERS of user number 93")
    assert blocker.held_at_least_seconds is not None and blocker.held_at_least_seconds > 20
    assert blocker.kill == "alter system kill session '312,48211,@1' immediate"
    (line,) = (tmp_path / "audit.log").read_text().splitlines()
    assert {"action": "look for blockers", "database": "ddl-hang", "outcome": "holders found: 1"}.items() <= json.loads(
        line
    ).items()


def test_blockers_vanish_with_the_hang() -> None:
    site = Site(BlockerLook(Audit()), at=120)
    assert site.poll(4).blockers is not None
    assert site.poll(8).blockers is None


def test_hang_is_critical_in_half_a_minute_names_all_of_it_and_its_episode_ends_with_the_holder() -> None:
    site, seen = Site(BlockerLook(Audit()), at=50), list[tuple[float, Diagnosis, list[str]]]()
    while site.at < END + 20:
        got = site.poll()
        seen.append((site.at, got, [episode.cause for episode in site.worker.watched.episodes.open]))
    critical = [at for at, got, _ in seen if got.severity == "critical" and BEGIN < at < END]
    assert critical[0] - BEGIN <= 30
    told = next(step.statement for step in seen[40][1].steps if step.step == "blocker")
    assert BEGIN < seen[40][0] < END
    for named in (
        "Session 312,48211",
        "dc_objects",
        "ORDERS",
        "for at least",
        "Kill no background process",
        "emergency",
    ):
        assert named in told
    assert ["row-cache-lock-hang"] in [open_ones for at, _, open_ones in seen if at < END]
    assert [open_ones for _, _, open_ones in seen][-1] == [], "the episode ended"
    assert seen[-1][1].severity == "info" and seen[-1][1].blockers is None


def test_blockers_of_a_healthy_instance_are_never_looked_for() -> None:
    site = Site(BlockerLook(Audit()), at=10)
    assert site.poll(10).blockers is None
    assert site.looks == 1, "once after the first poll, so that the database has it parsed"


def test_looks_of_a_hang_run_after_the_first_poll_and_again_after_an_hour() -> None:
    look = BlockerLook(Audit())
    site = Site(look, at=10)
    first = site.poll(1)
    assert site.looks == 1 and first.database == "ddl-hang"
    assert site.worker.watched.published is not None
    snapshot = site.worker.watched.published.snapshot
    assert VIEW not in snapshot.costs, "it is no part of a poll"
    began = look._warmed_at
    look.warm(snapshot, site, began + AGAIN_SECONDS - 1.0)
    assert site.looks == 1
    look.warm(snapshot, site, began + AGAIN_SECONDS)
    assert site.looks == 2
    look.warm(snapshot, Site(look), began + AGAIN_SECONDS)
    assert site.looks == 2, "a new session is warmed by itself"


def test_looks_are_not_warmed_while_sessions_hang_or_nobody_knows() -> None:
    site = Site(BlockerLook(Audit()))
    site.poll(1)
    assert site.looks == 0, "the first poll of an instance that hangs"
    assert site.worker.watched.published is not None
    snapshot = site.worker.watched.published.snapshot
    refused = Missing("waiting_sessions", "refused", "ORA-00942", "grant")
    BlockerLook(Audit()).warm(replace(snapshot, readings={**snapshot.readings, "waiting_sessions": refused}), site)
    assert site.looks == 0


def test_look_that_is_cold_is_told_in_the_diagnosis() -> None:
    site = Site(BlockerLook(Audit()), at=10)
    site.error = Cancelled("DPY-4024: call timeout of 3000 ms exceeded")
    site.poll(3)
    assert site.looks == 1, "not again before an hour is over"
    assert site.worker.watched.published is not None
    snapshot = site.worker.watched.published.snapshot
    told = snapshot.read(VIEW)
    assert isinstance(told, Missing) and "cold: its first run, when no session hung, hit its deadline" in told.why
    assert any("cold: its first run" in note for note in site.worker.watched.published.diagnosis.notes)
    (view,) = [view for view in capabilities(snapshot, "U").views if view.view == VIEW]
    assert view.status == "failed" and "cold" in view.why


def test_deadline_of_a_look_that_never_ran_before_is_told_as_such() -> None:
    site = Site(BlockerLook(Audit()))
    site.error = Cancelled("DPY-4024: call timeout of 3000 ms exceeded")
    site.poll(5)
    assert site.worker.watched.published is not None
    told = site.worker.watched.published.snapshot.read(VIEW)
    assert isinstance(told, Missing) and "cold: it had not run before" in told.why


def test_blockers_are_left_alone_where_the_setting_says_off() -> None:
    site = Site(BlockerLook(Audit(), enabled=False))
    got = site.poll(6)
    assert site.looks == 0
    assert got.blockers is not None and [one.sid for one in got.blockers.blockers] == [312], (
        "v$session names it all the same"
    )
    assert Defaults.model_validate({"look_for_blocker": False}).look_for_blocker == "off", "YAML reads off as false"
    assert Defaults().look_for_blocker == "on"


def test_blockers_that_were_not_found_are_looked_for_again_after_a_minute(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"))
    stage.poll_all(98, 100)
    hang = stage["ddl-hang"].published.diagnosis  # type: ignore[union-attr]
    nobody = ScriptedDatabase(scenarios()["healthy-19c"], BEGAN, lambda: 1.0)
    look, asked = BlockerLook(Audit()), list[float]()
    for now in (0.0, 15.0, 59.0, 61.0, 90.0, 122.0):
        before = look.found
        look.after(hang, nobody, now)
        asked += [now] if look.found is not before else []
    assert asked == [0.0, 61.0, 122.0]
    look.after(replace_waiting(hang), nobody, 123.0)
    assert look.found is None


def replace_waiting(hang: Diagnosis) -> Diagnosis:
    return hang.model_copy(update={"waiting": ()})


@pytest.mark.parametrize("error", [StatementError("ORA-01013"), SessionError("ORA-03113")])
def test_blockers_that_cannot_be_read_cost_no_poll(error: Exception) -> None:
    site = Site(BlockerLook(Audit()))
    site.error = error
    got = site.poll(5)
    assert site.looks == 1
    assert got.severity == "critical" and site.worker.watched.failure is None


def hanging(**holder: Any) -> Scenario:
    """ddl-hang with another holder, and five sessions that wait for it in the library cache."""
    (hang,) = scenarios()["ddl-hang"].hangs
    changed = replace(hang, holder=replace(hang.holder, **holder), in_library_cache=5)
    return replace(scenarios()["ddl-hang"], hangs=(changed,), cluster="shop")


def test_holder_on_another_instance_is_asked_for_and_told_with_its_serial_number(tmp_path: Path) -> None:
    site = Site(BlockerLook(Audit(tmp_path / "audit.log")), scenario=hanging(instance=2))
    got = site.poll(8)
    assert site.asked == [{"instance": 2, "sid": 312}], "one session, once"
    assert got.blockers is not None
    (blocker,) = got.blockers.blockers
    assert (blocker.instance, blocker.sid, blocker.serial, blocker.cache) == (2, 312, 48211, "dc_objects")
    assert blocker.kill is None and "the mode in which it holds" in (blocker.no_kill or "")
    assert len((tmp_path / "audit.log").read_text().splitlines()) == 1


def test_holder_on_the_same_instance_asks_no_other_one() -> None:
    site = Site(BlockerLook(Audit()), scenario=hanging())
    site.poll(8)
    assert (site.looks, site.asked) == (1, [])


def test_waiters_in_the_library_cache_are_told_beside_those_of_the_row_cache() -> None:
    got = Site(BlockerLook(Audit()), scenario=hanging()).poll(8)
    (told,) = [step.statement for step in got.steps if step.step == "library cache"]
    assert "5 sessions waited for library cache lock (type 4)" in told and "behind session 312 on instance 1" in told
    assert "both waits should end with it" in told


class StuckLook(ScriptedBackend):
    """A database whose v$rowcache_parent does not answer within any reasonable time."""

    def answer(self, service: str, sql: str, binds: Mapping[str, object], /) -> Scripted:
        told = super().answer(service, sql, binds)
        return replace(told, delay=20.0) if view_of(sql) == VIEW else told


def test_look_that_hangs_ends_at_its_own_deadline_and_the_polls_go_on(tmp_path: Path) -> None:
    prepare("thin")
    moment = [0.0]
    service = Service(StuckLook(scenarios()["ddl-hang"], lambda: moment[0]), {USER: Account(PASSWORD)}, ORACLE_19C)
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    with Listener({"hang": service}) as listener:
        database = DatabaseSettings(
            name="hang", dsn=listener.dsn("hang"), user=USER, password_file=tmp_path / "password", interval=15
        )
        watched = MonitoredDatabase(database, 15.0)
        patient = Connector(OracleSettings(connect_timeout=60, statement_timeout=60))
        worker = Worker(watched, patient, Kept([]), 1.0, blockers=BlockerLook(Audit(tmp_path / "audit.log")))
        for moment[0] in (70.0, 85.0, 100.0, 115.0):
            within(HANGS, worker.step)
            assert watched.failure is None
    assert watched.published is not None
    got = watched.published.diagnosis
    assert got.severity == "critical" and got.blockers is not None
    assert "hit its deadline" in (got.blockers.unknown or "")
    assert [blocker.sid for blocker in got.blockers.blockers] == [312], "the waiting sessions name it all the same"
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [line["action"] for line in lines] == ["look for blockers"] and "deadline" in lines[0]["outcome"]
    assert service.counters.logins == 1, "the session answered a ping and was kept"
    assert unlisted({"hang": service}) == set() and any(VIEW in text for text in service.texts)
    assert not listener.problems


def test_look_that_loses_its_session_is_audited(tmp_path: Path) -> None:
    site = Site(BlockerLook(Audit(tmp_path / "audit.log")))
    site.error = SessionError("ORA-03113")
    assert site.poll(5).blockers is not None
    lines = (tmp_path / "audit.log").read_text().splitlines() if (tmp_path / "audit.log").exists() else []
    assert ["ORA-03113" in json.loads(line)["outcome"] for line in lines] == [True]


def test_look_that_ends_a_poll_but_not_its_session_costs_no_login() -> None:
    site = Site(BlockerLook(Audit()))
    site.error = SessionKept("no new session opens, so the old one is kept")
    site.poll(5)
    assert (site.looks, site.opened) == (1, 1)


def test_blockers_are_told_over_rest_and_in_the_text(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"))
    stage.poll_all(98, 100)
    client = stage.app()
    found = client.get("/api/v1/databases/ddl-hang/blockers").json()
    assert [(one["sid"], one["instance"], one["kill"]) for one in found["blockers"]] == [(312, 1, None)]
    assert client.get("/api/v1/databases/nobody/blockers").status_code == 404
    (chain,) = found["chains"]
    assert (chain["end"]["sid"], chain["end"]["instance"], chain["action"]) == (312, 1, None)
    assert {"fact", "query", "instance"} == set(chain["missing"][0])
    assert "wait behind session 312 on instance 1" in client.get("/db/ddl-hang").text


def test_blockers_of_nobody_are_an_empty_list(stage: Stage) -> None:
    stage.watch(DatabaseSettings(name="healthy-19c", dsn="demo:healthy-19c"))
    stage.poll_all(98, 100)
    told = stage.app().get("/api/v1/databases/healthy-19c/blockers").json()
    assert told == {"blockers": [], "chains": [], "chains_left_out": 0, "unknown": None, "library_cache": []}


def test_blockers_are_kept_with_the_snapshot() -> None:
    site = Site(BlockerLook(Audit()))
    site.poll(8)
    published = site.worker.watched.published
    assert published is not None and isinstance(published.snapshot.read(VIEW), Rows)


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


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def pauses(error: Exception, count: int) -> list[float | None]:
    return [after_failure(error, number, middle).pause for number in range(1, count + 1)]


def test_refused_credential_is_not_retried() -> None:
    assert after_failure(CredentialError("ORA-01017"), 1).pause is None


def test_starting_instance_is_retried_in_seconds_then_ever_more_rarely() -> None:
    found = [pause or 0.0 for pause in pauses(StartingError("ORA-01033"), 2000)]
    assert found[:40] == [3.0] * 40 and found[-1] == LONGEST_PAUSE
    assert found == sorted(found)


def test_pauses_differ_from_database_to_database() -> None:
    for error in (StartingError("ORA-12514"), SessionError("gone")):
        assert len({after_failure(error, 3).pause for _ in range(20)}) > 15


@pytest.mark.parametrize(("error", "kind"), [(SessionError("gone"), "network"), (KeyError("ours"), "bug")])
def test_network_errors_and_bugs_are_retried_ever_more_rarely(error: Exception, kind: str) -> None:
    found = [pause or 0.0 for pause in pauses(error, 12)]
    assert after_failure(error, 1).kind == kind
    assert found[:4] == pytest.approx([1.8, 3.6, 7.2, 14.4])
    assert max(found) <= LONGEST_PAUSE and after_failure(error, 10**6).pause is not None


def test_setup_error_is_retried_after_a_minute() -> None:
    assert pauses(SetupError("DPY-3010"), 2) == [60.0, 60.0]


def test_turns_of_a_fleet_spread_over_the_interval() -> None:
    turns = sorted(turn_of(f"db-{number}", 1000.0, 15.0) - 1000.0 for number in range(500))
    assert turns[0] >= 0 and turns[-1] < 15.0
    assert pstdev(turns) == pytest.approx(15.0 / 12**0.5, rel=0.05)
    assert turn_of("erp", 1000.0, 15.0) == turn_of("erp", turn_of("erp", 1000.0, 15.0) - 14.0, 15.0)


@pytest.mark.parametrize(
    ("poll", "expected"), [(0.05, 15.0), (0.15, 15.0), (0.3, 30.0), (3.0, 300.0), (60.0, 600.0), (0.0, 15.0)]
)
def test_interval_grows_when_polls_exceed_their_share(poll: float, expected: float) -> None:
    assert interval_after([poll, poll], 15.0, 0.01) == pytest.approx(expected)


def test_interval_is_unchanged_by_a_single_expensive_poll() -> None:
    for recent in ([], [3.0], [3.0, 0.05], [0.05, 3.0], [3.0, 3.0, 0.05]):
        assert interval_after(recent, 15.0, 0.01) == 15.0


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


def test_worker_slows_down_for_expensive_polls_and_speeds_up_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, dear = stage["busy-but-fine"], Dear(stage)
    watched.interval = 15.0
    monkeypatch.setattr(
        "service.watch.worker.run_poll", lambda *given, **more: run_poll(*given, clock=lambda: stage.at, **more)
    )
    worker = Worker(watched, dear, stage.keeper, budget=0.01)
    found = []
    for dear.seconds in (0.0, 0.2, 0.2, 0.2, 0.0):
        found.append(worker.step())
        stage.at += found[-1]
        page = exposition([watched], None)[0].decode()
        (told,) = re.findall(r"^latchscope_poll_interval_seconds\{.*\} (\S+)$", page, re.MULTILINE)
        assert float(told) == pytest.approx(found[-1])
    assert found[0] == found[1] == found[4] == 15.0
    assert all(45.0 <= pause <= 90.0 for pause in found[2:4])


@pytest.mark.parametrize("seconds", [0.012, 0.2])
def test_distance_does_not_lengthen_the_interval(seconds: float, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = stage["busy-but-fine"]
    watched.interval = 15.0
    monkeypatch.setattr(
        "service.watch.worker.run_poll", lambda *given, **more: run_poll(*given, clock=lambda: stage.at, **more)
    )
    worker = Worker(watched, Dear(stage, seconds), stage.keeper, budget=0.01)
    assert [worker.step() for _ in range(4)] == [15.0] * 4


def test_felt_is_what_exceeds_the_way_there_and_back() -> None:
    costs = [Cost(0.012, 1, 1), Cost(0.512, 3, 1), Cost(0.036, 4000, 3)]
    assert nearest(costs) == pytest.approx(0.012) and felt(costs, nearest(costs)) == pytest.approx(0.5)
    assert nearest([]) == nearest([Cost(2.0, 1, 1)]) == FARTHEST_SECONDS
    assert felt([Cost(2.0, 1, 1)], FARTHEST_SECONDS) == pytest.approx(1.75), "slow by itself, whatever the distance"


def test_late_polls_tell_the_interval_in_fact(stage: Stage) -> None:
    watched, dear = stage["busy-but-fine"], Dear(stage)
    watched.interval = 15.0
    worker = Worker(watched, dear, stage.keeper)
    worker._poll(1000.0)
    assert watched.pace == 15.0
    worker._due = 1015.0
    worker._poll(1015.5)
    assert watched.pace == 15.0
    worker._due = 1030.0
    worker._poll(1045.5)
    assert watched.pace == 30.0, "our own queue was too long"
    worker._due = 1060.0
    worker._poll(1060.0)
    assert watched.pace == 15.0
