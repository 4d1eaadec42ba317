"""The first screen in a terminal: twelve narrow lines with what it takes to act, over cases, scenarios, probes, reports."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.demo.scenarios import scenarios
from collectors.model import Changes, Delta, NotComparable
from rules.changes import Change
from rules.engine import cannot_tell, diagnose
from rules.explain.story import LABELS, story
from rules.hangs.words import heading, shown_first
from rules.model import DiagnosisBasis, Finding, Severity
from service.intake.inputs import DiagnosedInput, diagnose_all
from service.render.summary import HEADINGS, groups, lines, period, same_interval
from service.render.text import MOST_LINES, as_markdown, as_text
from tests.paths import PROBES, REPORTS
from tests.rules.case_files import all_cases, delta_of_case, diagnosis_of_case
from tests.rules.printed import scripted

COLUMNS = 100


def told(name: str, delta: Delta) -> DiagnosedInput:
    return DiagnosedInput(name, delta, diagnose(delta))


def inputs(cases: int, reports: int) -> Iterator[DiagnosedInput]:
    """A seeded sample of the cases, every scripted database at two moments, every probe, some of our reports."""
    dice = random.Random(13)
    for case in dice.sample(all_cases(), cases):
        yield DiagnosedInput(str(case), delta_of_case(str(case)), diagnosis_of_case(str(case)))
    for name in scenarios():
        yield from (told(name, scripted(name, at, 15.0)) for at in (1.0, 60.0))
    files = [*sorted(PROBES.glob("*.json")), *dice.sample(sorted(REPORTS.glob("*.[ht]*")), reports)]
    outcome = diagnose_all([str(path) for path in files])
    assert not outcome.errors
    yield from outcome.diagnosed


@pytest.fixture(
    scope="module",
    params=["some", *(pytest.param(each, marks=pytest.mark.slow) for each in ("many", "anonymised"))],
)
def answers(request: pytest.FixtureRequest) -> list[tuple[DiagnosedInput, str]]:
    """Inputs with their short answer: ours, and the real reports."""
    if request.param != "anonymised":
        found = [(each, as_text([each])) for each in (inputs(200, 8) if request.param == "many" else inputs(30, 2))]
        assert {each.diagnosis.severity for each, _ in found} == set(Severity)
        return found
    folder: Path = request.getfixturevalue("anonymised_reports")
    outcome = diagnose_all([str(path) for path in sorted(folder.glob("*.[ht]*"))])
    assert not outcome.errors and len(outcome.diagnosed) > 15
    return [(each, as_text([each])) for each in outcome.diagnosed]


def troubled(answers: list[tuple[DiagnosedInput, str]]) -> int:
    """How many inputs have a finding that is a problem. Of the real reports hardly one has."""
    return sum(any(one.severity is not Severity.INFO for one in each.diagnosis.findings) for each, _ in answers)


def test_a_first_screen_has_twelve_lines_of_a_terminal(answers: list[tuple[DiagnosedInput, str]]) -> None:
    assert {each.name: text for each, text in answers if len(text.rstrip().splitlines()) > MOST_LINES} == {}


@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_a_terminal_unless_a_single_word_is(
    answers: list[tuple[DiagnosedInput, str]], verbose: bool
) -> None:
    for each, brief in answers:
        text = as_text([each], verbose=True) if verbose else brief
        wide = [line for line in text.splitlines() if len(line) > COLUMNS and len(line.split()) > 1]
        # A word is never broken, so a line may be as wide as a path or address that fills it.
        assert [line for line in wide if max(map(len, line.split())) < COLUMNS - 30] == [], each.name


def to_act(finding: Finding) -> Iterator[str]:
    """Everything that you need to act on a finding."""
    query = finding.confirm
    yield from () if query is None else (query.sql, "" if query.names else query.names_sql or "")
    yield from (words for step in finding.remedy_steps for words in (step.do, step.risk or ""))
    yield from (finding.do_now, finding.do_not.removeprefix("Do not "), finding.check_first or "")


def test_nothing_is_lost_that_it_takes_to_act(answers: list[tuple[DiagnosedInput, str]]) -> None:
    """The first screen has the advice of the first finding, or of the hang; `-v` the rest."""
    hangs = 0
    for each, brief in answers:
        text, whole = (" ".join(form.split()) for form in (brief, as_text([each], verbose=True)))
        assert "-v shows" in text, each.name
        troubles = [one for one in each.diagnosis.findings if one.severity is not Severity.INFO]
        chains = shown_first(each.diagnosis.blockers.chains) if each.diagnosis.blockers else ()
        for place, finding in enumerate(troubles):
            assert f"({finding.cause}" in text, each.name
            assert [words for words in to_act(finding) if " ".join(words.split()) not in whole] == [], each.name
            if not place and not chains:
                mistake = finding.do_not.removeprefix("Do not ").partition(". ")[0]
                assert finding.do_now in text and f"Do not: {mistake}" in text, each.name
        for chain in chains[:1]:
            hangs += 1
            assert heading(chain)[2:] in text and "Do not: kill" in text, each.name
            assert chain.action is None or chain.action.command in text or "the wait chain has both" in text, each.name
        for chain in chains:
            assert heading(chain) in whole and all(missing.fact in whole for missing in chain.missing), each.name
            assert chain.action is None or chain.action.command in whole, each.name
    assert hangs or not troubled(answers)


ORDER = [*LABELS.values()]


def test_paragraphs_come_in_one_order(answers: list[tuple[DiagnosedInput, str]]) -> None:
    for each, brief in answers:
        labels = re.findall(rf"^({'|'.join(ORDER)}): ", brief, re.M)
        assert labels == sorted(labels, key=ORDER.index), each.name


NEVER = ("most for unknown", "(unknown)", "would need not ", "3.14 gets for each dictionary get, within the 1 to 3")


def test_words_that_say_nothing_are_never_said(answers: list[tuple[DiagnosedInput, str]]) -> None:
    for each, brief in answers:
        for text in (brief, as_text([each], verbose=True)):
            unwrapped = " ".join(text.split())
            assert [words for words in NEVER if words in unwrapped] == [], each.name


def test_notes_of_every_report_and_assumptions_are_left_to_verbose(anonymised_reports: Path) -> None:
    each = diagnose_all([str(anonymised_reports / "awr-11.2.0.3-io-bound.html")]).diagnosed
    assert "judged from a printed report" not in as_text(each)
    assert "judged from a printed report" in as_text(each, verbose=True)


def test_three_nearest_changes_are_in_the_story_and_all_of_them_in_the_long_forms() -> None:
    storm = told("storm", scripted("undo-storm", 40, 42))
    begin = datetime(2026, 3, 1, 12, 0, 40, tzinfo=UTC)
    changes = tuple(
        Change(at=begin + timedelta(seconds=s), kind="ddl", text=f"TABLE APP.T{s} changed by DDL", source="dba_objects")
        for s in (-3000, -60, -20, 30)
    )
    more = {"changes": changes, "waits_began": begin, "changes_missing": ("opened containers: not read yet",)}
    shown = replace(storm, diagnosis=storm.diagnosis.model_copy(update=more))
    (near,) = [paragraph.words for paragraph in story(shown.diagnosis) if paragraph.kind == "changed"]
    assert near.count("changed by DDL") == 3 and "T-3000" not in near
    for text in (as_text([shown], verbose=True), as_markdown([shown])):
        assert all(f"APP.T{s} changed" in " ".join(text.split()) for s in (-3000, -60, -20, 30))
        assert "opened containers: not read yet" in text
    assert "What changed" not in as_markdown([storm])


# Several Diagnoses in short: the cells of the table, and the inputs of each database in order of time

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
    newer = replace(one, diagnosis=one.diagnosis.model_copy(update={"release": "19.0.0.0.0"}))
    assert not same_interval(one, with_id(one, "7")) and not same_interval(one, newer)
    gap = NotComparable("ORDERS", None, "a restart", "wait")
    unknown = DiagnosedInput("gap", gap, cannot_tell(gap))
    assert not same_interval(unknown, unknown)
