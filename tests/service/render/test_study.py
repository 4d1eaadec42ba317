"""A study on a terminal: at most 100 columns, every point on its chart, and names without effect."""

import pytest

from service.render.study.page import StudyBars, StudyCurve, StudyLines, StudyPage, StudyTable
from service.render.study.text import COLUMNS, LINES, SCALE, WIDTH, as_text, bars, lines, table

LONG = "a name that goes on and on " * 5


def test_page_is_the_answer_then_findings_parts_and_limits() -> None:
    page = StudyPage(
        "T", "The answer.", ("first", "second"), (StudyTable("Table", ("a", "b"), (("x", "1"),)),), ("a limit",)
    )
    assert as_text(page).split("\n") == [
        "The answer.", "", "- first", "- second", "", "Table", "a  b", "x  1", "", "Limits", "- a limit"
    ]  # fmt: skip


def test_no_line_is_longer_than_the_width() -> None:
    chart = StudyLines(LONG, LONG, tuple(StudyCurve(f"{LONG}{i}", ((1, i), (9, 2))) for i in range(9)))
    page = StudyPage(
        LONG,
        LONG * 3,
        (LONG * 3,),
        (
            StudyTable(LONG, (LONG,) * 3, ((LONG,) * 3,), words=3),
            chart,
            StudyBars(LONG, LONG, ((LONG, 3.0), ("b", 0.0))),
        ),
        (LONG * 3,),
    )
    told = as_text(page).split("\n")
    assert max(map(len, told)) <= WIDTH
    assert any(len(line) > WIDTH - 10 for line in told)


def test_percent_sign_stays_with_its_number() -> None:
    page = StudyPage("T", "x" * (WIDTH - 7) + " 50.33 % and more", (), (), ())
    assert as_text(page).split("\n")[1] == "50.33 % and more"


def test_chart_puts_every_point_where_it_belongs() -> None:
    told = lines(
        StudyLines("t", "n", (StudyCurve("up", ((1, 0), (2, 50), (3, 100))), StudyCurve("flat", ((1, 100), (3, 0)))))
    )
    assert told[0] == "t"
    grid = [line[SCALE + 2 :].ljust(COLUMNS) for line in told[1 : LINES + 1]]
    assert (grid[0][0], grid[0][-1], grid[-1][0], grid[-1][-1]) == ("x", "o", "o", "x")
    assert sum(line.count("o") for line in grid) == 3
    assert told[1].startswith("      100 |") and told[LINES].startswith("        0 |")
    assert told[LINES + 2].split() == ["1", "2", "3"] and told[LINES + 3].split("   ")[-1] == "(n)"


def test_points_of_two_curves_on_one_place_are_marked_as_shared() -> None:
    told = "\n".join(
        lines(StudyLines("t", "n", (StudyCurve("a", ((1, 1), (2, 2))), StudyCurve("b", ((1, 1), (2, 1))))))
    )
    assert told.count("=") == 1


def test_chart_of_nothing_says_so() -> None:
    assert lines(StudyLines("t", "n", (StudyCurve("a", ((1, 0),)),), log_y=True)) == [
        "t",
        "(nothing above zero to draw)",
    ]


@pytest.mark.parametrize(("amounts", "longest"), [((("a", 1.0), ("bb", 2.0)), "bb"), ((("a", 0.0), ("bb", 0.0)), "a")])
def test_bars_are_as_long_as_their_values(amounts: tuple[tuple[str, float], ...], longest: str) -> None:
    told = bars(StudyBars("t", "times", amounts))
    assert told[0] == "t (times)"
    lengths = {line.split()[0]: line.count("#") for line in told[1:]}
    assert max(lengths, key=lambda name: lengths[name]) == longest and min(lengths.values()) >= 1
    if amounts[1][1]:
        assert lengths["bb"] == pytest.approx(2 * lengths["a"], abs=1)


def test_numbers_of_a_table_end_below_each_other() -> None:
    told = table(StudyTable("t", ("name", "value"), (("a", "1"), ("b", "1,000"))))
    assert told == ["t", "name  value", "a         1", "b     1,000"]
