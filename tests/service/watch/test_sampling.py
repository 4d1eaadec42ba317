"""The worker's bursts: samples of waiting sessions, only while the row cache costs something or on request."""

from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SetupError
from collectors.model import Binds, Missing, Rows
from collectors.ondemand.sampling import LONGEST_BURST
from collectors.poll import Answer, poll
from collectors.registry import view_of
from service.config.logs import Audit
from service.config.settings import DatabaseSettings, Defaults, OracleSettings
from service.sql_list import texts
from service.state.board import Board, MonitoredDatabase, Published
from service.store.repository import Repository
from service.watch.connect import Connector, target_of
from service.watch.follow_up import BlockerLook, FollowUp
from service.watch.scheduler import EARLY_SECONDS
from service.watch.worker import Worker
from tests.service.stage import BEGAN, Kept


class Site:
    """A worker on a scripted database that is two seconds older at each poll. It looks during the test's pauses."""

    def __init__(self, name: str, refused: tuple[str, ...] = (), *, each_judged: bool = False) -> None:
        self.at, self.looks = 40.0, 0
        self._script = ScriptedDatabase(scenarios()[name], BEGAN, lambda: self.at, refused)
        watched = MonitoredDatabase(DatabaseSettings(name=name, dsn=f"demo:{name}"), 2.0)
        self.worker = Worker(
            watched,
            self,
            Kept([]),
            1.0,
            follow_up=FollowUp(watched, BlockerLook(Audit(), enabled=False), each_judged=each_judged),
        )

    def query(self, sql: str, binds: Binds) -> Answer:
        view = view_of(sql)
        self.at += 2 if view == "v$instance" else 0
        self.looks += view == "v$session"
        return self._script.query(sql, binds)

    def close(self) -> None:
        pass

    def open(self, watched: MonitoredDatabase) -> "Site":
        return self

    def credential(self, watched: MonitoredDatabase) -> str:
        return "secret"

    def poll(self, looks: int = 3) -> Published:
        """A poll, and the looks of its burst after it."""
        self.worker.step()
        published, burst = self.worker.watched.published, self.worker._follow_up._burst
        assert published is not None and self.worker.watched.failure is None
        for _ in range(looks if burst else 0):
            burst.look(self)  # type: ignore[union-attr]
        return published


def test_samples_are_in_the_next_diagnosis_while_the_row_cache_costs() -> None:
    site = Site("undo-storm")
    site.poll()
    assert site.looks == 0, "the first poll has no cost yet"
    assert site.poll().diagnosis.who == () and site.looks == 3
    published = site.poll()
    assert published.diagnosis.who
    assert published.diagnosis.who[0].cache == "dc_rollback_segments"
    assert sum(one.share for one in published.diagnosis.who) <= 1.0001
    assert b"latchscope_waiting_sessions" in published.blocks["latchscope_waiting_sessions"]
    site = Site("undo-storm")
    site.poll(), site.poll(looks=200)
    assert site.looks == LONGEST_BURST


@pytest.mark.parametrize("name", ["healthy-19c", "busy-but-fine"])
def test_healthy_database_is_sampled_once_on_request_and_never_else(name: str) -> None:
    site = Site(name)
    for _ in range(4):
        assert site.poll().diagnosis.who == ()
    assert site.looks == 0
    site.worker.ask_for_samples()
    for _ in range(3):
        site.poll()
        assert site.looks == 3


def test_lasting_problem_is_sampled_before_each_judgement_and_its_samples_stand_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.watch.follow_up.YOUNG", timedelta(seconds=6))
    for module in ("rules.cost", "service.watch.follow_up"):
        monkeypatch.setattr(f"{module}.LASTING_SECONDS", 12.0)
    site, told = Site("undo-storm"), list[tuple[bool, bool]]()
    for _ in range(24):
        published = site.poll()
        seen = published.snapshot.readings["v$session"]
        held = published.examined.judged is not published.verdict
        assert held or not told or isinstance(seen, Missing) or seen.read_at is None, "judged by samples of its own"
        told.append((held, isinstance(seen, Rows) and seen.read_at is not None))
        assert not held or published.verdict.who, "held with the last samples"
    assert sum(old for _, old in told) >= 10 and site.looks <= 3 * 14
    assert all(held for held, old in told if old)
    site = Site("undo-storm", each_judged=True)
    assert not any(one.examined.judged is not one.verdict for one in [site.poll() for _ in range(12)])
    assert site.looks == 3 * 11, "in each interval but the first"


def test_whoever_asks_or_marks_has_the_next_poll_judged(tmp_path: Path) -> None:
    site = Site("healthy-19c")
    watched, board = site.worker.watched, Board([site.worker.watched])
    store = Repository(f"sqlite:///{tmp_path}/store.db")
    store.marks.on_mark.append(board.judge_anew)

    def judged() -> bool:
        one = site.poll()
        return one.examined.judged is one.verdict

    assert [judged() for _ in range(4)] == [True, True, False, False]
    store.marks.add(watched.name, BEGAN, "patched", "dba1")
    assert [judged() for _ in range(2)] == [True, False]
    site.worker.ask_for_samples()
    assert [judged() for _ in range(4)] == [True, True, False, False], "that poll, and the one with the samples"
    store.close()


