"""The timer study in words: what changes, and for which sessions."""

from rules.studies.parallel import timer_study
from service.render.study.page import StudyTable
from service.render.study.timer import timer_page


def test_answer_tells_both_kinds_of_waiters() -> None:
    page = timer_page(timer_study(granularity=0.001, need=0.001, before=0.01))
    assert "10 ms -> 1.6 ms for a need of 1 ms, 6.32 times shorter" in page.answer
    assert page.answer.endswith("a waiter on a standard exclusive latch: no change.")
    table = next(part for part in page.parts if isinstance(part, StudyTable))
    assert table.rows[-1] == ("is posted", "any", "no change", "no change")


def test_coarser_timer_is_told_as_longer_and_the_same_as_no_change() -> None:
    assert "times longer" in timer_page(timer_study(granularity=0.01, need=0.001, before=0.001)).answer
    assert "no notable change" in timer_page(timer_study(granularity=0.0001, need=0.01, before=0.0002)).answer
