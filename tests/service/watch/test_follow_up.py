"""What follows a poll: who holds what sessions hang on, looked for once a hang, at its own deadline, and audited."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collectors.capabilities import capabilities
from collectors.demo.database import ScriptedDatabase
from collectors.demo.load import Scenario
from collectors.demo.scenarios import scenarios
from collectors.errors import (
    Cancelled,
    SessionError,
    SessionKept,
    StatementError,
    ViewRefused,
)
from collectors.model import Binds, Missing, Rows, Snapshot
from collectors.ondemand import changes
from collectors.ondemand.blockers import AGAIN_SECONDS, ELSEWHERE, VIEW
from collectors.ondemand.changes import PATCHES
from collectors.ondemand.changes import RARE as VIEWS
from collectors.oracle import prepare
from collectors.poll import Answer
from collectors.registry import collectors, view_of
from collectors.release import text_for
from rules.model import Diagnosis
from service.config.logs import Audit
from service.config.settings import DatabaseSettings, Defaults, OracleSettings
from service.state.board import MonitoredDatabase
from service.watch.connect import Connector
from service.watch.follow_up import BlockerLook, ChangesLook, FollowUp, HourlyLook
from service.watch.worker import (
    Worker,
)
from tests.oracle_standin.accounts import Account
from tests.oracle_standin.backend import Answer as Scripted
from tests.oracle_standin.databases import Service
from tests.oracle_standin.deadline import HANGS, within
from tests.oracle_standin.profiles import ORACLE_12_1, ORACLE_19C
from tests.oracle_standin.scripted import PASSWORD, USER, ScriptedBackend
from tests.oracle_standin.server import Listener
from tests.service.stage import BEGAN, Kept, Stage
from tests.service.standin import unlisted

DDL_HANG, UNDO_STORM = scenarios()["ddl-hang"], scenarios()["undo-storm"]
BEGIN, END = DDL_HANG.hangs[0].begin, DDL_HANG.hangs[0].end


class Site:
    """A worker on the hanging database, two seconds older at each poll."""

    def __init__(self, look: BlockerLook, at: float = 70.0, scenario: Scenario = DDL_HANG) -> None:
        self.at, self.looks, self.opened, self.asked = at, 0, 0, list[Binds]()
        self.error: Exception | None = None
        self._script = ScriptedDatabase(scenario, BEGAN, lambda: self.at)
        watched = MonitoredDatabase(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang"), 2.0)
        self.worker = Worker(watched, self, Kept([]), 1.0, follow_up=FollowUp(watched, look))

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
    assert blocker.kill == "alter system cancel sql '312, 48211, @1'"
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
    look.warm(snapshot, site, began + AGAIN_SECONDS + 1.0)
    assert site.looks == 2
    look.warm(snapshot, Site(look), began + AGAIN_SECONDS + 1.0)
    assert site.looks == 2, "a new session is warmed by itself"


def test_looks_are_not_warmed_while_sessions_hang_or_nobody_knows() -> None:
    look = BlockerLook(Audit())
    site = Site(look)
    site.poll(3)
    assert (site.looks, look._warmed) == (1, None), "the look of the hang, and no other"
    assert site.worker.watched.published is not None
    snapshot = site.worker.watched.published.snapshot
    refused = Missing("waiting_sessions", "refused", "ORA-00942", "grant")
    look.warm(replace(snapshot, readings={**snapshot.readings, "waiting_sessions": refused}), site)
    assert (site.looks, look._warmed) == (1, None)


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


def test_blockers_that_were_not_found_are_looked_for_again_after_a_minute() -> None:
    nobody, asked = Site(BlockerLook(Audit()), scenario=scenarios()["healthy-19c"]), list[float]()
    look = BlockerLook(Audit())
    for now in (0.0, 15.0, 59.0, 61.0, 90.0, 122.0):
        before = nobody.looks
        look.of(snapshot_at(80 + now / 10), nobody, now)
        asked += [now] if nobody.looks > before else []
    assert asked == [0.0, 61.0, 122.0]
    assert look.of(snapshot_at(5), nobody, 123.0) is None


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
    assert site.asked[:2] == [{"instance": 2, "sid": 312}] * 2, "again with each poll, because its state may change"
    assert site.looks == 1 and len(site.asked) <= 8
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
    assert "5 sessions waited for library cache lock (INDEX)" in told and "behind session 312 on instance 1" in told
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
        worker = Worker(
            watched, patient, Kept([]), 1.0, follow_up=FollowUp(watched, BlockerLook(Audit(tmp_path / "audit.log")))
        )
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


class Patched:
    """A connection that has one patch and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: Exception | None = None

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return Answer(("patch_id",), [(self.asked,)])

    def close(self) -> None:
        pass


