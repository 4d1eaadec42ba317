"""Figures over time as SVG: known points land at known coordinates, gaps stay gaps, text stays text."""

import re
from itertools import pairwise

import pytest

from rules.baseline import UsualRange
from service.state.time_window import Window
from service.web.charts.history import BOLD, UsualStretch, chart, least
from service.web.charts.svg import Axis, ChartLine, ChartPanel, Gap
from service.web.charts.timeline import Event
from tests.service.web.charts.drawings import AXIS, HOSTILE, at, drawn, panel, stretch, x, y


def test_chart_draws_gaps_episodes_and_marks_at_their_times() -> None:
    told = (
        Event(at(20), at(60), "critical", "storm", "/a", "storm"),
        Event(at(70), None, "mark", "done", "/b", "done"),
    )
    markup = chart(panel(ChartLine("a", (1.0,))), AXIS, [stretch(0, 20)], [Gap(at(20), at(40), HOSTILE)], told)
    gap = drawn(markup).find(".//rect[@class='gap']")
    assert gap is not None
    assert (gap.get("x"), gap.findtext("title")) == (x(20), HOSTILE)
    band = drawn(markup).find(".//rect[@class='band critical']")
    assert band is not None and band.get("x") == x(20)
    assert drawn(markup).findtext(".//text[@class='bandtext critical']") == "12:00:20–12:01:00"
    flag = drawn(markup).find(".//line[@class='flagline']")
    assert flag is not None and flag.get("x1") == x(70)
    assert drawn(markup).findtext(".//text[@class='flagtext']") == "12:01 done"


@pytest.mark.parametrize(
    ("begin", "end", "lasts", "words"),
    [(20, 100, True, "12:00–now"), (0, 118, False, "12:00:00–12:01:58"), (31, 718, False, "12:00–12:11")],
)
def test_episode_says_its_end_to_the_second_if_short_else_cut_off_to_the_minute_and_now_if_it_lasts(
    begin: float, end: float, lasts: bool, words: str
) -> None:
    axis = Axis(Window(at(0), at(max(end, 100))))
    event = Event(at(begin), at(end), "critical", "storm", "/a", "storm", lasts=lasts)
    markup = chart(panel(ChartLine("a", (1.0,))), axis, [stretch(0, 20)], (), [event])
    assert drawn(markup).findtext(".//text[@class='bandtext critical']") == words


@pytest.mark.parametrize("mark", [0, 30, 60, 80, 90, 96, 99])
@pytest.mark.parametrize("begin", [5, 50, 88, 97])
def test_labels_of_marks_and_episodes_never_cover_each_other(mark: float, begin: float) -> None:
    told = (
        Event(at(begin), at(100), "critical", "storm", "/a", "storm", lasts=True),
        Event(at(mark), None, "mark", "done", "/b", "undo tablespace recreated: 112 undo segments instead of 14,838"),
    )
    markup = chart(panel(ChartLine("a", (1.0,))), AXIS, [stretch(0, 20)], (), told)
    for svg in re.findall(r"<svg class=.chart.*?</svg>", str(markup), re.S):
        labels = re.findall(r'<text class="(?:band|flag)text[^"]*" x="([\d.]+)" y="\d+">([^<]*)<', svg)
        ends = sorted((float(left), float(left) + BOLD * len(words)) for left, words in labels)
        assert all(one[1] <= other[0] for one, other in pairwise(ends)), labels


def test_chart_is_drawn_wide_and_narrow_and_describes_itself_to_screen_readers() -> None:
    markup = chart(panel(ChartLine("all", (1.0, 3.0))), AXIS, [stretch(0, 20), stretch(20, 40)])
    wide, narrow = re.findall(r'<svg class="chart (?:wide|narrow)".*?</svg>', markup, re.S)
    assert (wide.count('class="pt"'), narrow.count('class="pt"')) == (2, 0)
    assert "12:00:20  1 per second" in wide
    lines = panel(ChartLine("all", (1.0, 3.0)))
    told = drawn(chart(lines, AXIS, [stretch(0, 20), stretch(20, 40)], [Gap(at(40), at(100), "x")]))
    assert told.get("role") == "img"
    assert told.get("aria-label") == "Gets, per second, 12:00 to 12:01 UTC: lowest 1, highest 3, last 3; one gap"


