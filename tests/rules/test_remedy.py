"""Steps of a remedy: what one holds, and what becomes of them in one paragraph."""

import pytest
from pydantic import ValidationError

from rules.remedy import NOT_KNOWN, RemedyStep, paragraph, risks

LOOK = RemedyStep(do="Count the segments.", sql="select count(*) from sys.undo$", risk="Transactions fail.")
SWITCH = RemedyStep(
    do="Switch.", sql={"11.2": "alter system set undo_tablespace = UNDO_NEW"}, fill_in=("UNDO_NEW",), way_back="Back."
)
POOL = RemedyStep(do="Fix the pool.", setting="pool size = POOL_SIZE", fill_in=("POOL_SIZE",), risk="Requests wait.")


def test_only_a_statement_that_reads_changes_nothing() -> None:
    assert [step.changes for step in (LOOK, SWITCH, POOL, RemedyStep(do="Wait."))] == [False, True, True, True]


def test_texts_are_those_of_every_release() -> None:
    assert SWITCH.texts() == ("alter system set undo_tablespace = UNDO_NEW",)
    assert LOOK.texts() == ("select count(*) from sys.undo$",) and POOL.texts() == ()


def test_a_name_to_fill_in_that_stands_nowhere_is_refused() -> None:
    with pytest.raises(ValidationError, match="fill_in names UNDO_OLD, which stands neither in sql nor in setting"):
        RemedyStep(do="Switch.", sql="alter system set undo_tablespace = UNDO_NEW", fill_in=("UNDO_OLD",))


def test_steps_in_one_paragraph() -> None:
    steps = (LOOK, SWITCH, POOL)
    assert paragraph(steps) == "Count the segments. Switch. Fix the pool."
    assert risks(steps) == "Transactions fail. Requests wait."
    assert risks((SWITCH,)) == NOT_KNOWN
