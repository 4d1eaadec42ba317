"""Several inputs: an input without a cause gives way to one of the same interval that names it."""

from dataclasses import replace

from rules.engine import diagnose
from service.intake.inputs import DiagnosedInput
from service.render.several import causes_shown, explained_elsewhere
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
