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
        step = timedelta(seconds=next((one for one in STEPS if seconds / one <= TICKS), STEPS[-1]))
        first = -((EPOCH - self.window.begin) // step)
        form = "%b %d" if step >= timedelta(days=1) else "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
        at, told = EPOCH + first * step, []
        while at < self.window.end:
            if at >= self.window.begin:
                told.append((at, at.strftime(form)))
            at += step
        return told


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
    told = "".join(
        f'<path class="line s{place}" d="{path(line, axis, stretches, scale)}"/>'
        for place, line in reversed(list(enumerate(panel.lines)))
    )
    id = f"{panel.key}{name}"
    return Markup(
        f'<figure class="over"><figcaption>{head}{_legend(panel)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{id}-t {id}-d">'
        f'<title id="{id}-t">{escape(panel.title)}</title><desc id="{id}-d">{escape(_words(panel, gaps))}</desc>'
        f"{_ground(axis, gaps, events)}{_scale(scale)}{_time(axis, HEIGHT)}{told}</svg></figure>"
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


def events(told: Sequence[Event], axis: Axis, gaps: Sequence[Gap] = (), zoom: str | None = None) -> Markup:
    """The timeline above the charts: a band for each episode, a flag for each mark, each a link.

    With `zoom`, the address of the page, the time between two ticks is a link to that stretch.
    """
    placed = _lanes(told, axis)
    height = LANE * (1 + max((lane for lane, _ in placed), default=0)) + BOTTOM + 6
    labelled = sum(one.end is not None for one in told) <= LABELLED
    drawn = "".join(_event(one, lane, axis, height, labelled) for lane, one in placed)
    return Markup(
        f'<svg class="events" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="Episodes and change marks">'
        f"{_gap_bands(axis, gaps, height - BOTTOM)}{_time(axis, height)}{drawn}{_zooms(axis, height, zoom) if zoom else ''}</svg>"
    )


def _lanes(told: Sequence[Event], axis: Axis) -> list[tuple[int, Event]]:
    """Each event with the first lane in which it covers no other; marks have the topmost to themselves where there are any."""
    marks = [one for one in told if one.end is None]
    bands = sorted((one for one in told if one.end is not None), key=lambda one: one.begin)
    free: list[float] = []
    placed = [(0, one) for one in marks]
    for one in bands:
        left, right = _extent(one, axis, len(bands) <= LABELLED)
        lane = next((place for place, taken in enumerate(free) if taken + 2 <= left), len(free))
        free[lane:] = [right, *free[lane + 1 :]]
        placed.append((lane + bool(marks), one))
    return placed


def _band(one: Event, axis: Axis) -> tuple[float, float]:
    left = axis.x(one.begin)
    return left, max(axis.x(one.end or one.begin), left + 4)


def _fits(one: Event, axis: Axis) -> bool:
    left, right = _band(one, axis)
    return len(_cut(one.short)) * WIDEST_LETTER + 8 <= right - left


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"


def _extent(one: Event, axis: Axis, labelled: bool) -> tuple[float, float]:
    """From where to where a band reaches with its label."""
    left, right = _band(one, axis)
    if not labelled or _fits(one, axis):
        return left, right
    room = len(_cut(one.short)) * WIDEST_LETTER + 8
    return (left - room, right) if left > WIDTH / 2 else (left, right + room)


def _event(one: Event, lane: int, axis: Axis, height: float, labelled: bool) -> str:
    (left, right), y = _band(one, axis), 3 + LANE * lane
    head = f'<a href="{escape(one.link)}" class="{escape(one.kind)}"><title>{escape(one.title)}</title>'
    if one.end is None:
        flag = f"M{left:.1f},{height - BOTTOM}V{y}l12,6l-12,6"
        return f'{head}<path class="flag" d="{flag}"/></a>'
    band = f'<rect class="band" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{LANE - 3}" rx="3"/>'
    if _fits(one, axis):
        place = f'x="{left + 5:.1f}"'
    elif not labelled:
        return f"{head}{band}</a>"
    elif left > WIDTH / 2:
        place = f'class="beside" x="{left - 5:.1f}" text-anchor="end"'
    else:
        place = f'class="beside" x="{right + 5:.1f}"'
    return f'{head}{band}<text {place} y="{y + LANE / 2 + 4:.1f}">{escape(_cut(one.short))}</text></a>'


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


def _ground(axis: Axis, gaps: Sequence[Gap], told: Sequence[Event]) -> str:
    """What lies behind the lines: episodes, gaps, and a line down from each flag."""
    drawn = ""
    for one in told:
        left = axis.x(one.begin)
        if one.end is None:
            drawn += f'<line class="flagline" x1="{left:.1f}" y1="{TOP}" x2="{left:.1f}" y2="{HEIGHT - BOTTOM}"/>'
        else:
            width = max(axis.x(one.end) - left, 1)
            drawn += (
                f'<rect class="shade {escape(one.kind)}" x="{left:.1f}" y="{TOP}" width="{width:.1f}" '
                f'height="{HEIGHT - BOTTOM - TOP}"/>'
            )
    return drawn + _gap_bands(axis, gaps, HEIGHT - BOTTOM, TOP)


def _gap_bands(axis: Axis, gaps: Sequence[Gap], bottom: float, top: float = 0.0) -> str:
    return "".join(
        f'<rect class="gap" x="{axis.x(one.begin):.1f}" y="{top:g}" '
        f'width="{max(axis.x(one.end) - axis.x(one.begin), 2):.1f}" height="{bottom - top:g}">'
        f"<title>{escape(one.why)}</title></rect>"
        for one in gaps
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
    told = ""
    for at, words in axis.ticks():
        x = axis.x(at)
        told += f'<line class="tick" x1="{x:.1f}" y1="{height - BOTTOM}" x2="{x:.1f}" y2="{height - BOTTOM + 5}"/>'
        # A label half outside the drawing would be cut.
        if LEFT - 20 <= x <= WIDTH - 40:
            told += f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{words}</text>'
    return told


def _legend(panel: ChartPanel) -> Markup:
    if len(panel.lines) < 2 and panel.lines[0].name in (panel.title, "all"):
        return Markup("")
    keys = (
        Markup('<li><span class="key s{}"></span>{}</li>').format(place, line.name)
        for place, line in enumerate(panel.lines)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(keys))


def _words(panel: ChartPanel, gaps: Sequence[Gap]) -> str:
    """The drawing for somebody who cannot see it."""
    told = [f"{line.name}: {between}" for line in panel.lines if (between := _range(line))]
    missing = f"; {len(gaps)} gaps" if len(gaps) > 1 else "; one gap" if gaps else ""
    return f"{panel.unit}. {', '.join(told)}{missing}"


def _range(line: ChartLine) -> str:
    known = [value for value in line.values if value is not None]
    return f"from {label(min(known))} to {label(max(known))}" if known else ""


def rows(panels: Sequence[ChartPanel]) -> Iterator[tuple[ChartPanel, ChartLine]]:
    """Every line with its panel, in the order of the charts."""
    for panel in panels:
        yield from ((panel, line) for line in panel.lines)
