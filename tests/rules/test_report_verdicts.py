"""The diagnoses of the synthetic reports: what a live poll says of the same trouble, as far as paper can show."""

from functools import cache

import pytest

from collectors.model import NotComparable
from collectors.reports.read import read
from rules.engine import cannot_tell, diagnose
from rules.model import Confidence, Diagnosis, Severity
from tests.paths import REPORTS
from tests.recordings.reports import make

FILES = sorted(make.told())
COMPARED = "awrdd-11.2.0.4.0-before-and-during.html"


@cache
def diagnosed(name: str) -> tuple[Diagnosis, ...]:
    found = read((REPORTS / name).read_bytes(), name)
    return tuple(cannot_tell(one) if isinstance(one, NotComparable) else diagnose(one) for one in found)


def only(name: str) -> Diagnosis:
    (told,) = diagnosed(name)
    return told


def named(*parts: str) -> list[str]:
    return [name for name in FILES if all(part in name for part in parts)]


def statement(told: Diagnosis, step: str) -> str:
    return next(one.statement for one in told.steps if one.step == step)


UNDO = [*named("undo-storm"), "day-3.txt", "day-4.txt", "day-5.txt"]


@pytest.mark.parametrize("name", UNDO)
def test_undo_segments_are_found_without_high_confidence(name: str) -> None:
    told = only(name)
    first = told.findings[0]
    assert (first.cause, first.cache, first.location) == ("undo-segments", "dc_rollback_segments", "kqrpre: find obj")
    assert first.confidence is not Confidence.HIGH
    assert first.confirm is not None and "_rollback_segs" in first.confirm.sql
    # 9.2 has no DB time: waiting sessions count instead, and two of them are no incident.
    assert told.severity is (Severity.WARNING if "9.2.0" in name else Severity.CRITICAL)


@pytest.mark.parametrize("name", [name for name in UNDO if "level-10" not in name])
def test_hot_child_cannot_be_named_and_the_script_adds_it(name: str) -> None:
    told = only(name)
    assert told.findings[0].child is None
    said = statement(told, "hot child")
    assert "cannot name the child" in said and "`latchscope script`" in said


def test_hot_child_is_named_where_children_are_printed() -> None:
    (name,) = named("level-10")
    said = statement(only(name), "hot child")
    assert said.startswith("Child 9 ") and "99.97" in said
    assert said.endswith("until it restarts: `select kqrstcid, kqrsttxt from x$kqrst where kqrstcln = 9`."), (
        "the way out"
    )


@pytest.mark.parametrize("name", [name for name in UNDO if "9.2.0" not in name])
def test_undo_segments_cost_their_share_of_db_time(name: str) -> None:
    impact = only(name).impact
    assert impact is not None and impact.share_of_db_time == pytest.approx(0.1532, abs=0.0005)


@pytest.mark.parametrize("name", named("users-mutex"))
def test_logon_storm_on_mutexes_is_found(name: str) -> None:
    told = only(name)
    first = told.findings[0]
    assert told.mechanism == "mutex" and told.severity is Severity.CRITICAL
    assert (first.cause, first.cache, first.child) == ("logon-storm", "dc_users", None)
    assert first.confidence is not Confidence.HIGH
    logon = first.sign("connection_time_to_waits")
    assert logon is not None and logon.value > 1 and (logon.unit, logon.of) == ("s for each second waited", ""), (
        "no share"
    )
    assert told.impact is not None and told.impact.share_of_db_time == pytest.approx(0.1452, abs=0.0005)


@pytest.mark.parametrize("name", named("sequence"))
def test_sequence_without_a_cache_is_found(name: str) -> None:
    told = only(name)
    first = told.findings[0]
    assert (first.cause, first.cache, first.severity) == ("sequence-nocache", "dc_sequences", Severity.CRITICAL)
    assert first.confidence is not Confidence.HIGH


@pytest.mark.parametrize("name", named("parse-storm"))
def test_parse_storm_has_the_row_cache_as_its_victim(name: str) -> None:
    told = only(name)
    assert told.findings[0].cause == "hard-parse-storm"
    assert told.findings[0].cache is None and told.findings[0].child is None
    assert told.severity is Severity.NOTICE, "the row cache itself costs 1.2 %"


@pytest.mark.parametrize("name", [*named("healthy"), *named("idle"), "day-1.txt", "day-2.txt"])
def test_healthy_and_idle_reports_have_no_finding(name: str) -> None:
    told = only(name)
    assert told.severity is Severity.INFO
    assert [one.cause for one in told.findings if one.severity is not Severity.INFO] == []


@pytest.mark.parametrize("name", named("restart"))
def test_restart_report_leaves_everything_undetermined(name: str) -> None:
    told = only(name)
    assert told.findings == () and told.ruled_out == ()
    assert told.undetermined and all("restart" in one.why for one in told.undetermined)
    assert "restart" in told.headline


def test_day_reports_turn_critical_in_the_third_hour() -> None:
    severities = [only(f"day-{hour}.txt").severity for hour in range(1, 6)]
    assert severities == [Severity.INFO, Severity.INFO, *[Severity.CRITICAL] * 3]


def test_compare_report_distinguishes_the_hours() -> None:
    before, during = diagnosed(COMPARED)
    assert before.severity is Severity.INFO
    # It prints no miss locations, so no cause is found. The cost stays the same.
    assert during.severity is Severity.CRITICAL and during.findings == ()
    assert "undo-segments" in [one.cause for one in during.undetermined]
    assert before.basis is not None and during.basis is not None and before.basis.end == during.basis.begin
    assert "dc_rollback_segments 70.1 %" in statement(during, "cache")


@pytest.mark.parametrize("name", FILES)
def test_reports_never_give_high_confidence(name: str) -> None:
    assert [one.cause for one in only(name).findings if one.confidence is Confidence.HIGH] == []