def snapshot_at(at: float) -> Snapshot:
    """What a poll of the database in which sessions hang shows, before or during the hang."""
    site = Site(BlockerLook(Audit()), at=at, scenario=DDL_HANG)
    site.poll(2)
    assert site.worker.watched.published is not None
    return site.worker.watched.published.snapshot


def test_patches_are_read_once_an_hour_and_kept_when_a_later_read_fails() -> None:
    look, connection, calm = HourlyLook(), Patched(), snapshot_at(5)
    for now in (0.0, 15.0, 3_599.0):
        look.after(calm, connection, now)
    assert connection.asked == len(VIEWS) and look.found is not None
    first = look.found[PATCHES]
    connection.error = StatementError("ORA-01555")
    look.after(calm, connection, 3_600.0)
    assert connection.asked == 2 * len(VIEWS) and isinstance(first, Rows) and look.found[PATCHES] == first
    connection.error = ViewRefused("ORA-00942")
    look.after(calm, connection, 7_200.0)
    refused = look.found[PATCHES]
    assert isinstance(refused, Missing) and refused.kind == "refused"


def test_patches_are_not_read_while_sessions_hang() -> None:
    look, connection = HourlyLook(), Patched()
    look.after(snapshot_at(100), connection, 0.0)
    assert connection.asked == 0 and look.found is None


def test_diagnosis_of_a_poll_has_the_patches_that_were_read_after_the_poll_before() -> None:
    site = Site(BlockerLook(Audit()), at=5)
    site.poll(1)
    assert site.worker.watched.published is not None
    assert isinstance(site.worker.watched.published.snapshot.read(PATCHES), Missing)
    site.poll(1)
    assert isinstance(site.worker.watched.published.snapshot.read(PATCHES), Rows)


# What changed: read when a problem begins and once an hour, never while sessions hang.


class Changing(Site):
    """A worker that reads what changed on the undo storm."""

    def __init__(self, look: ChangesLook, at: float, scenario: Scenario = UNDO_STORM) -> None:
        super().__init__(BlockerLook(Audit(), enabled=False), at, scenario)
        self.worker = Worker(
            self.worker.watched, self, Kept([]), 1.0, follow_up=FollowUp(self.worker.watched, changes=look)
        )
        self.read = list[str]()
        self.lost: SessionError | None = None

    def query(self, sql: str, binds: Binds) -> Answer:
        if (view := view_of(sql)) in changes.views():
            self.read.append(str(view))
            if self.lost is not None:
                raise self.lost
        return super().query(sql, binds)

    @property
    def texts(self) -> list[str]:
        return [change.text for change in self.worker.watched.timeline.changes]


def test_changes_are_read_after_the_first_poll_and_again_when_a_problem_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("service.watch.follow_up.time.monotonic", lambda: clock[0])
    site = Changing(ChangesLook(Audit(tmp_path / "audit.log")), at=0)
    site.poll(1)
    once = [view for view in changes.views() if text_for(collectors()[view].statements, UNDO_STORM.release)]
    assert site.read == once and site.texts == []
    clock[0] += 61
    site.poll(6)
    assert site.read == once, "no problem began, and no hour has passed"
    site.at = 40
    site.poll(3)
    assert [each.cause for each in site.worker.watched.episodes.open] == ["undo-segments"]
    assert site.read == [*once, *once]
    assert "TABLE ETL.STAGE_ORDERS changed by DDL" in site.texts
    assert "statistics: gather_table_stats on SALES.CUSTOMERS began" in site.texts
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [(line["action"], line["outcome"]) for line in lines] == [
        ("look for changes", "new changes found: 0"),
        ("look for changes", "new changes found: 2"),
    ]
    clock[0] += AGAIN_SECONDS
    site.poll(1)
    assert site.read == [*once, *once, *once], "an hour has passed"


def test_problem_that_begins_right_after_the_first_reading_is_read_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("service.watch.follow_up.time.monotonic", lambda: clock[0])
    site = Changing(ChangesLook(Audit()), at=0)
    site.poll(1)
    once = list(site.read)
    clock[0] += 30
    site.at = 40
    site.poll(3)
    assert site.read == [*once, *once] and "TABLE ETL.STAGE_ORDERS changed by DDL" in site.texts


