"""Several inputs: one answer for equal advice, and an input without a cause gives way to one of its interval that names it."""

from dataclasses import replace

from rules.engine import diagnose
from rules.model import Confidence
from service.intake.inputs import DiagnosedInput, diagnose_all
from service.render.text import as_markdown, as_text, causes_shown, explained_elsewhere
from tests.paths import REPORTS, STORM
from tests.rules.printed import scripted


def test_an_input_without_a_cause_is_told_in_one_line_beside_one_of_its_interval_that_has_it() -> None:
    storm = scripted("undo-storm", 60.0)
    full = DiagnosedInput("full", storm, diagnose(storm))
    less = replace(full, name="less", diagnosis=full.diagnosis.model_copy(update={"findings": ()}))
    assert [shown.worst.name for shown in causes_shown([less, full])] == ["full"], "was: less, printed in full, too"
    assert [*explained_elsewhere([less, full])] == [
        "less has no cause of its own, because it holds less; read full instead: it has the same interval and names "
        "undo-segments"
    ]
    assert [shown.worst.name for shown in causes_shown([less])] == ["less"] and not [*explained_elsewhere([less])]


def test_certain_advice_does_not_speak_for_inputs_that_are_uncertain() -> None:
    low = [REPORTS / f"{name}.txt" for name in ("day-3", "statspack-11.2.0.3.0-undo-storm-level-10")]
    told = diagnose_all([str(STORM), *map(str, low)]).diagnosed
    assert [each.diagnosis.findings[0].confidence for each in told] == ["high", "low", "low"]
    text, markdown = " ".join(as_text(told).split()), as_markdown(told)
    certain, doubtful = text.split("CRITICAL: ")[1:]
    assert "confidence high" in certain and "Confirm first" not in certain and "other input" not in certain
    assert "Confidence is low, because the report has no child latches" in doubtful
    assert "Confirm first: select count(*) from dba_rollback_segs" in doubtful
    also = (
        "The same cause, confidence low, in 1 other input: statspack-11.2.0.3.0-undo-storm-level-10.txt (here because "
    )
    assert also in text, "another reason for the doubt is told beside the name"
    assert markdown.count("### Found: ") == 2 and markdown.count("**Confirm first**") == 1


def test_inputs_whose_advice_differs_do_not_share_an_answer() -> None:
    storm = scripted("undo-storm", 60.0)
    one = DiagnosedInput("one", storm, diagnose(storm))
    (finding,) = one.diagnosis.findings
    assert finding.confirm is not None
    on_each_instance = tuple(step.model_copy(update={"in_cluster": "sid='a'"}) for step in finding.remedy_steps)
    refuted = finding.confirm.model_copy(update={"result": 20.0, "confirms": False})
    for changed in (
        finding.model_copy(update={"confidence": Confidence.MEDIUM}),
        finding.model_copy(update={"identity": "candidate"}),
        finding.model_copy(update={"confirm": refuted}),
        finding.model_copy(update={"do_now": "Ask first."}),
        finding.model_copy(update={"remedy_steps": finding.remedy_steps[1:]}),
        finding.model_copy(update={"remedy_steps": on_each_instance}),
    ):
        other = replace(one, name="other", diagnosis=one.diagnosis.model_copy(update={"findings": (changed,)}))
        assert [shown.others for shown in causes_shown([one, other])] == [(), ()], changed
    newer = replace(one, name="newer", diagnosis=one.diagnosis.model_copy(update={"release": "12.1.0.2.0"}))
    assert len(causes_shown([one, newer])) == 2, "the newer one has containers, and other statements"
    (both,) = causes_shown([one, replace(one, name="twin")])
    assert both.holds_for == "The same cause, confidence high, in 1 other input: twin"
