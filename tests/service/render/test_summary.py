"""Several Diagnoses in short: the cells of the table, and the inputs of each database in order of time."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.model import Changes, Delta, NotComparable
from rules.engine import cannot_tell
from rules.model import DiagnosisBasis
from service.intake.inputs import DiagnosedInput, diagnose_all
from service.render.summary import HEADINGS, groups, lines, period, same_interval
from tests.paths import REPORTS

DAYS = [str(REPORTS / f"day-{day}.txt") for day in (3, 1, 2)]
NINE, TEN = datetime(2026, 3, 1, 9, 0), datetime(2026, 3, 1, 10, 0)  # noqa: DTZ001 as a report prints them
NEXT = datetime(2026, 3, 2, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (None, "none"),
        (DiagnosisBasis(kind="interval", begin=NINE, end=TEN, seconds=3600), "2026-03-01 09:00 to 10:00"),
        (
            DiagnosisBasis(kind="interval", begin=NINE.replace(tzinfo=UTC), end=NEXT, seconds=9),
            "2026-03-01 09:00 to 2026-03-02 01:30 UTC",
        ),
        (DiagnosisBasis(kind="totals", begin=None, end=None, seconds=None), "totals"),
        (DiagnosisBasis(kind="totals", begin=None, end=NEXT, seconds=None), "totals to 2026-03-02 01:30 UTC"),
    ],
)
def test_period_is_written_in_words(basis: DiagnosisBasis | None, words: str) -> None:
    assert period(basis) == words


def test_lines_are_those_of_the_worst_database_first_and_in_the_order_of_time(incident: Path) -> None:
    told = diagnose_all([DAYS[0], str(incident), *DAYS[1:]]).diagnosed
    assert [one.file for one in lines(told)] == [*sorted(DAYS), str(incident)]
    assert all(len(one.cells) == len(HEADINGS) for one in lines(told))
    orders, other = groups(told)
    assert (orders.database, [one.name for one in orders.diagnosed]) == ("ORDERS", sorted(DAYS))
    assert (other.database, other.notes) == ("undo-segments", ())


def test_input_without_an_interval_is_listed_last() -> None:
    (one,) = diagnose_all(DAYS[:1]).diagnosed
    gap = NotComparable("ORDERS", None, "a restart", "wait")
    (group,) = groups([one, DiagnosedInput("gap", gap, cannot_tell(gap))])
    assert [(one.state, one.share) for one in lines(group.diagnosed)] == [
        ("Critical", "15.3 %"),
        ("Cannot tell", "unknown"),
    ]


def with_id(one: DiagnosedInput, dbid: str | None) -> DiagnosedInput:
    assert isinstance(one.change, Delta)
    return replace(one, change=replace(one.change, dbid=dbid))


def test_groups_tell_databases_of_one_name_apart_by_their_id() -> None:
    told = diagnose_all(sorted(DAYS)).diagnosed
    assert {one.change.dbid for one in told} == {"3141592653"}
    other = [with_id(told[0], "7"), *told[1:]]
    assert [(one.database, len(one.diagnosed)) for one in groups(other)] == [
        ("ORDERS (DB Id 3141592653)", 2),
        ("ORDERS (DB Id 7)", 1),
    ]
    assert {one.file: one.database for one in lines(other)}[sorted(DAYS)[0]] == "ORDERS (DB Id 7)"
    unknown = [with_id(told[0], None), *told[1:]]
    assert [len(one.diagnosed) for one in groups(unknown)] == [3], "an unknown value fits anything"


def test_groups_tell_two_instances_of_one_database_apart() -> None:
    told = diagnose_all(sorted(DAYS)).diagnosed
    change = told[0].change
    assert isinstance(change, Delta)
    row = {**change.rows("v$instance")[0], "instance_number": 2}
    second = replace(change, readings={**change.readings, "v$instance": Changes("v$instance", (row,))})
    assert [len(one.diagnosed) for one in groups([replace(told[0], change=second), *told[1:]])] == [2, 1]


def test_groups_place_a_report_across_a_restart_by_its_id() -> None:
    told = [*diagnose_all(DAYS[:2]).diagnosed]
    gap = NotComparable("ORDERS", None, "a restart", "wait", "3141592653")
    (group,) = groups([*told, DiagnosedInput("gap", gap, cannot_tell(gap))])
    assert group.diagnosed[-1].name == "gap"
    stranger = replace(gap, dbid="7")
    assert len(groups([*told, DiagnosedInput("gap", stranger, cannot_tell(stranger))])) == 2


def of_release(one: DiagnosedInput, release: str, name: str) -> DiagnosedInput:
    assert isinstance(one.change, Delta)
    diagnosis = one.diagnosis.model_copy(update={"release": release})
    return DiagnosedInput(name, replace(one.change, release=release), diagnosis)


def test_groups_read_reports_of_one_time_and_other_releases_as_different_databases() -> None:
    sick, fine, later = diagnose_all(DAYS).diagnosed
    twin = of_release(sick, "19.0.0.0.0", "twin")
    found = groups([sick, fine, twin])
    assert [each.database for each in found] == ["ORDERS 11.2.0.4.0", "ORDERS 19.0.0.0.0"], "was one that dropped twin"
    old, new = found
    assert (
        old.notes[0] == "reports of 2 releases share DB Id 3141592653, so each release is read as a database of its own"
    )
    assert new.notes == ()
    upgraded = of_release(later, "19.0.0.0.0", "upgraded")
    assert len(groups([sick, fine, upgraded])) == 1, "one release after the other is an upgrade"


def test_groups_say_that_times_with_and_without_a_zone_may_be_in_a_wrong_order() -> None:
    one, other = diagnose_all(DAYS[:2]).diagnosed
    basis = other.diagnosis.basis
    assert basis is not None and basis.begin is not None and groups([one, other])[0].notes == ()
    there = basis.model_copy(update={"begin": basis.begin.replace(tzinfo=UTC)})
    zoned = replace(other, diagnosis=other.diagnosis.model_copy(update={"basis": there}))
    assert groups([one, zoned])[0].notes[0].startswith("reports print the host's local time and captures UTC")


def test_same_interval_needs_one_owner_and_one_known_time() -> None:
    one, other = diagnose_all(DAYS[:2]).diagnosed
    assert same_interval(one, replace(one, name="copy")) and not same_interval(one, other)
    assert not same_interval(one, with_id(one, "7")) and not same_interval(one, of_release(one, "19.0.0.0.0", "twin"))
    gap = NotComparable("ORDERS", None, "a restart", "wait")
    unknown = DiagnosedInput("gap", gap, cannot_tell(gap))
    assert not same_interval(unknown, unknown)
