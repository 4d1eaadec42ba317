"""What the pointer shows of a chart: of neighbours the one that reaches highest."""

from service.web.charts.panels import ChartLine
from service.web.charts.timechart import chart
from tests.service.web.charts.drawings import AXIS, drawn, panel, stretch


def test_pointer_finds_the_highest_of_neighbours_and_what_a_single_poll_reached() -> None:
    values = (1.0,) * 60 + (9.0,) + (1.0,) * 35
    spiky = ChartLine("all", values, values, tuple(4 * value for value in values))
    markup = chart(panel(spiky), AXIS, [stretch(place, place + 1) for place in range(96)])
    assert markup.count('class="pt"') == 48
    assert "9 per second (up to 36)" in markup
    assert "highest 36" in (drawn(markup).get("aria-label") or "")
