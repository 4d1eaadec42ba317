"""The study of partitions in words: the setting with its interval, errors by fitted terms, refusals."""

import pytest

from rules.contention.queue import DemandTerms, table_throughput
from rules.studies.partitions import partition_study
from service.render.study import StudyLines, StudyPage, StudyTable, partitions_page

TERMS = DemandTerms(think=0.010, think_per_batch=0.008, per_item=0.0002, per_batch=0.002, growing=0.0)


@pytest.fixture(scope="module")
def page() -> StudyPage:
    cells = [(p, b, table_throughput(TERMS, 20, p, b)) for p in (1, 4) for b in (1, 2, 8)]
    text = "\n".join(["partitions,batch,tps", *(f"{p},{b},{tps}" for p, b, tps in cells)])
    return partitions_page(partition_study(text, "t.csv", asked=[(2, 4), (2, 16)]))


def test_answer_is_a_setting_with_its_interval(page: StudyPage) -> None:
    assert page.answer.startswith("Take 4 partitions with a batch of ")
    assert "[" in page.answer and " to " in page.answer and "per second" in page.answer


def test_asked_settings_come_first_and_a_refusal_says_why(page: StudyPage) -> None:
    assert page.findings[0].startswith("Asked: 2 partitions with a batch of 4: ")
    assert page.findings[1].startswith(
        "Refused: 2 partitions with a batch of 16: a batch of 16 was not measured (1 to 8 were)"
    )
    assert page.findings[2].startswith(
        "Fitted on 4 cells (1x1, 1x8, 4x1, 4x8) the other 2 are predicted with a median error of"
    )


def test_charts_have_a_curve_for_each_number_of_partitions(page: StudyPage) -> None:
    charts = [part for part in page.parts if isinstance(part, StudyLines)]
    assert [[curve.name for curve in chart.curves] for chart in charts] == [["1 partition", "4 partitions"]] * 2


def test_corners_show_no_error_as_they_were_fitted(page: StudyPage) -> None:
    table = next(part for part in page.parts if isinstance(part, StudyTable))
    assert [row[5] == "–" for row in table.rows] == [True, False, True, True, False, True]
    assert [row[7] for row in table.rows] == ["corner", "", "corner", "corner", "", "corner"]


def test_limits_tell_the_measured_batches_and_the_processes_that_were_taken(page: StudyPage) -> None:
    assert page.limits[0].startswith("No batch outside 1 to 8 is predicted")
    assert "the study assumes 60 (--processes N)" in page.limits[1]
