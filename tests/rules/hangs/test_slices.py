"""Hangs whose waits a timer ends, and queues that look like them: 88 of each, made from one capture."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pytest

from collectors.capture import load
from collectors.delta import between
from collectors.model import Delta, Row, Rows, Snapshot
from rules.engine import diagnose
from rules.model import Diagnosis
from tests.paths import DATA

HANGS = DATA / "slices"
CACHES = (0, 2, 3, 5, 6, 8, 10, 12, 13, 15, 16)
SESSION = 312


@dataclass(frozen=True)
class Case:
    """One kind of wait: its cache, the mode asked for, whether sessions have a statement, and the release."""

    cache: int
    request: int
    statement: bool
    release: str


CASES = [Case(*each) for each in product(CACHES, (3, 5), (True, False), ("11.2.0.4.0", "19.0.0.0.0"))]


def capture(name: str) -> tuple[Snapshot, Snapshot]:
    first, last = load((HANGS / name).read_text(encoding="utf-8"), name).snapshots[-2:]
    return first, last


def changed(case: Case, *, moves: bool) -> Diagnosis:
    """The capture with waits of this kind: behind one session in slices that all time out, or in a queue that moves on."""
    first, last = capture("f03-lock-in-3-s-slices.json")

    def waits(rows: tuple[Row, ...]) -> Iterator[Row]:
        for place, row in enumerate(rows):
            if row.get("sid") is None:
                yield row
                continue
            told = {"p1": case.cache, "p2": 0, "p3": case.request, "sql_id": row["sql_id"] if case.statement else None}
            if moves:
                turn = (int(row.get("sample") or 0) * 7 + place) % 40 + 400
                told |= {
                    "final_blocking_session": turn,
                    "blocking_session": turn,
                    "wait_time_micro": 400_000 - 1000 * place,
                }
            yield {**row, **told}

    def event(row: Row, *, end: bool) -> Row:
        if row.get("event") != "row cache lock" or not end or not moves:
            return row
        return {
            **row,
            "total_timeouts": 0,
            "total_waits": row["total_waits"] * 7,
            "total_waits_fg": row["total_waits_fg"] * 7,
        }

    def of(poll: Snapshot, *, end: bool) -> Snapshot:
        readings = dict(poll.readings)
        for view in ("waiting_sessions", "v$session"):
            if isinstance(reading := readings.get(view), Rows):
                readings[view] = Rows(view, tuple(waits(reading.rows)), reading.notes)
        readings["v$system_event"] = Rows(
            "v$system_event", tuple(event(row, end=end) for row in poll.rows("v$system_event"))
        )
        instance = {"version": case.release, "version_full": case.release}
        readings["v$instance"] = Rows("v$instance", tuple({**row, **instance} for row in poll.rows("v$instance")))
        if end and not moves:
            readings["row_cache_blockers"] = Rows("row_cache_blockers", (holder(case),))
        return replace(poll, readings=readings)

    delta = between(of(first, end=False), of(last, end=True), {})
    assert isinstance(delta, Delta)
    return diagnose(delta)


def holder(case: Case) -> Row:
    return {
        "cache#": case.cache, "key": "00", "sid": SESSION, "instance": 1, "lock_mode": 5, "serial#": 48211, "type": "USER",
        "program": "sqlplus@ops", "username": "DBA1", "module": "SQL*Plus", "status": "ACTIVE", "state": "WAITED SHORT TIME",
        "event": "db file sequential read", "wait_time_micro": 900, "sql_id": "g1",
    }  # fmt: skip


@pytest.mark.slow
def test_each_of_88_hangs_in_slices_is_found_with_its_holder_and_nothing_else() -> None:
    wrong = []
    for case in CASES:
        got = changed(case, moves=False)
        told = {finding.cause: finding.confidence for finding in got.findings}
        sure = [cause for cause in told if cause == "row-cache-lock-hang" or told[cause] != "low"]
        ends = [chain.end.sid for chain in got.blockers.chains if chain.end] if got.blockers else []
        if sure != ["row-cache-lock-hang"] or ends[:1] != [SESSION]:
            wrong.append((case, sure, ends))
    assert len(CASES) == 88 and wrong == []


@pytest.mark.slow
def test_none_of_88_queues_that_move_is_a_hang() -> None:
    for case in CASES:
        got = changed(case, moves=True)
        assert not got.blockers or not got.blockers.commands, case
        assert "row-cache-lock-hang" not in {finding.cause for finding in got.findings}, case
        assert not any(group.hanging for group in got.waiting), case


@pytest.mark.parametrize(
    ("name", "cause", "holder"),
    [
        ("K33_slices_of_3s_11204.json", "row-cache-lock-hang", 300),
        ("f03-lock-in-3-s-slices.json", "row-cache-lock-hang", 312),
        ("f03-logons-behind-one-holder.json", "row-cache-lock-hang", 88),
        ("L01_alter_user_single.json", "grants-while-logging-on", 300),
        ("L02_undo_lock_foreground.json", None, 300),
    ],
)
def test_case_has_its_right_answer(name: str, cause: str | None, holder: int) -> None:
    delta = between(*capture(name), {})
    assert isinstance(delta, Delta)
    got = diagnose(delta)
    assert [each.cause for each in got.findings if each.severity != "info"] == ([cause] if cause else [])
    assert got.blockers is not None and not got.blockers.commands
    ends = [chain.end.sid for chain in got.blockers.chains if chain.end] or [each.sid for each in got.blockers.blockers]
    assert ends == [holder]
    if name.startswith("L01"):
        assert "session 300,5511 on instance 1" in got.findings[0].title
    if name.startswith("L02"):
        assert any("DBA1" in step.statement and "let it finish" in step.statement for step in got.steps)


@pytest.mark.parametrize("name", ["L12_shrink_and_undo", "L13_cursor_and_undo", "L15_19c_parse_and_undo_mutex"])
def test_what_never_touches_undo_segments_is_no_reason_to_wait_for_them(name: str) -> None:
    delta = between(*capture(f"../hangs-4/{name}.json"), {})
    assert isinstance(delta, Delta)
    got = diagnose(delta)
    assert [each.cause for each in got.findings if each.severity != "info"] == []
    assert "dc_rollback_segments" in got.headline and got.severity == "critical"
