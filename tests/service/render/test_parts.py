"""Parts of a Diagnosis in words: lines that fit, costs by surface, and causes that another one explains."""

from pathlib import Path

from rules.base import bound_of
from rules.model import Confidence, RuledOut
from service.intake.inputs import DiagnosedInput, diagnose_data
from service.render.parts import (
    COLUMNS,
    after_the_steps,
    against,
    before_the_steps,
    cost,
    cost_beside,
    nearest,
    without_basis,
    wrapped,
)
from tests.paths import PROBES


def test_wrapped_breaks_no_word_and_keeps_a_number_beside_its_unit() -> None:
    path = "x" * 130
    assert wrapped(f"see {path}") == ["see", f"    {path}"]
    for width in range(60, 110):
        lines = wrapped("a" * width + " of 12 % and 30 s", "  ")
        assert all(len(line) <= COLUMNS or line.split() == ["a" * width] for line in lines)
        assert not [line for line in lines if line.split()[0] in ("%", "s")]
    assert wrapped("") == []


def incident_of(path: Path) -> DiagnosedInput:
    return diagnose_data(path.read_bytes(), path.name).diagnosed[0]


def test_cost_is_that_of_the_surface_or_unknown(incident: Path) -> None:
    totals = incident_of(incident)
    assert cost(totals, totals.diagnosis.findings[0]) == "cost unknown"
    storm = incident_of(PROBES / "P00_undo_storm.json")
    (finding,) = storm.diagnosis.findings
    assert cost(storm, finding) == "costs 46.7 % of DB time"
    other = finding.model_copy(update={"surface": "lock"})
    assert cost(storm, other) != cost(storm, finding)
    assert cost_beside(storm, finding, [finding]) == "costs the same 46.7 % of DB time"
    assert cost_beside(storm, finding, [other]) == cost(storm, finding)


def test_what_is_little_sure_is_confirmed_before_all_else(incident: Path) -> None:
    (finding,) = incident_of(incident).diagnosis.findings
    assert [name for name, _ in before_the_steps(finding)] == ["Do", "Check first", "Do not"]
    assert [name for name, _ in after_the_steps(finding)] == ["Confirm", "Expected effect"]
    unsure = finding.model_copy(update={"confidence": Confidence.LOW})
    assert [name for name, _ in before_the_steps(unsure)] == ["Confirm first", "Do", "Check first", "Do not"]
    assert [name for name, _ in after_the_steps(unsure)] == ["Expected effect"]


def test_finding_of_an_older_release_tells_its_paragraphs(incident: Path) -> None:
    (finding,) = incident_of(incident).diagnosis.findings
    old = finding.model_copy(update={"do_now": "", "check_first": None, "do_not": "", "remedy_steps": ()})
    assert dict(before_the_steps(old)) == {"Do": finding.remedy, "Risk": finding.risk}


def test_statements_lose_the_interval_that_the_circumstances_tell(incident: Path) -> None:
    diagnosis = incident_of(incident).diagnosis
    hot = diagnosis.steps[0].statement
    assert hot.endswith("24,242,220, in totals since an unknown instance start.")
    assert without_basis(diagnosis, hot).endswith("24,241,645 of 24,242,220.")


def test_against_names_the_cause_that_explains_it_instead() -> None:
    other = RuledOut(
        cause="a",
        signal="s",
        value=120.0,
        needs="not >= 100",
        because="Parse storm explains these waits (b)",
        explained_by="b",
    )
    assert against(other) == "Parse storm explains these waits (b)"
    far = RuledOut(cause="c", signal="sleeps", value=1.0, needs=">= 100", bound=bound_of(">= 100"))
    assert against(far) == "sleeps is 1 where it would need >= 100"
    assert nearest([far, other]) == [other, far]
