"""Several Diagnoses in short: the cells of the table, and the inputs that form a series."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.model import Changes, Delta, NotComparable
from rules.engine import cannot_tell
from rules.model import DiagnosisBasis
from service.intake.inputs import DiagnosedInput, diagnose_all
from service.render.summary import HEADINGS, groups, lines, period
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


def test_lines_are_the_worst_first_and_groups_in_the_order_of_time(incident: Path) -> None:
    told = diagnose_all([DAYS[0], str(incident), *DAYS[1:]]).diagnosed
    assert [one.file for one in lines(told)] == [DAYS[0], str(incident), *DAYS[1:]], "the worst first"
    assert all(len(one.cells) == len(HEADINGS) for one in lines(told))
    orders, other = groups(told)
    assert (orders.database, [one.name for one in orders.diagnosed]) == ("ORDERS", sorted(DAYS))
    assert orders.series is not None and orders.series.first_bad == DAYS[0]
    assert (other.database, other.series) == ("undo-segments", None)


def test_incomparable_input_is_listed_but_not_part_of_a_series() -> None:
    (one,) = diagnose_all(DAYS[:1]).diagnosed
    gap = NotComparable("ORDERS", None, "a restart", "wait")
    (group,) = groups([one, DiagnosedInput("gap", gap, cannot_tell(gap))])
    assert len(group.diagnosed) == 2 and group.series is None
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
        ("ORDERS (DB Id 7)", 1),
        ("ORDERS (DB Id 3141592653)", 2),
    ]
    assert {one.file: one.database for one in lines(other)}[sorted(DAYS)[0]] == "ORDERS (DB Id 7)"
    unknown = [with_id(told[0], None), *told[1:]]
    assert [len(one.diagnosed) for one in groups(unknown)] == [3], "an unknown value fits anything"


def test_groups_make_two_series_of_two_instances_of_one_database() -> None:
    told = diagnose_all(sorted(DAYS)).diagnosed
    change = told[0].change
    assert isinstance(change, Delta)
    row = {**change.rows("v$instance")[0], "instance_number": 2}
    second = replace(change, readings={**change.readings, "v$instance": Changes("v$instance", (row,))})
    assert [len(one.diagnosed) for one in groups([replace(told[0], change=second), *told[1:]])] == [1, 2]


def test_groups_note_an_interval_that_was_given_twice() -> None:
    (group,) = groups(
        [*diagnose_all(DAYS[:1]).diagnosed, *(replace(one, name="copy") for one in diagnose_all(DAYS).diagnosed)]
    )
    assert any("left out, as they are of the same interval" in note for note in group.notes)


def test_groups_place_a_report_across_a_restart_by_its_id() -> None:
    told = [*diagnose_all(DAYS[:2]).diagnosed]
    gap = NotComparable("ORDERS", None, "a restart", "wait", "3141592653")
    (group,) = groups([*told, DiagnosedInput("gap", gap, cannot_tell(gap))])
    assert group.gaps == ("gap has no interval: a restart",)
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
    assert not any("left out" in note for note in (*old.notes, *new.notes))
    upgraded = of_release(later, "19.0.0.0.0", "upgraded")
    (one,) = groups([sick, fine, upgraded])
    assert any("the release changed" in note for note in one.notes), "one release after the other is an upgrade"
