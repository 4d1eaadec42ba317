"""Whether a change ended a trouble: sleeps fell beyond noise while the work went on, else the reason why that is open."""

from dataclasses import replace
from typing import Any

import pytest

from collectors.model import Changes, Delta, Missing, Row, number
from rules.catalogue import catalogue
from rules.comparison.compare import compare
from rules.comparison.model import ChangeVerification, NotVerified
from rules.comparison.verification import verified
from tests.rules.printed import printed, scripted

UNDO = catalogue()["undo-segments"]
STORM = scripted("undo-storm", 60.0)
RELIEVED = scripted("undo-storm", 158.0, 30.0)


def judged(after: Delta, before: Delta = STORM, cause: str = "undo-segments") -> ChangeVerification | NotVerified:
    return verified(compare(before, after), catalogue()[cause])


def scaled(delta: Delta, view: str, column: str, factor: float, **match: Any) -> Delta:
    """The Delta with a column of some rows multiplied."""
    rows: list[Row] = []
    for row in delta.rows(view):
        meant = all(row.get(name) == value for name, value in match.items())
        rows.append({**row, column: int((number(row.get(column)) or 0) * factor)} if meant else row)
    return replace(delta, readings={**delta.readings, view: Changes(view, tuple(rows))})


def test_verified_accepts_the_recreated_undo_tablespace() -> None:
    got = judged(RELIEVED)
    assert isinstance(got, ChangeVerification)
    assert got.change.name == "child_sleeps"
    assert got.because.startswith("Sleeps on dc_rollback_segments fell 137-fold per execution")
    assert "The work went on: transactions at 100 % and executions at 100 % of before" in got.because


def test_verified_for_reports_uses_the_sleeps_of_the_whole_latch() -> None:
    got = judged(printed(RELIEVED), printed(STORM))
    assert isinstance(got, ChangeVerification)
    assert got.change.name == "latch_sleeps"


@pytest.mark.parametrize("kept", [0.1, 0.49])
@pytest.mark.parametrize("work", ["execute count", "user commits"])
def test_verified_rejects_sleeps_that_fell_with_the_load(work: str, kept: float) -> None:
    got = judged(scaled(RELIEVED, "v$sysstat", "value", kept, name=work))
    assert isinstance(got, NotVerified)
    assert got.reason == "the load went too"
    assert ("transactions fell" if work == "user commits" else "executions fell") in got.because


def test_verified_accepts_half_of_the_work_as_enough() -> None:
    assert isinstance(judged(scaled(RELIEVED, "v$sysstat", "value", 0.51)), ChangeVerification)


def test_verified_rejects_sleeps_that_did_not_fall() -> None:
    got = judged(scripted("undo-storm", 90.0))
    assert isinstance(got, NotVerified)
    assert got.reason == "sleeps did not fall"


def test_verified_rejects_too_few_sleeps_before_or_due_after() -> None:
    few = judged(RELIEVED, scaled(STORM, "v$latch_children", "sleeps", 1e-4))
    assert isinstance(few, NotVerified)
    assert (few.reason, few.because) == (
        "too few events",
        "31 sleeps on dc_rollback_segments before, at least 100 are needed",
    )
    rare = scaled(STORM, "v$latch_children", "sleeps", 4e-4)
    short = scripted("undo-storm", 158.0, 2.0)
    due = judged(short, rare)
    assert isinstance(due, NotVerified)
    assert due.reason == "too few events"
    assert due.because.startswith("only 4.1")


def test_verified_reports_no_data_after() -> None:
    for comparison in (
        None,
        compare(STORM, replace(RELIEVED, readings={})),
        compare(STORM, _without(RELIEVED, "v$latch_children", "v$latch")),
        compare(STORM, scripted("users-mutex", 30.0)),
    ):
        got = verified(comparison, UNDO)
        assert isinstance(got, NotVerified)
        assert got.reason == "no data after"
    assert "latches guard the row cache on one side and mutexes on the other" in got.because


def _without(delta: Delta, *views: str) -> Delta:
    missing = {view: Missing(view, "refused", f"{view}: ORA-00942", "grant it") for view in views}
    return replace(delta, readings={**delta.readings, **missing})


def test_verified_does_not_take_unknown_work_for_work_that_went_on() -> None:
    blind = compare(*(_without(one, "v$sysstat", "v$sys_time_model") for one in (STORM, RELIEVED)))
    got = verified(blind, UNDO)
    assert isinstance(got, NotVerified)
    assert got.because == "the amount of work is not known on both sides"


def test_verified_judges_a_lock_by_its_waits_and_a_mutex_by_its_sleeps() -> None:
    sick, well = scripted("nocache-sequence-1", 60.0), scripted("nocache-sequence-1", 1.0, 5.0)
    lock = verified(compare(sick, well), catalogue()["undo-lock-smon"])
    assert isinstance(lock, NotVerified) or lock.change.name == "lock_waits"
    mutex = verified(compare(scripted("users-mutex", 30.0), scripted("users-mutex", 90.0)), catalogue()["logon-storm"])
    assert mutex.cause == "logon-storm"
