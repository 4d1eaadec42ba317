"""Paths over stretches: known points land at known coordinates, and nothing crosses a gap."""

import re
from collections.abc import Sequence

import pytest

from service.web.charts.axis import WIDE
from service.web.charts.panels import ChartLine, WatchedStretch
from service.web.charts.paths import area_of, path_of, places_of, runs_of, spread_of
from tests.service.web.charts.drawings import AXIS, stretch, x, y


def drawn_path(line: ChartLine, stretches: Sequence[WatchedStretch], top: float) -> str:
    return path_of(runs_of(line.values, places_of(AXIS, stretches), WIDE, top))


def test_path_places_known_points_at_known_coordinates() -> None:
    told = drawn_path(ChartLine("a", (0.0, 5.0, 10.0)), [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert told == f"M{x(0)},{y(0)}H{x(20)}V{y(0.5)}H{x(60)}V{y(1)}H{x(100)}"


def test_path_does_not_cross_a_gap_or_an_unknown_value() -> None:
    over_gap = drawn_path(ChartLine("a", (5.0, 5.0)), [stretch(0, 20), stretch(60, 100)], 10.0)
    assert over_gap == f"M{x(0)},{y(0.5)}H{x(20)}M{x(60)},{y(0.5)}H{x(100)}"
    unknown = drawn_path(ChartLine("a", (5.0, None, 5.0)), [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert unknown == over_gap


def test_path_of_a_lone_short_stretch_is_visible() -> None:
    told = drawn_path(ChartLine("a", (1.0,)), [stretch(50, 50.01)], 1.0)
    begin, end = map(float, re.findall(r"M([\d.]+),[\d.]+H([\d.]+)", told)[0])
    assert end - begin == pytest.approx(1, abs=0.11)


def test_area_and_spread_close_over_each_run_and_never_over_a_gap() -> None:
    stretches = [stretch(0, 20), stretch(60, 100)]
    line = ChartLine("a", (5.0, 5.0), lows=(0.0, 5.0), highs=(10.0, 5.0))
    assert area_of(runs_of(line.values, places_of(AXIS, stretches), WIDE, 10.0), WIDE).count("Z") == 2
    assert spread_of(line, places_of(AXIS, stretches), WIDE, 10.0).startswith(
        f"M{x(0)},{y(1)}V{y(1)}H{x(20)}V{y(0)}H{x(0)}Z"
    )