def test_changes_are_not_read_while_sessions_hang() -> None:
    site = Changing(ChangesLook(Audit()), at=(BEGIN + END) / 2, scenario=DDL_HANG)
    site.poll(3)
    assert site.worker.watched.published is not None
    assert site.worker.watched.published.verdict.severity == "critical" and site.read == []
    site.at = END + 5
    site.poll(4)
    assert site.read and "TABLE WEBSHOP.ORDERS changed by DDL" in site.texts


@pytest.mark.parametrize("pdbs", [2, 200])
def test_storm_in_a_root_asks_no_container_and_few_of_them_what_changed_when_nobody_waits(
    pdbs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the listener, with the query that confirms what begins: it reads all containers too."""
    moment = [0.0]
    monkeypatch.setattr("service.watch.follow_up.time.monotonic", lambda: 1000 + moment[0])
    storm = replace(UNDO_STORM, release="12.1.0.2.0", container=(1, "CDB$ROOT"))
    backend = ScriptedBackend(storm, lambda: moment[0])
    rows = [(number, f"PDB{number}", "READ WRITE") for number in range(1, pdbs + 3)]
    backend.instead = {"v$containers": Answer(("con_id", "name", "open_mode"), rows)}
    service = Service(backend, {USER: Account(PASSWORD)}, ORACLE_12_1)
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    with Listener({"cdb": service}) as listener:
        database = DatabaseSettings(name="cdb", dsn=listener.dsn("cdb"), user=USER, password_file=tmp_path / "password")
        watched = MonitoredDatabase(database, 15.0)
        follow_up = FollowUp(watched, BlockerLook(Audit()), ChangesLook(Audit()), confirms=True)
        worker = Worker(watched, Connector(OracleSettings()), Kept([]), 1.0, follow_up=follow_up)
        asked = list[bool]()
        for moment[0] in (45.0, 60.0, 75.0, 90.0, 105.0, 200.0, 265.0, 280.0):
            worker.step()
            assert watched.failure is None
            asked.append(
                any("from cdb_" in text and (pdbs > 2 or "running_jobs" not in text) for text in service.texts)
            )
            assert (watched.published is not None and watched.published.verdict.severity == "critical") == (
                60 <= moment[0] <= 200
            )
    assert asked == [False] * 6 + [pdbs == 2] * 2


def test_changes_are_never_read_where_that_is_off() -> None:
    site = Changing(ChangesLook(Audit(), enabled=False), at=0)
    site.poll(3)
    assert site.read == []
    published = site.worker.watched.published
    assert published is not None and all(
        "look_for_changes is off" in line for line in changes.gaps(published.snapshot.readings)
    )


def test_view_that_may_not_be_read_is_a_gap_with_its_grant_and_the_others_are_read() -> None:
    site = Changing(ChangesLook(Audit()), at=30)
    site._script = ScriptedDatabase(UNDO_STORM, BEGAN, lambda: site.at, refused=["dba_objects"])
    site.poll(2)
    published = site.worker.watched.published
    assert published is not None
    (line,) = changes.gaps(published.snapshot.readings)
    assert (
        line
        == "objects that DDL changed, grants and revokes included: not readable: grant select on sys.dba_objects to <user>"
    )
    assert site.texts == ["statistics: gather_table_stats on SALES.CUSTOMERS began"]


def test_reading_that_hits_its_deadline_ends_there_and_the_polls_go_on() -> None:
    site = Changing(ChangesLook(Audit()), at=30)
    site.query, asked = _cancelling(site), site.query  # type: ignore[method-assign,assignment]
    site.poll(1)
    assert site.read == [] and asked is not None
    site.poll(1)
    published = site.worker.watched.published
    assert published is not None
    assert "hit its deadline" in " ".join(changes.gaps(published.snapshot.readings)) and site.opened == 1


def _cancelling(site: "Changing") -> Callable[[str, Binds], Answer]:
    def query(sql: str, binds: Binds) -> Answer:
        if view_of(sql) in changes.views():
            raise Cancelled("DPY-4024; the statement was cancelled")
        return Site.query(site, sql, binds)

    return query


def test_session_lost_in_a_reading_of_changes_is_opened_again() -> None:
    site = Changing(ChangesLook(Audit()), at=0)
    site.lost = SessionError("ORA-03113: end-of-file on communication channel")
    site.poll(2)
    assert site.opened == 2 and len(site.read) == 1


def test_parameter_that_differs_between_two_polls_needs_no_statement() -> None:
    site = Changing(ChangesLook(Audit(), enabled=False), at=100)
    site.poll(1)
    site.at = 410
    site.poll(1)
    assert site.texts == ["undo_tablespace: UNDOTBS1 → UNDOTBS2"]
