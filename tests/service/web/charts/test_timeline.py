"""The timeline as SVG: known points land at known coordinates, gaps stay gaps, text stays text."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from service.state.window import Window
from service.web.charts.overview import Gap
from service.web.charts.panels import ChartLine, ChartPanel, WatchedStretch
from service.web.charts.timeline import BOTTOM, HEIGHT, LANE, LEFT, RIGHT, TOP, WIDTH, Axis, Event, chart, events, path

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AXIS = Axis(Window(BEGAN, BEGAN + timedelta(seconds=100)))
HOSTILE = "<script>alert('x')</script>&\""


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def stretch(begin: float, end: float) -> WatchedStretch:
    return WatchedStretch(at(begin), at(end), end - begin)


def x(seconds: float) -> str:
    return f"{LEFT + seconds / 100 * (WIDTH - LEFT - RIGHT):.1f}"


def y(share: float) -> str:
    return f"{HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP):.1f}"


def panel(*lines: ChartLine) -> ChartPanel:
    return ChartPanel("gets", "Gets", "per second", lines)


def drawn(markup: str) -> ET.Element:
    """The SVG of a figure, read as XML."""
    return ET.fromstring(re.search(r"<svg.*</svg>", markup, re.S)[0])  # type: ignore[index]


def test_path_places_known_points_at_known_coordinates() -> None:
    told = path(ChartLine("a", (0.0, 5.0, 10.0)), AXIS, [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert told == f"M{x(0)},{y(0)}H{x(20)}V{y(0.5)}H{x(60)}V{y(1)}H{x(100)}"


def test_path_does_not_cross_a_gap_or_an_unknown_value() -> None:
    over_gap = path(ChartLine("a", (5.0, 5.0)), AXIS, [stretch(0, 20), stretch(60, 100)], 10.0)
    assert over_gap == f"M{x(0)},{y(0.5)}H{x(20)}M{x(60)},{y(0.5)}H{x(100)}"
    unknown = path(ChartLine("a", (5.0, None, 5.0)), AXIS, [stretch(0, 20), stretch(20, 60), stretch(60, 100)], 10.0)
    assert unknown == over_gap


def test_path_of_a_lone_short_stretch_is_visible() -> None:
    begin, end = map(
        float,
        re.findall(r"M([\d.]+),[\d.]+H([\d.]+)", path(ChartLine("a", (1.0,)), AXIS, [stretch(50, 50.01)], 1.0))[0],
    )
    assert end - begin == pytest.approx(1, abs=0.11)


def test_chart_draws_gaps_episodes_and_marks_behind_lines_at_their_times() -> None:
    told = (Event(at(20), at(60), "critical", "storm", "/a", "storm"), Event(at(70), None, "mark", "done", "/b", ""))
    markup = chart(panel(ChartLine("a", (1.0,))), AXIS, [stretch(0, 20)], [Gap(at(20), at(40), HOSTILE)], told)
    gap = drawn(markup).find(".//rect[@class='gap']")
    assert gap is not None
    assert (gap.get("x"), gap.get("width")) == (x(20), f"{0.2 * (WIDTH - LEFT - RIGHT):.1f}")
    assert gap.findtext("title") == HOSTILE
    shade = drawn(markup).find(".//rect[@class='shade critical']")
    assert shade is not None
    assert (shade.get("x"), shade.get("width")) == (x(20), f"{0.4 * (WIDTH - LEFT - RIGHT):.1f}")
    flag = drawn(markup).find(".//line[@class='flagline']")
    assert flag is not None
    assert flag.get("x1") == x(70)


def test_chart_describes_itself_to_screen_readers() -> None:
    told = drawn(
        chart(
            panel(ChartLine("dc_users", (1.0, 3.0))),
            AXIS,
            [stretch(0, 20), stretch(20, 40)],
            [Gap(at(40), at(100), "x")],
        )
    )
    assert told.get("role") == "img"
    named = {one.get("id"): one.text for one in told if one.tag in ("title", "desc")}
    assert [named[id] for id in told.get("aria-labelledby", "").split()] == [
        "Gets",
        "per second. dc_users: from 1 to 3; one gap",
    ]


def test_chart_that_is_unknown_throughout_says_so_and_draws_nothing() -> None:
    told = chart(panel(ChartLine("a", (None,))), AXIS, [stretch(0, 20)])
    assert "Unknown in this window" in told
    assert "<svg" not in told


def test_chart_of_zero_throughout_is_a_line_at_the_bottom() -> None:
    assert f'd="M{x(0)},{y(0)}H{x(20)}"' in chart(panel(ChartLine("a", (0.0,))), AXIS, [stretch(0, 20)])


def test_chart_text_is_escaped() -> None:
    event = Event(at(0), at(90), f'critical" onload="{HOSTILE}', HOSTILE, f"/db/x?{HOSTILE}", HOSTILE)
    for markup in (
        chart(
            ChartPanel("k", HOSTILE, HOSTILE, (ChartLine(HOSTILE, (1.0,)), ChartLine("b", (1.0,)))),
            AXIS,
            [stretch(0, 9)],
            (),
            [event],
        ),
        events([event], AXIS, [Gap(at(0), at(9), HOSTILE)]),
    ):
        assert "<script" not in markup
        drawn(markup)
        assert not any("onload" in one.attrib for one in drawn(markup).iter())


def test_overlapping_episodes_have_lanes_and_marks_the_topmost() -> None:
    told = [
        Event(at(0), at(50), "critical", "one", "/1", "one"),
        Event(at(40), at(90), "warning", "two", "/2", "two"),
        Event(at(70), at(99), "notice", "three", "/3", "three"),
        Event(at(45), None, "mark", "mark", "/m", ""),
    ]
    bands = drawn(events(told, AXIS)).findall(".//rect[@class='band']")
    assert [one.get("y") for one in bands] == [str(3 + LANE), str(3 + 2 * LANE), str(3 + LANE)]
    assert [one.get("x") for one in bands] == [x(0), x(40), x(70)]


def test_small_episode_has_its_name_beside_it_unless_there_are_many() -> None:
    small = [Event(at(90), at(91), "critical", "storm", "/1", "storm")]
    (label,) = [one for one in drawn(events(small, AXIS)).iter("text") if one.get("class") == "beside"]
    assert (label.text, label.get("text-anchor")) == ("storm", "end")
    assert "beside" not in events(small * 13, AXIS)


@pytest.mark.parametrize(
    ("length", "first", "count"),
    [
        (timedelta(seconds=50), "12:00:00", 5),
        (timedelta(hours=1), "12:00", 6),
        (timedelta(hours=24), "12:00", 4),
        (timedelta(days=7), "Mar 02", 7),
        (timedelta(days=90), "Mar 02", 7),
    ],
)
def test_ticks_are_round_moments(length: timedelta, first: str, count: int) -> None:
    ticks = Axis(Window(BEGAN, BEGAN + length)).ticks()
    assert (ticks[0][1], len(ticks)) == (first, count)
    assert len({later[0] - earlier[0] for earlier, later in pairwise(ticks)}) == 1


def test_zoom_link_between_two_ticks_leads_to_that_time() -> None:
    links = [one for one in drawn(events([], AXIS, zoom="/db/x/history")).iter("a") if one.get("class") == "zoom"]
    assert next(one.get("href") for one in links) == f"/db/x/history?{Window(at(0), at(30)).query}"
