"""What is usual, hour by hour: a line behind the figures, named for the pointer and for screen readers."""

from rules.baseline import UsualRange
from service.web.charts.panels import ChartLine
from service.web.charts.timechart import chart
from service.web.charts.usual import UsualStretch
from tests.service.web.charts.drawings import AXIS, at, drawn, panel, stretch, x, y


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
