"""The study of parallel work in words: published figures, totals, and what more workers did not achieve."""

from rules.studies.parallel import parallel_study
from service.render.study.page import StudyTable
from service.render.study.parallel import parallel_page

TABLE = "name,cpus,before,after,speedup\nsmall,32,100,20,5\nlarge,512,1200,200,{published}\nhalf,512,500,90,\nrest,512,700,110,\n"


def test_findings_tell_what_follows_what_does_not_and_what_is_told_twice() -> None:
    right = parallel_page(parallel_study(TABLE.format(published=6), "t.csv")).findings
    assert right[0] == "All 2 published speed-ups follow from the times, rounded as published."
    assert right[1].startswith("large is half and rest added")
    assert right[2].startswith(
        "More workers do not explain the speed-ups: large has 16 times those of small and 1.20 times"
    )
    wrong = parallel_page(parallel_study(TABLE.format(published=16), "t.csv"))
    assert wrong.findings[0] == "large: 16 times is published, the times give 6.00."
    table = next(part for part in wrong.parts if isinstance(part, StudyTable))
    assert [row[5] for row in table.rows] == ["5 yes", "16 NO", "–", "–"]


def test_serial_share_is_at_most_what_is_told_where_workers_are_not_counted() -> None:
    page = parallel_page(parallel_study(TABLE.format(published=6), "t.csv"))
    assert "at most" in page.answer and any("processors, not workers" in limit for limit in page.limits)
    counted = parallel_page(parallel_study(TABLE.format(published=6).replace("cpus", "workers"), "t.csv"))
    assert "at most" not in counted.answer and not any("processors, not" in limit for limit in counted.limits)


def test_work_without_a_serial_share_is_not_told_to_have_one() -> None:
    page = parallel_page(parallel_study("workers,before,after\n2,100,50\n4,100,25\n", "t.csv"))
    assert page.answer == "Speed-ups of 2.00 to 4.00, 2.83 on average."
