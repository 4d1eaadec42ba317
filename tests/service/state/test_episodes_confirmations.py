"""Results of confirming queries: one number, for an hour, in this life of the instance, and once per episode."""

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic

import pytest

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds
from collectors.poll import Answer
from collectors.registry import views_of
from rules.cause import catalogue
from rules.model import Diagnosis, Finding
from service.config.settings import DatabaseSettings
from service.state import episodes
from service.state.board import MonitoredDatabase
from service.watch.follow_up import FollowUp
from service.watch.worker import Worker
from tests.service.stage import BEGAN, Kept, Stage

CAUSE, SEQUENCES = catalogue()["undo-segments"], catalogue()["sequence-nocache"]


class Storm:
    """The storm of undo-storm, 42 s in and two seconds later at each poll. It records every statement."""

    def __init__(self, refused: tuple[str, ...] = (), fault: Exception | None = None) -> None:
        self.at = 40.0
        self.asked: list[str] = []
        self.closed = 0
        self.fault = fault
        self._script = ScriptedDatabase(scenarios()["undo-storm"], BEGAN, lambda: self.at, refused)

    def query(self, sql: str, binds: Binds) -> Answer:
        views = views_of(sql)
        self.at += 2 if "v$instance" in views else 0
        self.asked += sorted(views) or ["confirm"]
        if not views and self.fault:
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
    return Worker(watched, Door(database), Kept([]), 1.0, follow_up=FollowUp(watched, confirms=confirms))


def test_confirmation_says_what_was_asked_and_how_long_it_counts() -> None:
    told = episodes.run(CAUSE, Storm(), "2026-02-20")
    assert (told.cause, told.value, told.startup_time) == ("undo-segments", 14838, "2026-02-20")
    assert CAUSE.confirm is not None and told.sql == CAUSE.confirm.text(None)
    assert told.expires == pytest.approx(monotonic() + episodes.VALID_SECONDS, abs=5)


class Root:
    """A session in a container of 19c that answers every query, and records the statements."""

    def __init__(
        self,
        place: tuple[str, int] = ("CDB$ROOT", 1),
        fails: Callable[[str], Exception | None] = lambda _: None,
        number: int = 37,
    ) -> None:
        self.place, self.fails, self.number, self.asked = place, fails, number, list[str]()

    def query(self, sql: str, binds: Binds) -> Answer:
        self.asked.append(sql)
        if error := self.fails(sql):
            raise error
        if sql.endswith("rownum <= 5"):
            return Answer(("con_id", "sequence_name", "last_number"), [(3, "ORDERS_SEQ", 4711)])
        return Answer(("count", "con_name", "con_id"), [(self.number, *self.place)])

    def close(self) -> None:
        """Nothing to give back."""


NEVER = re.compile(r"\b(v\$sql|v\$sqlarea|dba_audit_session|unified_audit_trail|sys\.aud\$)(?![\w$])", re.IGNORECASE)


@pytest.mark.parametrize("release", ["11.1.0.7.0", "11.2.0.4.0", "12.1.0.2.0", "19.0.0.0.0", "23.0.0.0.0"])
def test_no_confirmation_scans_the_library_cache_or_an_audit_trail(release: str) -> None:
    session = Root()
    for cause in catalogue().values():
        if cause.confirm and cause.releases.include(release):
            with suppress(StatementError):
                episodes.run(cause, session, None, release)
    assert session.asked and [sql for sql in session.asked if NEVER.search(sql)] == []


