"""Lines over stretches: the heaviest and the rest, fewer without a filled gap, two sides with the same lines."""

from datetime import UTC, datetime, timedelta

import numpy as np

from service.web.charts.panels import ChartLine, ChartPanel, WatchedStretch, thinned, together, top

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def stretches(*starts: float, length: float = 10) -> list[WatchedStretch]:
    return [
        WatchedStretch(BEGAN + timedelta(seconds=one), BEGAN + timedelta(seconds=one + length), length)
        for one in starts
    ]


def panel(*lines: ChartLine) -> ChartPanel:
    return ChartPanel("gets", "Gets", "per second", lines)


def test_top_keeps_the_heaviest_lines_and_joins_the_others() -> None:
    lines = {name: np.full(2, value) for name, value in (("a", 1.0), ("b", 4.0), ("c", 3.0), ("d", 0.0), ("e", 2.0))}
    told = list(top(lines, [10, 10], most=2))
    assert [(one.name, one.values) for one in told] == [("b", (4.0, 4.0)), ("c", (3.0, 3.0)), ("2 others", (3.0, 3.0))]


def test_top_keeps_a_line_of_zero_when_there_is_no_other() -> None:
    assert [one.name for one in top({"a": np.zeros(1), "b": np.full(1, np.nan)}, [10])] == ["a"]


def test_top_shows_others_as_unknown_where_one_of_them_is() -> None:
    lines = {"a": np.full(2, 9.0), "b": np.array([1.0, np.nan]), "c": np.ones(2)}
    told = list(top(lines, [10, 10], most=1))
    assert told[1].values == (2.0, None)


def test_thinned_takes_weighted_means_and_never_crosses_a_gap() -> None:
    told = [*stretches(0, 10), *stretches(20, length=20), *stretches(100, 110)]
    joined, (thin,) = thinned(told, [panel(ChartLine("a", (1.0, None, 4.0, 2.0, 8.0)))], 3)
    assert [(one.seconds, (one.begin - BEGAN).total_seconds()) for one in joined] == [(40, 0), (20, 100)]
    assert thin.lines[0].values == ((1.0 * 10 + 4.0 * 20) / 30, 5.0)


def test_together_gives_equal_lines_with_zero_only_where_watched() -> None:
    before = (panel(ChartLine("hot", (100.0, 100.0)), ChartLine("cool", (1.0, 1.0))), stretches(0, 10))
    after = (panel(ChartLine("cool", (2.0, None))), stretches(50, 60))
    first, second = together(before, after)
    assert [one.name for one in first.lines] == [one.name for one in second.lines] == ["hot", "cool"]
    assert second.lines[0].values == (0.0, None)
    assert first.lines[1].values == (1.0, 1.0)
