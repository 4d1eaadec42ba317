"""Figures over time as SVG: lines with their gaps, episodes as tinted bands, change marks as flags, values under the pointer.

The same figures give the same bytes. Each chart is drawn for a wide page and for a narrow one; the style sheet shows one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup, escape

from rules.baseline import UsualRange
from service.history.baselines import usual_over
from service.history.curves import HOUR, hours_of
from service.state.time_window import Window
from service.store.repository import Repository
from service.web.charts.svg import (
    FRAMES,
    NARROW,
    Axis,
    ChartLine,
    ChartPanel,
    Frame,
    Gap,
    WatchedStretch,
    area_of,
    gap_marks,
    height_of,
    label,
    path_of,
    places_of,
    round_up,
    runs_of,
    spread_of,
)
from service.web.charts.timeline import Event

# The usual figures of a database hour by hour, as a quiet line behind a chart.

LONGEST = timedelta(days=8)
"""In a longer window the lines of the weeks would be too dense to read."""
PANELS: Mapping[str, tuple[str, float]] = {
    "share": ("row_cache_wait_share", 100.0),
    "gets": ("dictionary_gets_per_second", 1.0),
    "hard": ("hard_parses_per_second", 1.0),
    "executions": ("executions_per_second", 1.0),
}
"""Chart → the figure for all its lines together, and the factor from its unit to that of the chart."""


@dataclass(frozen=True, slots=True)
class UsualStretch:
    """Hours with one usual value, in the unit of the chart."""

    begin: datetime
    end: datetime
    usual: UsualRange


def usual_lines(store: Repository, database: str, window: Window) -> Mapping[str, Sequence[UsualStretch]]:
    """The usual values over a window, by chart. Empty without enough history. Raises what the store raises."""
    if window.length > LONGEST:
        return {}
    hours = hours_of(window)
    usual = usual_over(store, database, hours)
    return {
        panel: _stretches(hours, usual[figure], scale) for panel, (figure, scale) in PANELS.items() if figure in usual
    }


def usual_at(usual: Sequence[UsualStretch], at: datetime) -> UsualRange | None:
    """The usual value at a moment."""
    return next((stretch.usual for stretch in usual if stretch.begin <= at < stretch.end), None)


def usual_drawing(axis: Axis, usual: Sequence[UsualStretch], top: float) -> str:
    """The line, level over each hour. It breaks where nothing is known."""
    drawn = ""
    for place, stretch in enumerate(usual):
        left, right = axis.x(stretch.begin), axis.x(stretch.end)
        touches = place and usual[place - 1].end == stretch.begin
        y = height_of(axis.frame, stretch.usual.median, top)
        drawn += f"{'V' if touches else f'M{left:.1f},'}{y:.1f}H{right:.1f}"
    return f'<path class="normal" d="{drawn}"><title>{usual_words(usual)}</title></path>' if usual else ""


def usual_words(usual: Sequence[UsualStretch]) -> str:
    """The last usual value and its range in words."""
    last = usual[-1].usual
    return f"usual {label(last.median)}, mostly {label(last.low)} to {label(last.high)}: {last.words}"


def _stretches(
    hours: Sequence[datetime], values: Sequence[UsualRange | None], scale: float
) -> tuple[UsualStretch, ...]:
    found: list[UsualStretch] = []
    for hour, value in zip(hours, values, strict=True):
        if value is None:
            continue
        scaled = value.model_copy(update={name: getattr(value, name) * scale for name in ("median", "low", "high")})
        if found and found[-1].end == hour and found[-1].usual == scaled:
            found[-1] = replace(found[-1], end=hour + HOUR)
        else:
            found.append(UsualStretch(hour, hour + HOUR, scaled))
    return tuple(found)


GAP_WORDS = 56
"""From this width on, a gap has its label."""
DAY = timedelta(days=1)
SHORT = timedelta(minutes=5)
"""An episode shorter than this is labelled with seconds."""
LETTER = 6.8
"""Average width of a letter in a drawing; text is 12 px."""
BOLD = 8.0
"""The same of the bold labels of episodes and marks."""
POINTS = 48
"""Most values under the pointer."""
FLAG = 22
"""Width of a flag with the gap beside it."""
SERIES = 5
OTHERS = "s5"


def chart(
    panel: ChartPanel,
    axis: Axis,
    stretches: Sequence[WatchedStretch],
    gaps: Sequence[Gap] = (),
    events: Sequence[Event] = (),
    top: float | None = None,
    usual: Sequence[UsualStretch] = (),
    frames: Sequence[Frame] = FRAMES,
) -> Markup:
    """One panel over the window of `axis`, its unit in the caption. Nothing is drawn across a gap.

    `top` is the highest value of the scale; `usual` has the usual values of its hours.
    """
    values = [value for line in panel.lines for value in (*line.values, *line.highs) if value is not None]
    head = Markup('<figcaption>{} <span class="quiet">{}</span>{}</figcaption>').format(
        panel.title,
        panel.unit,
        Markup('<span class="quiet usual">{}usual {}</span>').format(
            _key("normal"), "all together" if len(panel.lines) > 1 else "for the hour"
        )
        if usual
        else "",
    )
    if not values:
        return Markup('<figure>{}<p class="quiet">Not known in this window.</p></figure>').format(head)
    usually = [stretch.usual.median for stretch in usual]
    scale = round_up(max(*values, *usually, top or 0.0))
    words = escape(_words(panel, axis, gaps) + (f"; {usual_words(usual)}" if usual else ""))
    drawn = "".join(
        _drawing(panel, Axis(axis.window, frame), stretches, gaps, events, scale, usual, words) for frame in frames
    )
    return Markup(f'<figure data-chart="{escape(panel.key)}">{head}{legend(panel)}{drawn}</figure>')


def least(panel: ChartPanel) -> float | None:
    """The top of a scale in percent is at least 1, so that next to nothing looks like it. None for other units."""
    values = [value for line in panel.lines for value in (*line.values, *line.highs) if value is not None]
    return 1.0 if panel.unit == "%" and values and max(values) < 1 else None


def legend(panel: ChartPanel) -> Markup:
    """The name of each line, if there are several."""
    if len(panel.lines) < 2 and panel.lines[0].name in (panel.title, "all"):
        return Markup("")
    keys = (
        Markup("<li>{}{}</li>").format(_key(f"line {_series(panel, i)}"), line.name)
        for i, line in enumerate(panel.lines)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(keys))


def _key(kind: str) -> Markup:
    return Markup(
        '<svg class="key" viewBox="0 0 24 8" aria-hidden="true"><line class="{}" x1="0" x2="24" y1="4" y2="4"/></svg>'
    ).format(kind)


def _drawing(
    panel: ChartPanel,
    axis: Axis,
    stretches: Sequence[WatchedStretch],
    gaps: Sequence[Gap],
    events: Sequence[Event],
    top: float,
    usual: Sequence[UsualStretch],
    words: str,
) -> str:
    frame = axis.frame
    drawn = gap_marks(axis, gaps, frame.top, frame.floor) + _bands(axis, events) + _scale(frame, top)
    drawn += axis.times(frame.floor) + _no_data(axis, gaps) + usual_drawing(axis, usual, top)
    places = places_of(axis, stretches)
    for index, line in reversed(list(enumerate(panel.lines))):
        kind, runs = _series(panel, index), runs_of(line.values, places, frame, top)
        if line.highs:
            drawn += f'<path class="range {kind}" d="{spread_of(line, places, frame, top)}"/>'
        if len(panel.lines) == 1:
            drawn += f'<path class="area" d="{area_of(runs, frame)}"/>'
        drawn += f'<path class="line {kind}" d="{path_of(runs)}"/>'
    drawn += _flags(axis, events)
    if frame is not NARROW:
        drawn += _tips(panel, axis, stretches, usual, top)
    begin, end = (f"{at.timestamp():.0f}" for at in (axis.window.begin, axis.window.end))
    return (
        f'<svg class="chart {frame.kind}" viewBox="0 0 {frame.width} {frame.height}" role="img" aria-label="{words}" '
        f'data-begin="{begin}" data-end="{end}" data-left="{frame.left}" data-right="{frame.edge}">{drawn}</svg>'
    )


def _scale(frame: Frame, top: float) -> str:
    drawn = ""
    for value in (0.0, top / 2, top):
        y = height_of(frame, value, top)
        kind = "axis" if value == 0 else "grid"
        drawn += f'<line class="{kind}" x1="{frame.left}" x2="{frame.edge}" y1="{y:g}" y2="{y:g}"/>'
        drawn += f'<text x="{frame.left - 7}" y="{y + 4:g}" text-anchor="end">{label(value)}</text>'
    return drawn


def _no_data(axis: Axis, gaps: Sequence[Gap]) -> str:
    middle = (axis.frame.top + axis.frame.floor) / 2 + 4
    wide = [(axis.x(gap.begin), axis.x(gap.end)) for gap in gaps]
    return "".join(
        f'<text class="gaptext" x="{(left + right) / 2:.1f}" y="{middle:g}" text-anchor="middle">no data</text>'
        for left, right in wide
        if right - left >= GAP_WORDS
    )


def _bands(axis: Axis, events: Sequence[Event]) -> str:
    """Episodes as tinted bands, with their times above them if they fit."""
    frame, drawn, free = axis.frame, "", 0.0
    for event in sorted((each for each in events if each.end is not None), key=lambda each: each.begin):
        assert event.end is not None
        left, right = axis.x(event.begin), axis.x(event.end)
        drawn += (
            f'<rect class="band {escape(event.kind)}" x="{left:.1f}" y="{frame.top}" width="{max(right - left, 1):.1f}" '
            f'height="{frame.floor - frame.top}"><title>{escape(event.title)}</title></rect>'
        )
        words, start = _label_of(event, axis)
        taken = [axis.x(mark.begin) for mark in events if mark.kind == "mark"]
        beside = any(start - FLAG < x < start + BOLD * len(words) for x in taken)
        if start >= free and not beside and event.kind != "fine":
            drawn += f'<text class="bandtext {escape(event.kind)}" x="{start:.1f}" y="{frame.top - 7}">{words}</text>'
            free = start + BOLD * (len(words) + 1)
    return drawn


def _label_of(event: Event, axis: Axis) -> tuple[str, float]:
    """From when to when, with seconds if it was short, and where that begins. Clocks are cut off, never rounded."""
    end = event.end or event.begin
    words = f"{event.begin:%H:%M}–{'now' if event.lasts else f'{end:%H:%M}'}"
    if not event.lasts and end - event.begin < SHORT:
        words = f"{event.begin:%H:%M:%S}–{end:%H:%M:%S}"
    return words, min(axis.x(event.begin), axis.frame.edge - BOLD * len(words))


def _flags(axis: Axis, events: Sequence[Event]) -> str:
    """Change marks: a dashed line, a flag, and as much of the text as fits. Changes: a small triangle at the foot."""
    frame, drawn = axis.frame, ""
    for change in (event for event in events if event.kind == "change"):
        x = axis.x(change.begin)
        drawn += (
            f'<path class="flag" d="M{x:.1f} {frame.floor - 9}l4 9h-8z"><title>{escape(change.title)}</title></path>'
        )
    marks = sorted((event for event in events if event.kind == "mark"), key=lambda event: event.begin)
    for mark, after in pairwise([*marks, None]):
        assert mark is not None
        x = axis.x(mark.begin)
        bands = [start for each in events if each.end is not None and (start := _label_of(each, axis)[1]) > x]
        until = min([axis.x(after.begin) if after else frame.width, *bands])
        drawn += (
            f'<line class="flagline" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top - 4}" y2="{frame.floor}"/>'
            f'<path class="flag" d="M{x:.1f} {frame.top + 2}V{frame.top - 14}h14l-4 5 4 5h-12.5V{frame.top + 2}z">'
            f"<title>{escape(mark.title)}</title></path>"
        )
        words = f"{mark.begin:%H:%M} {mark.short}".strip()
        if len(words) * BOLD > (room := until - x - FLAG):
            words = words[:5]
        if len(words) * BOLD <= room:
            drawn += f'<text class="flagtext" x="{x + 18:.1f}" y="{frame.top - 5}">{escape(words)}</text>'
    return drawn


def _words(panel: ChartPanel, axis: Axis, gaps: Sequence[Gap]) -> str:
    """The drawing in words, for readers who cannot see it."""
    clock = "%d %b %H:%M" if axis.window.length >= DAY else "%H:%M"
    span = f"{axis.window.begin:{clock}} to {axis.window.end:{clock}} UTC"
    ranges = [
        f"{line.name}: {between}" if len(panel.lines) > 1 else between
        for line in panel.lines
        if (between := _range(line))
    ]
    missing = f"; {len(gaps)} gaps" if len(gaps) > 1 else "; one gap" if gaps else ""
    return f"{panel.title}, {panel.unit}, {span}: {', '.join(ranges)}{missing}"


def _range(line: ChartLine) -> str:
    values = [value for value in line.values if value is not None]
    every = [value for value in (*values, *line.lows, *line.highs) if value is not None]
    return f"lowest {label(min(every))}, highest {label(max(every))}, last {label(values[-1])}" if values else ""


def _series(panel: ChartPanel, index: int) -> str:
    """The class of a line: its colour and its dashes. The line for all others is grey."""
    if index and panel.lines[index].rest:
        return OTHERS
    return f"s{min(index, SERIES - 1) + 1}"


def _tips(
    panel: ChartPanel, axis: Axis, stretches: Sequence[WatchedStretch], usual: Sequence[UsualStretch], top: float
) -> str:
    """The values of at most `POINTS` stretches. Of neighbours the one with the highest value."""
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
            f'<circle class="dot {_series(panel, index)}" cx="{x:.1f}" cy="{height_of(frame, value, top):.1f}" r="4"/>'
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
    """The highest value of any line there. Below zero if nothing is known."""
    reached = ((line.highs or line.values)[place] for line in panel.lines)
    return max((value for value in reached if value is not None), default=-1.0)


def _value(panel: ChartPanel, line: ChartLine, value: float, place: int) -> str:
    """A value with its name or its unit, and the highest of a single poll if it is the mean of several."""
    words = f"{line.name} {label(value)}" if len(panel.lines) > 1 else f"{label(value)} {panel.unit}"
    high = line.highs[place] if line.highs else None
    return words if high is None or label(high) == label(value) else f"{words} (up to {label(high)})"
