"""Texts and positions of a page: figures as people read them, and the place of a point in a chart."""

import pytest

from service.render.study.page import StudyCurve, StudyLines, duration, figure, round_up, share
from tests.each import each


@each(
    ("value", "words"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (1.0, "100.00 %"),
        (0.503316, "50.33 %"),
        (0.000405973, "0.0406 %"),
        (0.0000164641, "0.00165 %"),
        (1e30, "1e+32 %"),
        (-0.02, "-2.00 %"),
    ],
)
def test_share_keeps_the_digits_that_tell_something(value: float | None, words: str) -> None:
    assert share(value) == words


@each(
    ("seconds", "words"),
    [
        (0.01, "10 ms"),
        (0.010000454, "10 ms"),
        (0.00158198, "1.6 ms"),
        (0.0001, "100 µs"),
        (2.0, "2 s"),
        (0.000000025, "25 ns"),
    ],
)
def test_duration_takes_the_unit_that_reads_best(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_figure_has_three_digits_and_its_unit() -> None:
    assert (figure(None, "ns"), figure(852.36, "ns"), figure(19_034.2), figure(1e30)) == (
        "–",
        "852 ns",
        "19,000",
        "1e+30",
    )


@each(("value", "top"), [(0, 1), (1, 1), (101.4, 120), (2071, 2500), (0.07, 0.08), (9.1, 10)])
def test_axis_ends_at_a_round_number_that_leaves_little_empty(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


def test_points_lie_between_the_ends_of_their_axes() -> None:
    chart = StudyLines("t", "x", (StudyCurve("c", ((1, 0), (3, 50), (5, 100))),))
    assert [chart.place(*point) for point in chart.points] == [(0, 0), (0.5, 0.5), (1, 1)]


def test_logarithmic_axes_go_by_powers_and_leave_out_what_is_not_positive() -> None:
    chart = StudyLines(
        "t", "x", (StudyCurve("c", ((0, 1), (1, 0), (1, 0.1), (10, 1), (100, 10))),), log_x=True, log_y=True
    )
    assert chart.points == [(1, 0.1), (10, 1), (100, 10)]
    assert [chart.place(*point) for point in chart.points] == [(0, 0), (0.5, 0.5), (1, 1)]


def test_single_point_lies_in_the_middle() -> None:
    assert StudyLines("t", "x", (StudyCurve("c", ((7, 5),)),)).place(7, 5) == (0.5, 1.0)
