"""Charts of reports as SVG: an unknown value is not zero, and the scale is easy to read."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from service.state.time_window import Window
from service.web.charts.svg import (
    NAMES,
    NARROW,
    WIDE,
    Axis,
    ChartLine,
    ChartPanel,
    WatchedStretch,
    area_of,
    bars,
    label,
    levelled,
    path_of,
    places_of,
    round_up,
    runs_of,
    spread_of,
    thinned,
    together,
    top,
)
from tests.service.web.charts.drawings import AXIS, stretch, x, y

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("highest", "top", "words"),
    [
        (0, 1, "1"),
        (0.3, 0.4, "0.4"),
        (1, 1, "1"),
        (1.01, 2, "2"),
        (4.2, 5, "5"),
        (9, 10, "10"),
        (31.9, 40, "40"),
        (5200, 10_000, "10,000"),
        (0.00042, 0.0005, "0.0005"),
    ],
)
def test_scale_ends_at_one_two_four_or_five(highest: float, top: float, words: str) -> None:
    assert round_up(highest) == pytest.approx(top)
    assert label(round_up(highest)) == words


def test_rare_events_are_levelled_over_a_minute_and_many_stay_as_they_are() -> None:
    """One sleep in a poll of 2 s is not 0.5 a second; a storm keeps its polls; unknown stays unknown."""
    ends = [60.0, *(60.0 + 2 * place for place in range(1, 91))]
    spans = [stretch(begin, end) for begin, end in pairwise([0.0, *ends])]
    quiet = [2 / 60, *(0.5 if place % 15 == 0 else 0.0 for place in range(90))]
    told = levelled(ChartPanel("sleeps", "s", "", (ChartLine("a", tuple(quiet)),)), spans, 60.0).lines[0].values
    assert max(value or 0.0 for value in told) < 0.05 < max(quiet)
    assert sum((v or 0) * s.seconds for v, s in zip(told, spans, strict=True)) == pytest.approx(2 + 6), (
        "as many as before"
    )
    storm = [value if place < 40 else 900.0 + place for place, value in enumerate(quiet)]
    both = levelled(ChartPanel("sleeps", "s", "", (ChartLine("a", (None, *storm[1:])),)), spans, 60.0).lines[0].values
    assert both[0] is None and list(both[40:]) == storm[40:]


def drawn(markup: str) -> list[tuple[str, float, float, float, float]]:
    found = re.findall(r'<rect class="([^"]+)" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"', markup)
    return [(kind, *map(float, numbers)) for kind, *numbers in found]


def test_bars_are_as_long_as_their_share_of_the_longest_escaped_and_well_formed() -> None:
    markup = bars([("dc_users", 200.0), ("dc_objects", 100.0), ("dc_files", 0.0)], "Gets", "gets")
    long, half, none = drawn(markup)
    assert long[1] == NAMES and long[3] == 2 * half[3] and none[3] == 1
    assert re.findall(r">([^<]+)</text>", markup) == ["dc_users", "200", "dc_objects", "100", "dc_files", "0"]
    markup = bars([("<b>&" * 30, 1.0)], "<b>&", '"x"')
    assert "<b>" not in markup
    ET.fromstring(markup)


def stretches(*starts: float, length: float = 10) -> list[WatchedStretch]:
    return [
        WatchedStretch(BEGAN + timedelta(seconds=one), BEGAN + timedelta(seconds=one + length), length)
        for one in starts
    ]


def panel(*lines: ChartLine) -> ChartPanel:
    return ChartPanel("gets", "Gets", "per second", lines)


def test_top_keeps_the_heaviest_lines_and_joins_the_others_if_they_are_known() -> None:
    lines = {name: np.full(2, value) for name, value in (("a", 1.0), ("b", 4.0), ("c", 3.0), ("d", 0.0), ("e", 2.0))}
    told = list(top(lines, [10, 10], most=2))
    assert [(one.name, one.values) for one in told] == [("b", (4.0, 4.0)), ("c", (3.0, 3.0)), ("2 others", (3.0, 3.0))]
    assert [one.name for one in top({"a": np.zeros(1), "b": np.full(1, np.nan)}, [10])] == ["a"]
    lines = {"a": np.full(2, 9.0), "b": np.array([1.0, np.nan]), "c": np.ones(2)}
    told = list(top(lines, [10, 10], most=1))
    assert told[1].values == (2.0, None)


def test_thinned_takes_weighted_means_and_never_crosses_a_gap() -> None:
    told = [*stretches(0, 10), *stretches(20, length=20), *stretches(100, 110)]
    joined, (thin,) = thinned(told, [panel(ChartLine("a", (1.0, None, 4.0, 2.0, 8.0)))], 2)
    assert [(one.seconds, (one.begin - BEGAN).total_seconds()) for one in joined] == [(40, 0), (20, 100)]
    assert thin.lines[0].values == ((1.0 * 10 + 4.0 * 20) / 30, 5.0)


def test_together_gives_equal_lines_with_zero_only_where_watched() -> None:
    before = (panel(ChartLine("hot", (100.0, 100.0)), ChartLine("cool", (1.0, 1.0))), stretches(0, 10))
    after = (panel(ChartLine("cool", (2.0, None))), stretches(50, 60))
    first, second = together(before, after)
    assert [one.name for one in first.lines] == [one.name for one in second.lines] == ["hot", "cool"]
    assert second.lines[0].values == (0.0, None)
    assert first.lines[1].values == (1.0, 1.0)


def drawn_path(line: ChartLine, stretches: Sequence[WatchedStretch], top: float) -> str:
    return path_of(runs_of(line.values, places_of(AXIS, stretches), WIDE, top))


def test_path_places_known_points_and_crosses_neither_a_gap_nor_an_unknown_value() -> None:
    told = drawn_path(ChartLine("a", (0.0, 5.0, 10.0)), [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert told == f"M{x(0)},{y(0)}H{x(20)}V{y(0.5)}H{x(60)}V{y(1)}H{x(100)}"
    over_gap = drawn_path(ChartLine("a", (5.0, 5.0)), [stretch(0, 20), stretch(60, 100)], 10.0)
    assert over_gap == f"M{x(0)},{y(0.5)}H{x(20)}M{x(60)},{y(0.5)}H{x(100)}"
    unknown = drawn_path(ChartLine("a", (5.0, None, 5.0)), [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert unknown == over_gap
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


def axis(length: timedelta) -> Axis:
    return Axis(Window(BEGAN, BEGAN + length))


@pytest.mark.parametrize(
    ("length", "first", "count"),
    [
        (timedelta(seconds=50), "12:00:00", 5),
        (timedelta(hours=1), "12:00", 6),
        (timedelta(hours=24), "12:00", 8),
        (timedelta(days=7), "02 Mar", 7),
        (timedelta(days=90), "02 Mar", 7),
    ],
)
def test_ticks_are_round_moments(length: timedelta, first: str, count: int) -> None:
    ticks = axis(length).ticks()
    assert (ticks[0][1], len(ticks)) == (first, count)
    assert len({later[0] - earlier[0] for earlier, later in pairwise(ticks)}) == 1


def test_moment_lies_at_its_share_of_the_window_and_a_narrow_drawing_has_fewer_ticks() -> None:
    shown = axis(timedelta(seconds=100))
    assert shown.x(BEGAN) == WIDE.left
    assert shown.x(BEGAN + timedelta(seconds=50)) == (WIDE.left + WIDE.edge) / 2
    assert shown.x(BEGAN + timedelta(days=1)) == WIDE.edge
    assert shown.x(BEGAN - timedelta(days=1)) == WIDE.left
    window = Window(BEGAN, BEGAN + timedelta(hours=1))
    assert len(Axis(window, NARROW).ticks()) < len(Axis(window, WIDE).ticks())
