"""Charts of reports as SVG: an unknown value is not zero, and the scale is easy to read."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from service.web.charts.panels import label, round_up
from service.web.charts.svg import BOTTOM, HAIRLINE, HEIGHT, LEFT, NAMES, WIDTH, ChartSpan, bars, spans
from tests.each import each

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@each(
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


def hours(*values: float | None, marked: int | None = None) -> list[ChartSpan]:
    hour = timedelta(hours=1)
    return [ChartSpan(BEGAN + i * hour, BEGAN + (i + 1) * hour, value, i == marked) for i, value in enumerate(values)]


def drawn(markup: str) -> list[tuple[str, float, float, float, float]]:
    found = re.findall(r'<rect class="([^"]+)" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"', markup)
    return [(kind, *map(float, numbers)) for kind, *numbers in found]


def test_spans_are_as_wide_as_they_lasted_and_the_first_bad_is_marked() -> None:
    told = hours(5, 10, marked=1)
    told.append(ChartSpan(told[-1].end, told[-1].end + timedelta(hours=2), 0.0))
    markup = spans(told, "Sleeps", "per second", "the first bad interval")
    (first, *one), (second, *bad), (_, *last) = drawn(markup)
    assert (first, second) == ("fill info", "fill info first")
    assert one[0] == LEFT and bad[1] == 8 and bad[1] + bad[3] == HEIGHT - BOTTOM
    assert last[2] + 1 == pytest.approx(2 * (one[2] + 1), abs=0.2) and last[3] == HAIRLINE, (
        "a tiny value is still visible"
    )
    assert markup.count("▼") == 2, "at the bar and in the legend"
    assert "the first bad interval" in markup
    assert "the first bad interval" not in spans(hours(1, 2), "Sleeps", "per second", "the first bad interval")


def test_spans_have_the_colour_of_their_severity_and_their_times() -> None:
    told = [
        replace(one, severity=kind) for one, kind in zip(hours(1, 5, 9), ("info", "warning", "critical"), strict=True)
    ]
    markup = spans(told, "Sleeps", "per second", "bad")
    assert [one[0] for one in drawn(markup)] == ["fill info", "fill warning", "fill critical"]
    times = re.findall(r">([^<]*\d\d:\d\d)</text>", markup)
    assert times == [f"{BEGAN:%Y-%m-%d %H:%M}", *(f"{BEGAN + timedelta(hours=i):%H:%M}" for i in (1, 2, 3))]
    crowded = [
        ChartSpan(BEGAN + i * timedelta(minutes=1), BEGAN + (i + 1) * timedelta(minutes=1), 1.0) for i in range(300)
    ]
    places = [float(x) for x in re.findall(r'<text x="([^"]+)" y="116"', spans(crowded, "S", "u", "bad"))]
    assert len(places) > 8 and all(b - a >= 30 for a, b in pairwise(places))


def test_span_of_unknown_value_is_not_zero() -> None:
    markup = spans(hours(1, None, 2), "Sleeps", "per second", "bad")
    assert len(drawn(markup)) == 2 and markup.count('class="unknown"') == 1
    assert "unknown in every interval" in spans(hours(None, None), "Sleeps", "per second", "bad")


def test_spans_with_and_without_a_time_zone_share_one_axis() -> None:
    told = [*hours(1), ChartSpan(datetime(2026, 3, 1, 13), datetime(2026, 3, 1, 14), 2.0)]  # noqa: DTZ001 a report has none
    assert [round(one[1]) for one in drawn(spans(told, "S", "u", "bad"))] == [LEFT, (LEFT + WIDTH) // 2]


def test_bars_are_as_long_as_their_share_of_the_longest() -> None:
    markup = bars([("dc_users", 200.0), ("dc_objects", 100.0), ("dc_files", 0.0)], "Gets", "gets")
    long, half, none = drawn(markup)
    assert long[1] == NAMES and long[3] == 2 * half[3] and none[3] == 1
    assert re.findall(r">([^<]+)</text>", markup) == ["dc_users", "200", "dc_objects", "100", "dc_files", "0"]


def test_spans_and_bars_are_escaped_and_well_formed_xml() -> None:
    for markup in (spans(hours(1, 2), "<b>&", '"x"', "<i>"), bars([("<b>&" * 30, 1.0)], "<b>&", '"x"')):
        assert "<b>" not in markup and "<i>" not in markup
        ET.fromstring(markup)
