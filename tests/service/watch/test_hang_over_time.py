"""A look has an age: who is named as holder, and which command there is, minute by minute of a long hang."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from collectors.demo.scenarios import scenarios
from collectors.errors import SessionError
from collectors.model import Binds, Row
from collectors.ondemand.blockers import VIEW
from collectors.poll import Answer
from collectors.registry import view_of
from rules.hangs.model import WaitChain
from service.config.logs import Audit
from service.config.settings import DatabaseSettings
from service.state.board import MonitoredDatabase
from service.store.record import record_of
from service.watch.follow_up import BlockerLook, FollowUp
from service.watch.worker import Worker
from service.web import presenters
from tests.service.stage import Client, Kept, Stage
from tests.service.watch.test_follow_up import Site

HOLDER, NEXT = 312, 101
BEGIN, LETS_GO, END = 60.0, 60.0 + 180.0, 60.0 + 2400.0
"""Seconds at which a session begins to hold, lets go, and the next one, which then holds for the rest, lets go."""


class LongHang(Site):
    """The hang of the demo for 40 minutes. At LETS_GO its holder lets go, and the first who waits takes over, without an end."""

    def __init__(self, stage: Stage, *, moves: bool = True) -> None:
        (hang,) = scenarios()["ddl-hang"].hangs
        script = scenarios()["ddl-hang"]
        longer = replace(script, hangs=(replace(hang, begin=BEGIN, end=END),), loop=((END + 600.0, script.loop[0][1]),))
        super().__init__(BlockerLook(Audit()), at=BEGIN - 15.0, scenario=longer)
        self.stage, self.silent, self.status = stage, False, "ACTIVE"
        self.moves = moves
        self.asked_by_view = dict[str | None, int]()
        stage.watch(DatabaseSettings(name="ddl-hang", dsn="demo:ddl-hang", interval=15))
        self.watched: MonitoredDatabase = stage["ddl-hang"]
        self.worker = Worker(self.watched, self, Kept([]), 1.0, follow_up=FollowUp(self.watched, BlockerLook(Audit())))

    def query(self, sql: str, binds: Binds) -> Answer:
        if self.silent:
            raise SessionError("ORA-03113: end-of-file on communication channel")
        view = view_of(sql)
        self.asked_by_view[view] = self.asked_by_view.get(view, 0) + 1
        answer = self._script.query(sql, binds)
        if view == VIEW:
            self.looks += 1
        return self._moved(answer) if "sid" in answer.columns or "n1" in answer.columns else answer

    def _moved(self, answer: Answer) -> Answer:
        over = self.moves and self.at >= LETS_GO
        rows = [self._row(dict(zip(answer.columns, cells, strict=True)), over) for cells in answer.rows]
        return replace(answer, rows=[tuple(row.values()) for row in rows if row is not None])

    def _row(self, row: Row, over: bool) -> Row | None:
        """The row after the holder has changed, and with its status. None for the wait of the one that holds now."""
        status = {"status": self.status} if row.get("sid") == HOLDER and "status" in row else {}
        if not over:
            return {**row, **status}
        if row.get("of_view") == "waiting_sessions" and row.get("n1") == NEXT:
            return None
        new = {HOLDER: NEXT, 48211: 1000 + NEXT}
        return {name: new.get(value, value) if isinstance(value, int) else value for name, value in row.items()}

    def go(self, to: float) -> None:
        """Poll every 15 seconds until then."""
        while self.at < to:
            self.at += 15.0
            self.stage.at = self.at
            self.worker.step()


@pytest.fixture
def hang(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> LongHang:
    site = LongHang(stage)
    monkeypatch.setattr("service.watch.follow_up.time.monotonic", lambda: site.at)
    return site


def chain_of(hang: LongHang) -> WaitChain:
    found = presenters.diagnosis_of(hang.watched).blockers
    assert found is not None
    return found.chains[0]


def told(client: Client) -> tuple[int | None, bool, bool]:
    """The end of the largest chain over REST, whether there is a command for it, and whether the page has one."""
    chain = client.get("/api/v1/databases/ddl-hang/blockers").json()["chains"][0]
    page = client.get("/db/ddl-hang").text
    assert ("data-command" in page) == ("cancel sql" in page), (
        "the page has a command only where its script can take it away"
    )
    return chain["end"]["sid"], chain["action"] is not None, "data-command" in page


@pytest.mark.slow
def test_hang_of_forty_minutes_names_the_holder_of_each_minute(hang: LongHang) -> None:
    client, seen, looks = hang.stage.app(), dict[int, tuple[int | None, bool, bool]](), dict[int, int]()
    for minute in range(1, 40):
        hang.go(BEGIN + 60 * minute)
        seen[minute], looks[minute] = told(client), hang.looks
    before, after = (HOLDER, True, True), (NEXT, True, True)
    assert [seen[minute] for minute in (1, 2)] == [before] * 2
    assert {seen[minute] for minute in range(3, 40)} == {after}, seen
    assert looks[39] - looks[4] == 7, "v$rowcache_parent every five minutes, while no wait ends"


def test_holder_that_lets_go_without_a_change_of_its_row_is_gone_with_the_next_poll(hang: LongHang) -> None:
    hang.go(LETS_GO - 15.0)
    assert chain_of(hang).end.sid == HOLDER and chain_of(hang).action is not None  # type: ignore[union-attr]
    hang.go(LETS_GO)
    now = chain_of(hang)
    assert now.end is not None and now.end.sid == NEXT and now.age_seconds == 0.0


def test_session_that_was_killed_meanwhile_has_no_command_with_the_next_poll(hang: LongHang) -> None:
    hang.go(150.0)
    looks, hang.status = hang.looks, "KILLED"
    hang.go(165.0)
    assert hang.looks == looks, "its status is read without a look at v$rowcache_parent"
    assert chain_of(hang).action is None and "no second kill" in (chain_of(hang).why_no_action or "")


def test_without_a_look_for_a_minute_there_is_a_query_and_no_command_anywhere(hang: LongHang) -> None:
    client = hang.stage.app()
    hang.go(150.0)
    hang.watched.pace = 60.0  # at a shorter one its figures count as no data before the minute is over
    commands = list[tuple[bool, bool]]()
    for hang.stage.at in (165.0, 180.0, 195.0, 210.0, 225.0):
        commands.append(told(client)[1:])
    assert commands == [(True, True)] * 4 + [(False, False)]
    chain = client.get("/api/v1/databases/ddl-hang/blockers").json()["chains"][0]
    assert "more than a minute ago" in chain["why_no_action"] and "v$rowcache_parent" in chain["missing"][0]["query"]
    assert chain["age_seconds"] == pytest.approx(75.0)


def test_database_that_does_not_answer_has_no_command(hang: LongHang) -> None:
    client = hang.stage.app()
    hang.go(150.0)
    hang.silent = True
    hang.go(165.0)
    assert client.get("/api/v1/databases/ddl-hang/blockers").json()["chains"] == []
    assert "cancel sql" not in client.get("/db/ddl-hang").text


def test_nothing_that_leaves_the_page_holds_the_command(hang: LongHang) -> None:
    hang.go(150.0)
    assert hang.watched.published is not None and chain_of(hang).action is not None
    client = hang.stage.app()
    files = [client.get(f"/db/ddl-hang/export.{form}").text for form in ("md", "html")]
    verdict, snapshot = hang.watched.published.diagnosis, hang.watched.published.snapshot
    stored = record_of(snapshot, verdict, None)
    assert stored is not None
    sentences = [step.statement for step in verdict.steps] + [link.measured for link in verdict.chain]
    for text in (*files, stored.diagnosis, *sentences, *remedies(verdict.findings), hang.watched.summary.do_now or ""):  # type: ignore[union-attr]
        assert "cancel sql" not in text and "kill session" not in text
    assert all("300 or more" not in text and "v$rowcache_parent" in text for text in (*files, stored.diagnosis)), (
        "the query stays"
    )


def remedies(findings: Iterable[Any]) -> list[str]:
    return [text for finding in findings for step in finding.remedy_steps for text in (step.do, str(step.sql or ""))]


def test_polls_come_twice_a_minute_while_sessions_hang(hang: LongHang) -> None:
    hang.watched.interval = 120.0
    hang.go(hang.at + 15.0)
    assert hang.worker.step() == 120.0
    hang.go(150.0)
    assert hang.worker.step() == 30.0


def test_chain_that_is_read_anew_costs_its_sessions_only(hang: LongHang) -> None:
    hang.go(150.0)
    before = dict(hang.asked_by_view)
    hang.go(165.0)
    more = {view for view, times in hang.asked_by_view.items() if times > before.get(view, 0)}
    assert {"chain_sessions", "v$transaction"} <= more and not {VIEW, "library_cache_waiters"} & more
