"""Curves as SVG: every point in its place, a legend, and no name becomes markup."""

import re
import xml.etree.ElementTree as ET

from service.render.study import StudyCurve, StudyLines
from service.web.pages.study import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, curves

CHART = StudyLines(
    "Misses", "processes", (StudyCurve("one", ((1, 0), (2, 50), (3, 100))), StudyCurve("two", ((1, 100),)))
)


def test_points_lie_between_the_axes() -> None:
    found = re.findall(r'<polyline class="([^"]+)" points="([^"]+)"', curves(CHART))
    assert [kind for kind, _ in found] == ["line s1", "line s2"]
    first = [tuple(map(float, place.split(","))) for place in found[0][1].split()]
    assert first[0] == (LEFT, HEIGHT - BOTTOM) and first[-1] == (WIDTH - RIGHT, TOP)
    assert first[1] == ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2)
    assert len(re.findall("<circle", curves(CHART))) == 4


def test_chart_is_well_formed_and_names_are_escaped() -> None:
    hostile = '<script>alert("x")</script>'
    markup = curves(StudyLines(hostile, hostile, (StudyCurve(hostile, ((1, 1), (10, 2))),), log_x=True))
    assert "<script" not in markup
    figure = ET.fromstring(markup)
    assert [item.text or "".join(item.itertext()) for item in figure.iter("li")] == [hostile]


def test_axis_names_as_many_values_as_have_room() -> None:
    dense = StudyLines("t", "n", (StudyCurve("c", tuple((float(x), 1.0) for x in range(1, 501))),))
    ticks = re.findall(r'text-anchor="middle">(\d+)<', curves(dense))
    assert 5 < len(ticks) < 80 and ticks[0] == "1"
    assert re.findall(r'text-anchor="middle">(\d+)<', curves(CHART)) == ["1", "2", "3"]


def test_chart_of_nothing_is_a_sentence() -> None:
    assert (
        curves(StudyLines("Sleeps", "n", (), log_y=True)) == '<p class="quiet">Sleeps: nothing above zero to draw.</p>'
    )
