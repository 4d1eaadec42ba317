"""One time axis drawn as SVG: charts of several lines with their gaps, and a band of episodes and marks above them.

The same figures give the same bytes. Coordinates are those of a drawing `WIDTH` wide, which scales with the page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from markupsafe import Markup, escape

from service.state.window import Window
from service.web.charts.overview import Gap
from service.web.charts.panels import ChartLine, ChartPanel, WatchedStretch
from service.web.charts.svg import label, round_up

WIDTH, HEIGHT = 760, 190
LEFT, RIGHT, TOP, BOTTOM = 76, 14, 12, 30
LANE = 26
TICKS = 7
WIDEST_LETTER = 11
"""Of the text in the drawing where a narrow page makes it largest."""
_CLOCK = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
STEPS = (*_CLOCK, *(days * 86400 for days in (1, 2, 5, 7, 14, 28, 56, 112, 224)))
"""Seconds between two ticks."""
LABELLED = 12
"""More episodes than this stand without a name beside them."""
LONGEST_LABEL = 24
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin with one."""


@dataclass(frozen=True, slots=True)
class Event:
    """An episode (`end` given) or a mark (`end` None) on the timeline; `kind` is a severity, `mark` or `verified`."""

    begin: datetime
    end: datetime | None
    kind: str
    title: str
    link: str
    short: str
    """What stands on it, or beside it where it is small."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The shared time axis of a window."""

    window: Window

    def x(self, at: datetime) -> float:
        """Where a moment lies; moments outside lie on the edge."""
        share = (at - self.window.begin) / self.window.length
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[tuple[datetime, str]]:
        """Round moments in UTC, at most `TICKS`, each with its label."""
        seconds = self.window.length.total_seconds()
        step = timedelta(seconds=next((step for step in STEPS if seconds / step <= TICKS), STEPS[-1]))
        first = -((EPOCH - self.window.begin) // step)
        form = "%b %d" if step >= timedelta(days=1) else "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
        at, times = EPOCH + first * step, []
        while at < self.window.end:
            if at >= self.window.begin:
                times.append((at, at.strftime(form)))
            at += step
        return times


def chart(
    panel: ChartPanel, axis: Axis, stretches: Sequence[WatchedStretch], gaps: Sequence[Gap] = (), events: Sequence[Event] = (),
    top: float | None = None, name: str = "",
) -> Markup:  # fmt: skip
    """One panel over the axis: a step for each stretch, nothing across a gap. `name` tells drawings of one page apart."""
    highest = max((value for line in panel.lines for value in line.values if value is not None), default=None)
    head = Markup('{} <span class="unit">({})</span>').format(panel.title, panel.unit)
    if highest is None:
        words = Markup('<p class="quiet">Unknown in this window.</p>')
        return Markup('<figure class="over"><figcaption>{}</figcaption>{}</figure>').format(head, words)
    scale = top or round_up(highest)
    lines = "".join(
        f'<path class="line s{index}" d="{path(line, axis, stretches, scale)}"/>'
        for index, line in reversed(list(enumerate(panel.lines)))
    )
    id = f"{panel.key}{name}"
    return Markup(
        f'<figure class="over"><figcaption>{head}{_legend(panel)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{id}-t {id}-d">'
        f'<title id="{id}-t">{escape(panel.title)}</title><desc id="{id}-d">{escape(_words(panel, gaps))}</desc>'
        f"{_ground(axis, gaps, events)}{_scale(scale)}{_time(axis, HEIGHT)}{lines}</svg></figure>"
    )


def path(line: ChartLine, axis: Axis, stretches: Sequence[WatchedStretch], top: float) -> str:
    """The path of a line: level over each stretch, joined where stretches touch and both are known."""
    parts: list[str] = []
    reached: datetime | None = None
    for stretch, value in zip(stretches, line.values, strict=True):
        if value is None:
            reached = None
            continue
        y = f"{_y(value, top):.1f}"
        touches = reached is not None and (stretch.begin - reached).total_seconds() <= 1.0
        # At least a unit wide, so that a lone short stretch can be seen.
        end = max(axis.x(stretch.end), axis.x(stretch.begin) + 1)
        parts.append(f"V{y}H{end:.1f}" if touches else f"M{axis.x(stretch.begin):.1f},{y}H{end:.1f}")
        reached = stretch.end
    return "".join(parts)


def events(shown: Sequence[Event], axis: Axis, gaps: Sequence[Gap] = (), zoom: str | None = None) -> Markup:
    """The timeline above the charts: a band for each episode, a flag for each mark, each a link.

    With `zoom`, the address of the page, the time between two ticks is a link to that stretch.
    """
    placed = _lanes(shown, axis)
    height = LANE * (1 + max((lane for lane, _ in placed), default=0)) + BOTTOM + 6
    labelled = sum(event.end is not None for event in shown) <= LABELLED
    drawn = "".join(_event(event, lane, axis, height, labelled) for lane, event in placed)
    return Markup(
        f'<svg class="events" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="Episodes and change marks">'
        f"{_gap_bands(axis, gaps, height - BOTTOM)}{_time(axis, height)}{drawn}{_zooms(axis, height, zoom) if zoom else ''}</svg>"
    )


def _lanes(shown: Sequence[Event], axis: Axis) -> list[tuple[int, Event]]:
    """Each event with the first lane in which it covers no other; marks have the topmost to themselves where there are any."""
    marks = [event for event in shown if event.end is None]
    bands = sorted((event for event in shown if event.end is not None), key=lambda event: event.begin)
    free: list[float] = []
    placed = [(0, mark) for mark in marks]
    for band in bands:
        left, right = _extent(band, axis, len(bands) <= LABELLED)
        lane = next((index for index, taken in enumerate(free) if taken + 2 <= left), len(free))
        free[lane:] = [right, *free[lane + 1 :]]
        placed.append((lane + bool(marks), band))
    return placed


def _band(event: Event, axis: Axis) -> tuple[float, float]:
    left = axis.x(event.begin)
    return left, max(axis.x(event.end or event.begin), left + 4)


def _fits(event: Event, axis: Axis) -> bool:
    left, right = _band(event, axis)
    return len(_cut(event.short)) * WIDEST_LETTER + 8 <= right - left


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"


def _extent(event: Event, axis: Axis, labelled: bool) -> tuple[float, float]:
    """From where to where a band reaches with its label."""
    left, right = _band(event, axis)
    if not labelled or _fits(event, axis):
        return left, right
    room = len(_cut(event.short)) * WIDEST_LETTER + 8
    return (left - room, right) if left > WIDTH / 2 else (left, right + room)


def _event(event: Event, lane: int, axis: Axis, height: float, labelled: bool) -> str:
    (left, right), y = _band(event, axis), 3 + LANE * lane
    head = f'<a href="{escape(event.link)}" class="{escape(event.kind)}"><title>{escape(event.title)}</title>'
    if event.end is None:
        flag = f"M{left:.1f},{height - BOTTOM}V{y}l12,6l-12,6"
        return f'{head}<path class="flag" d="{flag}"/></a>'
    band = f'<rect class="band" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{LANE - 3}" rx="3"/>'
    if _fits(event, axis):
        position = f'x="{left + 5:.1f}"'
    elif not labelled:
        return f"{head}{band}</a>"
    elif left > WIDTH / 2:
        position = f'class="beside" x="{left - 5:.1f}" text-anchor="end"'
    else:
        position = f'class="beside" x="{right + 5:.1f}"'
    return f'{head}{band}<text {position} y="{y + LANE / 2 + 4:.1f}">{escape(_cut(event.short))}</text></a>'


def _zooms(axis: Axis, height: float, address: str) -> str:
    edges = [axis.window.begin, *(at for at, _ in axis.ticks()), axis.window.end]
    links = ""
    for begin, end in pairwise(edges):
        part = Window(begin, end)
        if end - begin < timedelta(seconds=10) or part == axis.window:
            continue
        left, right = axis.x(begin), axis.x(end)
        title = f"zoom to {begin:%Y-%m-%d %H:%M:%S} … {end:%Y-%m-%d %H:%M:%S} UTC"
        links += (
            f'<a class="zoom" href="{escape(address)}?{escape(part.query)}"><title>{title}</title>'
            f'<rect x="{left:.1f}" y="{height - BOTTOM}" width="{right - left:.1f}" height="{BOTTOM}"/></a>'
        )
    return links


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - min(value / top, 1.0) * (HEIGHT - BOTTOM - TOP)


def _ground(axis: Axis, gaps: Sequence[Gap], shown: Sequence[Event]) -> str:
    """What lies behind the lines: episodes, gaps, and a line down from each flag."""
    drawn = ""
    for event in shown:
        left = axis.x(event.begin)
        if event.end is None:
            drawn += f'<line class="flagline" x1="{left:.1f}" y1="{TOP}" x2="{left:.1f}" y2="{HEIGHT - BOTTOM}"/>'
        else:
            width = max(axis.x(event.end) - left, 1)
            drawn += (
                f'<rect class="shade {escape(event.kind)}" x="{left:.1f}" y="{TOP}" width="{width:.1f}" '
                f'height="{HEIGHT - BOTTOM - TOP}"/>'
            )
    return drawn + _gap_bands(axis, gaps, HEIGHT - BOTTOM, TOP)


def _gap_bands(axis: Axis, gaps: Sequence[Gap], bottom: float, top: float = 0.0) -> str:
    return "".join(
        f'<rect class="gap" x="{axis.x(gap.begin):.1f}" y="{top:g}" '
        f'width="{max(axis.x(gap.end) - axis.x(gap.begin), 2):.1f}" height="{bottom - top:g}">'
        f"<title>{escape(gap.why)}</title></rect>"
        for gap in gaps
    )


def _scale(top: float) -> str:
    parts = ""
    for value in (0.0, top / 2, top):
        y = _y(value, top)
        kind = "axis" if value == 0 else "grid"
        parts += f'<line class="{kind}" x1="{LEFT}" y1="{y:g}" x2="{WIDTH - RIGHT}" y2="{y:g}"/>'
        parts += f'<text x="{LEFT - 6}" y="{y + 4:g}" text-anchor="end">{label(value)}</text>'
    return parts


def _time(axis: Axis, height: float) -> str:
    day = ""
    for at, words in axis.ticks():
        x = axis.x(at)
        day += f'<line class="tick" x1="{x:.1f}" y1="{height - BOTTOM}" x2="{x:.1f}" y2="{height - BOTTOM + 5}"/>'
        # A label half outside the drawing would be cut.
        if LEFT - 20 <= x <= WIDTH - 40:
            day += f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{words}</text>'
    return day


def _legend(panel: ChartPanel) -> Markup:
    if len(panel.lines) < 2 and panel.lines[0].name in (panel.title, "all"):
        return Markup("")
    keys = (
        Markup('<li><span class="key s{}"></span>{}</li>').format(index, line.name)
        for index, line in enumerate(panel.lines)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(keys))


def _words(panel: ChartPanel, gaps: Sequence[Gap]) -> str:
    """The drawing for somebody who cannot see it."""
    ranges = [f"{line.name}: {between}" for line in panel.lines if (between := _range(line))]
    missing = f"; {len(gaps)} gaps" if len(gaps) > 1 else "; one gap" if gaps else ""
    return f"{panel.unit}. {', '.join(ranges)}{missing}"


def _range(line: ChartLine) -> str:
    known = [value for value in line.values if value is not None]
    return f"from {label(min(known))} to {label(max(known))}" if known else ""


def rows(panels: Sequence[ChartPanel]) -> Iterator[tuple[ChartPanel, ChartLine]]:
    """Every line with its panel, in the order of the charts."""
    for panel in panels:
        yield from ((panel, line) for line in panel.lines)
