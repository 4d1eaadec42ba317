"""Charts as SVG: gaps stay gaps, zero is a line at the bottom, and the scale reads well."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest

from service.web.charts import BOTTOM, HEIGHT, LEFT, WIDTH, line

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