def test_chart_of_the_unknown_is_a_sentence_of_zero_a_line_at_the_bottom_and_percent_reaches_one() -> None:
    told = chart(panel(ChartLine("a", (None,))), AXIS, [stretch(0, 20)])
    assert "Not known in this window" in told
    assert "<svg" not in told
    assert f'd="M{x(0)},{y(0)}H{x(20)}"' in chart(panel(ChartLine("a", (0.0,))), AXIS, [stretch(0, 20)])
    share = ChartPanel("share", "Lost", "%", (ChartLine("Lost", (0.001,)),))
    assert least(share) == 1.0
    assert least(ChartPanel("share", "Lost", "%", (ChartLine("Lost", (31.9,)),))) is None
    assert least(panel(ChartLine("a", (0.001,)))) is None


def test_lines_differ_by_class_and_what_stands_for_all_others_is_grey() -> None:
    lines = (ChartLine("a", (1.0,)), ChartLine("b", (1.0,)), ChartLine("2 others", (1.0,), rest=True))
    kinds = [one.get("class") for one in drawn(chart(panel(*lines), AXIS, [stretch(0, 20)])).iter("path")]
    assert kinds == ["line s5", "line s2", "line s1"]


def test_chart_text_is_escaped() -> None:
    event = Event(at(0), at(90), f'critical" onload="{HOSTILE}', HOSTILE, f"/db/x?{HOSTILE}", HOSTILE)
    hostile = ChartPanel(HOSTILE, HOSTILE, HOSTILE, (ChartLine(HOSTILE, (1.0,)), ChartLine("b", (1.0,))))
    markup = chart(hostile, AXIS, [stretch(0, 9)], (), [event, Event(at(1), None, "mark", HOSTILE, "/", HOSTILE)])
    assert "<script" not in markup
    assert not any("onload" in one.attrib for one in drawn(markup).iter())


def test_pointer_finds_the_highest_of_neighbours_and_what_a_single_poll_reached() -> None:
    values = (1.0,) * 60 + (9.0,) + (1.0,) * 35
    spiky = ChartLine("all", values, values, tuple(4 * value for value in values))
    markup = chart(panel(spiky), AXIS, [stretch(place, place + 1) for place in range(96)])
    assert markup.count('class="pt"') == 48
    assert "9 per second (up to 36)" in markup
    assert "highest 36" in (drawn(markup).get("aria-label") or "")


def test_usual_is_a_quiet_line_that_the_legend_the_pointer_and_the_description_name() -> None:
    ranges = [UsualRange(median=m, low=m - 1, high=m + 1, samples=9, scope="hour of the week") for m in (3.0, 4.0)]
    usual = [UsualStretch(at(0), at(50), ranges[0]), UsualStretch(at(50), at(100), ranges[1])]
    markup = chart(panel(ChartLine("all", (1.0, 2.0))), AXIS, [stretch(0, 20), stretch(60, 80)], usual=usual)
    line = drawn(markup).find(".//path[@class='normal']")
    assert line is not None
    assert line.get("d") == f"M{x(0)},{y(0.75)}H{x(50)}V{y(1)}H{x(100)}", "the scale includes what is usual"
    assert line.findtext("title") == "usual 4, mostly 3 to 5: the usual for this hour of the week"
    assert "usual for the hour</span>" in markup
    assert "12:00:20  1 per second  usual 3" in markup
    assert "last 2; usual 4, mostly 3 to 5" in (drawn(markup).get("aria-label") or "")
    assert 'class="normal"' not in chart(panel(ChartLine("all", (1.0,))), AXIS, [stretch(0, 20)])
