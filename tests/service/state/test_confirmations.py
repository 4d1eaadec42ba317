"""Results of confirming queries: one number, for an hour, of this life of the instance; and once per episode."""

import logging
from dataclasses import replace
from time import monotonic

import pytest

from collectors.errors import SessionError, StatementError
from collectors.model import Binds
from collectors.poll import Answer
from collectors.registry import view_of
from collectors.scenarios import scenarios
from collectors.simulator.database import ScriptedDatabase
from rules.catalogue import catalogue
from service.config.settings import DatabaseSettings
from service.state import confirmations
from service.state.board import MonitoredDatabase
from service.watch.worker import Worker
from tests.service.stage import BEGAN, Kept, Stage

CAUSE = catalogue()["undo-segments"]


class Storm:
    """The storm of undo-storm, 42 s in and two seconds later at each poll; every statement is remembered."""

    def __init__(self, refused: tuple[str, ...] = (), fault: Exception | None = None) -> None:
        self.at = 40.0
        self.asked: list[str] = []
        self.closed = 0
        self.fault = fault
        self._script = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: self.at, refused)

    def query(self, sql: str, binds: Binds) -> Answer:
        view = view_of(sql)
        self.at += 2 if view == "v$instance" else 0
        self.asked.append(view or "confirm")
        if view is None and self.fault:
            raise self.fault
        return self._script.query(sql, binds)

    def close(self) -> None:
        self.closed += 1


class Door:
    """Opens the same database again and again."""

    def __init__(self, database: Storm) -> None:
        self.database = database

    def open(self, watched: MonitoredDatabase) -> Storm:
        return self.database

    def credential(self, watched: MonitoredDatabase) -> str:
        return "secret"


def worker_on(database: Storm, confirms: bool = True) -> Worker:
    watched = MonitoredDatabase(DatabaseSettings(name="undo-storm", dsn="demo:undo-storm"), 2.0)
    return Worker(watched, Door(database), Kept([]), 1.0, confirms)


def test_confirmation_says_what_was_asked_and_how_long_it_counts() -> None:
    told = confirmations.run(CAUSE, Storm(), "2026-02-20")
    assert (told.cause, told.value, told.startup_time) == ("undo-segments", 14838, "2026-02-20")
    assert CAUSE.confirm is not None and told.sql == CAUSE.confirm.sql
    assert told.expires == pytest.approx(monotonic() + confirmations.VALID_SECONDS, abs=5)


def test_confirmation_needs_a_cause_with_a_query() -> None:
    with pytest.raises(StatementError, match="no confirming query"):
        confirmations.run(CAUSE.model_copy(update={"confirm": None}), Storm(), None)


def test_confirmation_expires_after_an_hour_or_an_instance_restart(stage: Stage) -> None:
    started = stage.poll("undo-storm", at=40).snapshot.startup_time
    watched = stage["undo-storm"]
    one = replace(confirmations.run(CAUSE, Storm(), started), expires=1000.0 + stage.at + 3600)
    watched.confirmed["undo-segments"] = one
    assert watched.confirmations() == {"undo-segments": 14838}
    watched.confirmed["undo-segments"] = replace(one, startup_time="another life")
    assert watched.confirmations() == {}
    watched.confirmed["undo-segments"] = one
    stage.at += 3601
    assert watched.confirmations() == {}


def test_confirmation_runs_once_as_an_episode_begins() -> None:
    database = Storm()
    worker = worker_on(database)
    counts = []
    for _ in range(6):
        worker.step()
        counts.append(database.asked.count("confirm"))
    assert counts == [0, 0, 1, 1, 1, 1]
    published = worker.watched.published
    assert published is not None
    query = published.diagnosis.findings[0].confirm
    assert query is not None and query.result == 14838


def test_confirmation_is_not_automatic_unless_configured() -> None:
    database = Storm()
    worker = worker_on(database, confirms=False)
    for _ in range(5):
        worker.step()
    assert "confirm" not in database.asked


@pytest.mark.parametrize(
    ("fault", "sessions_lost"), [(StatementError("ORA-00942: no"), 0), (SessionError("ORA-03113: gone"), 1)]
)
def test_confirmation_failure_is_logged_and_polls_continue(
    fault: StatementError | SessionError, sessions_lost: int, caplog: pytest.LogCaptureFixture
) -> None:
    database = Storm(fault=fault)
    worker = worker_on(database)
    with caplog.at_level(logging.WARNING, "latchscope.loop"):
        for _ in range(5):
            worker.step()
    assert database.asked.count("confirm") == 1
    assert f"undo-segments was not confirmed: {fault}" in caplog.text
    assert (database.closed, worker.watched.confirmed) == (sessions_lost, {})
    assert worker.watched.failure is None and worker.watched.published is not None
