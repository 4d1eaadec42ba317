"""Values that show when the pointer is over their stretch of a chart; no script does it."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from markupsafe import escape

from service.web.charts.axis import Axis
from service.web.charts.panels import ChartLine, ChartPanel, WatchedStretch, label
from service.web.charts.paths import height_of
from service.web.charts.usual import UsualStretch, usual_at

DAY = timedelta(days=1)
LETTER = 6.8
"""Average width of a letter in a drawing; text is 12 px."""
POINTS = 48
"""Values that can be pointed at."""
SERIES = 5
OTHERS = "s5"


def series(panel: ChartPanel, index: int) -> str:
    """The class of a line: its colour and its dashes. What stands for all others is grey."""
    if index and panel.lines[index].rest:
        return OTHERS
    return f"s{min(index, SERIES - 1) + 1}"


def tips(
    panel: ChartPanel, axis: Axis, stretches: Sequence[WatchedStretch], usual: Sequence[UsualStretch], top: float
) -> str:
    """The values of at most `POINTS` stretches, of neighbours those of the one that reaches highest."""
    frame, drawn = axis.frame, ""
    step = -(-len(stretches) // POINTS) if stretches else 1
    edges = [axis.x(stretch.begin) for stretch in stretches[::step]] + [frame.edge]
    for first, (left, right) in zip(range(0, len(stretches), step), pairwise(edges), strict=True):
        place = max(range(first, min(first + step, len(stretches))), key=lambda each: _reached(panel, each))
        known = [(index, line, line.values[place]) for index, line in enumerate(panel.lines)]
        shown = [(index, line, value) for index, line, value in known if value is not None]
        if not shown:
            continue
        stretch = stretches[place]
        x = axis.x(stretch.begin + (stretch.end - stretch.begin) / 2)
        words = f"{stretch.end:{'%d %b %H:%M' if axis.window.length >= DAY else '%H:%M:%S'}}  "
        words += "  ".join(_value(panel, line, value, place) for _, line, value in shown)
        if (usually := usual_at(usual, stretch.begin)) is not None:
            words += f"  usual {label(usually.median)}"
        width = LETTER * len(words) + 12
        box = min(max(x - width / 2, 0), frame.width - width)
        dots = "".join(
            f'<circle class="dot {series(panel, index)}" cx="{x:.1f}" cy="{height_of(frame, value, top):.1f}" r="4"/>'
            for index, _, value in shown
        )
        drawn += (
            f'<g class="pt"><rect class="hit" x="{left:.1f}" y="{frame.top}" width="{max(right - left, 1):.1f}" '
            f'height="{frame.floor - frame.top}"/><g class="tip">'
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.floor}"/>'
            f'{dots}<rect class="box" x="{box:.1f}" width="{width:.0f}" height="22" rx="4"/>'
            f'<text x="{box + 6:.1f}" y="15">{escape(words)}</text></g></g>'
        )
    return drawn


def _reached(panel: ChartPanel, place: int) -> float:
    """The highest value of any line there; below zero where nothing is known."""
    reached = ((line.highs or line.values)[place] for line in panel.lines)
    return max((value for value in reached if value is not None), default=-1.0)


def _value(panel: ChartPanel, line: ChartLine, value: float, place: int) -> str:
    """A value with its name or its unit, and the highest of a single poll where it is the mean of several."""
    words = f"{line.name} {label(value)}" if len(panel.lines) > 1 else f"{label(value)} {panel.unit}"
    high = line.highs[place] if line.highs else None
    return words if high is None or label(high) == label(value) else f"{words} (up to {label(high)})"