def test_refused_view_ends_the_burst_and_costs_nothing_else() -> None:
    refused, read = Site("undo-storm", ("v$session",)), Site("undo-storm")
    for _ in range(3):
        without, whole = refused.poll(), read.poll(0)
    assert refused.looks == 2, "one try in each interval, not one a second"
    reading = without.snapshot.readings["v$session"]
    assert isinstance(reading, Missing) and reading.kind == "refused"
    assert without.diagnosis.who == ()
    assert without.diagnosis.findings[0].cause == whole.diagnosis.findings[0].cause == "undo-segments"
    assert without.diagnosis.findings[0].confidence == whole.diagnosis.findings[0].confidence


def test_worker_samples_in_the_rest_between_two_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.watch.worker.EVERY_SECONDS", 0.01)
    site = Site("undo-storm")
    site.worker.watched.interval = 1.0
    site.poll(), site.poll(0)
    site.worker._due = monotonic() + 1.0
    while monotonic() < site.worker._due:
        following = site.worker.take_turn()
        assert following is not None and following <= site.worker._due
        sleep(max(0.0, following - monotonic()))
    assert 1 < site.looks <= 101


def test_early_turn_is_a_poll_only_if_one_is_due_very_soon_and_a_late_look_is_left_out() -> None:
    site = Site("undo-storm")
    site.poll(), site.poll(0)
    before = site.worker.watched.published
    site.worker._due = site.worker._asked_for = monotonic() + 60.0
    site.worker.take_turn()
    assert site.worker.watched.published is before, "another turn, such as one after a poll that somebody hurried"
    looks = site.looks
    site.worker._due = site.worker._asked_for = monotonic() + EARLY_SECONDS / 2
    site.worker.take_turn()
    assert site.worker.watched.published is not before and site.looks == looks
    site = Site("undo-storm")
    site.poll(), site.poll(0)
    site.worker._due, site.worker._look_at = monotonic() + 100.0, monotonic() - 1.5
    following = site.worker.take_turn()
    assert site.looks == 0 and following is not None and following - monotonic() > 0.5


def test_ask_for_samples_does_not_shorten_a_pause_after_a_failure() -> None:
    watched = MonitoredDatabase(DatabaseSettings(name="erp", dsn="demo:nothing"), 2.0)
    worker = Worker(watched, Connector(OracleSettings()), Kept([]))
    worker.step()
    worker.ask_for_samples()
    assert not worker._hurried
    healthy = Site("busy-but-fine").worker
    healthy.step()
    healthy.ask_for_samples()
    assert healthy._hurried


# From a configured database to a connection: which settings reach the driver, and clear words where they cannot


def test_target_is_what_is_configured(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("word\n", encoding="utf-8")
    (tmp_path / "wallet-password").write_text("wallet word\n", encoding="utf-8")
    files = {"password_file": tmp_path / "password", "wallet_password_file": tmp_path / "wallet-password"}
    folders = {"config_dir": tmp_path, "wallet_dir": tmp_path}
    target = target_of(DatabaseSettings(name="erp1", dsn="erp1_tcps", user="C##LATCHSCOPE", **files, **folders))
    assert (target.dsn, target.user, target.password) == ("erp1_tcps", "C##LATCHSCOPE", "word")
    assert (target.config_dir, target.wallet, target.wallet_password) == (tmp_path, tmp_path, "wallet word")
    assert "word" not in repr(target).replace("wallet_password", "")


def test_deadlines_follow_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("service.watch.connect.OracleConnection", lambda *given: seen.append(given))
    monkeypatch.setenv("WORD", "x")
    database = DatabaseSettings(name="erp1", dsn="h:1/s", password_env="WORD")
    Connector(OracleSettings(connect_timeout=4, statement_timeout=3)).open(MonitoredDatabase(database, 15.0))
    given = Defaults(blocker_look_timeout=2)
    Connector(OracleSettings(), given).open(MonitoredDatabase(database, 15.0))
    (name, _, deadlines, accepted, _), (_, _, others, _, _) = seen
    assert accepted == texts(), "the list of SQL with the confirming queries"
    assert (name, deadlines.connect, deadlines.statement, deadlines.frozen) == ("erp1", 4.0, 3.0, 8.0)
    assert (deadlines.blocker_look, others.blocker_look) == (3.0, 2.0)


def test_scripted_databases_start_with_the_process_and_an_unknown_one_is_told_the_known() -> None:
    connector = Connector(OracleSettings())
    database = DatabaseSettings(name="any", dsn="demo:undo-storm")
    first = poll("any", connector.open(MonitoredDatabase(database, 2.0)))
    again = poll("any", connector.open(MonitoredDatabase(database, 2.0)))
    assert first.startup_time == again.startup_time
    assert connector.credential(MonitoredDatabase(database, 2.0)) == ""
    database = DatabaseSettings(name="any", dsn="demo:nothing")
    with pytest.raises(SetupError, match=", ".join(scenarios())):
        connector.open(MonitoredDatabase(database, 2.0))
