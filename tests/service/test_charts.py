"""Charts as SVG: gaps stay gaps, zero is a line at the bottom, and the scale reads well."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from service.web.charts import BOTTOM, HAIRLINE, HEIGHT, LEFT, NAMES, WIDTH, Span, bars, line, spans

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def points(*values: float | None) -> list[tuple[datetime, float | None]]:
    return [(BEGAN + timedelta(seconds=2 * place), value) for place, value in enumerate(values)]


def paths(markup: str) -> list[list[tuple[float, float]]]:
    drawn = re.findall(r'class="line" d="M([^"]*)"', markup)
    return [[tuple(map(float, spot.split(","))) for spot in one.split("h")[0].split("L")] for one in drawn]  # type: ignore[misc]


def top_label(markup: str) -> str:
    return re.findall(r'text-anchor="end">([^<]*)</text>', markup)[0]


def test_a_line_from_left_to_right_and_from_zero_up() -> None:
    ((first, second, third),) = paths(line(points(0, 5, 10), "Sleeps", "per second"))
    assert first == (LEFT, HEIGHT - BOTTOM)
    assert second == ((LEFT + WIDTH) / 2, (HEIGHT - BOTTOM + 8) / 2)
    assert third == (WIDTH, 8)


def test_a_gap_is_not_drawn_over() -> None:
    drawn = paths(line(points(1, 2, None, 3, 4), "Sleeps", "per second"))
    assert [len(one) for one in drawn] == [2, 2]


def test_a_lone_poll_between_gaps_can_be_seen() -> None:
    told = line(points(1, 2, None, 3, None), "Sleeps", "per second")
    assert re.search(r'd="M[\d.,]+h1"', told)


def test_zero_throughout_is_a_line_at_the_bottom() -> None:
    told = line(points(0, 0, 0), "Sleeps", "per second")
    assert {y for one in paths(told) for _, y in one} == {float(HEIGHT - BOTTOM)}
    assert top_label(told) == "1"


@pytest.mark.parametrize(
    ("highest", "label"),
    [(0.3, "0.5"), (1, "1"), (1.01, "2"), (4.2, "5"), (9, "10"), (31.9, "50"), (5200, "10,000"), (0.0004, "0.0005")],
)
def test_the_scale_ends_at_one_two_or_five(highest: float, label: str) -> None:
    told = line(points(0, highest), "Sleeps", "per second")
    assert top_label(told) == label
    assert min(y for one in paths(told) for _, y in one) >= 8


@pytest.mark.parametrize("values", [(), (None,), (1.0,), (None, 3.0, None)])
def test_fewer_than_two_values_are_no_chart(values: tuple[float | None, ...]) -> None:
    told = line(points(*values), "Sleeps", "per second")
    assert "<svg" not in told
    assert "not enough polls" in told


def test_two_values_of_one_moment() -> None:
    at = (BEGAN, 1.0)
    assert "nan" not in line([at, at], "Sleeps", "per second")


def test_text_is_escaped_and_the_picture_is_sound_xml() -> None:
    told = line(points(1, 2), "<b>&", '"x"')
    assert "<b>" not in told
    ET.fromstring(told)


def test_the_same_points_give_the_same_bytes() -> None:
    assert line(points(1, None, 3, 4), "S", "u") == line(points(1, None, 3, 4), "S", "u")


def hours(*values: float | None, marked: int | None = None) -> list[Span]:
    hour = timedelta(hours=1)
    return [Span(BEGAN + i * hour, BEGAN + (i + 1) * hour, value, i == marked) for i, value in enumerate(values)]


def drawn(markup: str) -> list[tuple[str, float, float, float, float]]:
    found = re.findall(r'<rect class="([^"]+)" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"', markup)
    return [(kind, *map(float, numbers)) for kind, *numbers in found]


def test_an_interval_is_as_wide_as_it_lasted_and_the_first_bad_one_is_marked() -> None:
    told = hours(5, 10, marked=1)
    told.append(Span(told[-1].end, told[-1].end + timedelta(hours=2), 0.0))
    markup = spans(told, "Sleeps", "per second", "the first bad interval")
    (first, *one), (second, *bad), (_, *last) = drawn(markup)
    assert (first, second) == ("bar info", "bar info first")
    assert one[0] == LEFT and bad[1] == 8 and bad[1] + bad[3] == HEIGHT - BOTTOM
    assert last[2] + 1 == pytest.approx(2 * (one[2] + 1), abs=0.2) and last[3] == HAIRLINE, (
        "next to nothing is seen to be there"
    )
    assert markup.count("▼") == 2, "at the bar and in the legend"
    assert "the first bad interval" in markup
    assert "the first bad interval" not in spans(hours(1, 2), "Sleeps", "per second", "the first bad interval")


def test_intervals_have_the_colour_of_their_severity_and_their_times() -> None:
    told = [
        replace(one, severity=kind) for one, kind in zip(hours(1, 5, 9), ("info", "warning", "critical"), strict=True)
    ]
    markup = spans(told, "Sleeps", "per second", "bad")
    assert [one[0] for one in drawn(markup)] == ["bar info", "bar warning", "bar critical"]
    times = re.findall(r">([^<]*\d\d:\d\d)</text>", markup)
    assert times == [f"{BEGAN:%Y-%m-%d %H:%M}", *(f"{BEGAN + timedelta(hours=i):%H:%M}" for i in (1, 2, 3))]
    crowded = [Span(BEGAN + i * timedelta(minutes=1), BEGAN + (i + 1) * timedelta(minutes=1), 1.0) for i in range(300)]
    places = [float(x) for x in re.findall(r'<text x="([^"]+)" y="116"', spans(crowded, "S", "u", "bad"))]
    assert len(places) > 8 and all(b - a >= 30 for a, b in pairwise(places))


def test_an_interval_that_cannot_be_told_is_no_zero() -> None:
    markup = spans(hours(1, None, 2), "Sleeps", "per second", "bad")
    assert len(drawn(markup)) == 2 and markup.count('class="unknown"') == 1
    assert "unknown in every interval" in spans(hours(None, None), "Sleeps", "per second", "bad")


def test_times_with_and_without_a_zone_stand_on_one_axis() -> None:
    told = [*hours(1), Span(datetime(2026, 3, 1, 13), datetime(2026, 3, 1, 14), 2.0)]  # noqa: DTZ001 a report has none
    assert [round(one[1]) for one in drawn(spans(told, "S", "u", "bad"))] == [LEFT, (LEFT + WIDTH) // 2]


def test_bars_are_as_long_as_their_share_of_the_longest() -> None:
    markup = bars([("dc_users", 200.0), ("dc_objects", 100.0), ("dc_files", 0.0)], "Gets", "gets")
    long, half, none = drawn(markup)
    assert long[1] == NAMES and long[3] == 2 * half[3] and none[3] == 1
    assert re.findall(r">([^<]+)</text>", markup) == ["dc_users", "200", "dc_objects", "100", "dc_files", "0"]


def test_new_charts_are_escaped_and_sound_xml() -> None:
    for markup in (spans(hours(1, 2), "<b>&", '"x"', "<i>"), bars([("<b>&" * 30, 1.0)], "<b>&", '"x"')):
        assert "<b>" not in markup and "<i>" not in markup
        ET.fromstring(markup)