@pytest.mark.parametrize(
    ("place", "kept"), [(("ERP1", 3), True), (("CDB$ROOT", 1), False)], ids=["in a PDB", "over all containers"]
)
def test_number_that_misses_its_bound_lowers_confidence_only_where_all_was_seen(
    place: tuple[str, int], kept: bool, stage: Stage
) -> None:
    stage.poll("parse-storm", at=40)
    before = hard_parses(stage.poll("parse-storm", at=42).diagnosis)
    session = Root(place, number=0)
    stage["parse-storm"].confirmed["hard-parse-storm"] = episodes.run(
        catalogue()["hard-parse-storm"], session, stage.poll("parse-storm", at=44).snapshot.startup_time, "12.1.0.2.0"
    )
    after = hard_parses(stage.poll("parse-storm", at=46).diagnosis)
    assert (after.confidence == before.confidence) is kept
    assert after.confirm is not None and after.confirm.result == 0


def hard_parses(diagnosis: Diagnosis) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.cause == "hard-parse-storm")


def test_confirmation_tells_its_container_and_names_what_it_counted_when_wanted() -> None:
    session = Root()
    told = episodes.run(SEQUENCES, session, None, "19.0.0.0.0", names=True)
    assert [("cdb_sequences" in sql, "dba_sequences" in sql) for sql in session.asked] == [(True, False)] * 2
    assert (told.value, told.container, told.con_id) == (37.0, "CDB$ROOT", 1)
    assert told.names == ({"con_id": 3.0, "sequence_name": "ORDERS_SEQ", "last_number": 4711.0},)
    session = Root()
    assert episodes.run(SEQUENCES, session, None, "19.0.0.0.0").names == ()
    assert len(session.asked) == 1
    none = Root(number=0)
    assert episodes.run(SEQUENCES, none, None, "19.0.0.0.0", names=True).value == 0
    assert len(none.asked) == 1
    slow = Root(fails=lambda sql: StatementError("ORA-01013: cancelled") if sql.endswith("<= 5") else None)
    told = episodes.run(SEQUENCES, slow, None, "19.0.0.0.0", names=True)
    assert (told.value, told.names, told.unnamed) == (37.0, (), "ORA-01013: cancelled")


def test_refused_confirmation_names_the_views_and_one_without_a_text_is_not_tried() -> None:
    closed = Root(fails=lambda sql: ViewRefused("ORA-00942: table or view does not exist"))
    with pytest.raises(
        episodes.ConfirmationRefused, match=r"ORA-00942.*needs read or select on cdb_sequences"
    ) as caught:
        episodes.run(SEQUENCES, closed, None, "19.0.0.0.0")
    assert (caught.value.result.value, caught.value.result.refused) == (None, ("cdb_sequences",))
    session = Root()
    with pytest.raises(StatementError, match=r"written for 9\.2 and newer, and this is 8\.1\.7\.4"):
        episodes.run(SEQUENCES, session, None, "8.1.7.4")
    assert session.asked == []
    with pytest.raises(StatementError, match="no confirming query"):
        episodes.run(CAUSE.model_copy(update={"confirm": None}), Storm(), None)


def test_confirmation_expires_after_an_hour_or_an_instance_restart(stage: Stage) -> None:
    started = stage.poll("undo-storm", at=40).snapshot.startup_time
    watched = stage["undo-storm"]
    one = replace(episodes.run(CAUSE, Storm(), started), expires=1000.0 + stage.at + 3600)
    watched.confirmed["undo-segments"] = one
    assert watched.confirmations() == {"undo-segments": one} and one.value == 14838
    watched.confirmed["undo-segments"] = replace(one, startup_time="another life")
    assert watched.confirmations() == {}
    watched.confirmed["undo-segments"] = one
    stage.at += 3601
    assert watched.confirmations() == {}


@pytest.mark.parametrize("confirms", [True, False])
def test_confirmation_runs_once_as_an_episode_begins_if_configured(confirms: bool) -> None:
    database = Storm()
    worker = worker_on(database, confirms)
    counts = []
    for _ in range(6):
        worker.step()
        counts.append(database.asked.count("confirm"))
    assert counts == ([0, 0, 1, 1, 1, 1] if confirms else [0] * 6)
    published = worker.watched.published
    assert published is not None
    query = published.diagnosis.findings[0].confirm
    assert query is not None and query.result == (14838 if confirms else None)


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
