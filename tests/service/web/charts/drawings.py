"""A window of a hundred seconds and the positions in its drawing, for tests of charts over time."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

from service.state.time_window import Window
from service.web.charts.svg import WIDE, Axis, ChartLine, ChartPanel, WatchedStretch

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AXIS = Axis(Window(BEGAN, BEGAN + timedelta(seconds=100)))
HOSTILE = "<script>alert('x')</script>&\""


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def stretch(begin: float, end: float) -> WatchedStretch:
    return WatchedStretch(at(begin), at(end), end - begin)


def x(seconds: float) -> str:
    return f"{WIDE.left + seconds / 100 * (WIDE.edge - WIDE.left):.1f}"


def y(share: float) -> str:
    return f"{WIDE.floor - share * (WIDE.floor - WIDE.top):.1f}"


def panel(*lines: ChartLine) -> ChartPanel:
    return ChartPanel("gets", "Gets", "per second", lines)


def drawn(markup: str) -> ET.Element:
    """The first SVG of a chart, the wide one, read as XML."""
    return ET.fromstring(re.search(r'<svg class="chart.*?</svg>', markup, re.S)[0])  # type: ignore[index]
