"""Events as SVG: a band for each episode and a flag for each change mark, over the axis of the charts below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup, escape

from service.state.window import Window
from service.web.charts.axis import FRAMES, Axis, Frame
from service.web.charts.overview import Gap

LANE = 26
BOTTOM = 26
LETTER = 7
LABELLED = 12
"""With more episodes than this, they have no name beside them."""
LONGEST_LABEL = 28


@dataclass(frozen=True, slots=True)
class Event:
    """An episode (`end` given) or a mark (`end` None) on the timeline. `kind` is a severity or `mark`."""

    begin: datetime
    end: datetime | None
    kind: str
    title: str
    link: str
    short: str
    """The text on it, or beside it if it is small."""
    lasts: bool = False
    """Whether the episode goes on. Then its `end` is now."""


def events(
    shown: Sequence[Event],
    axis: Axis,
    gaps: Sequence[Gap] = (),
    zoom: str | None = None,
    frames: Sequence[Frame] = FRAMES,
) -> Markup:
    """The timeline above the charts, each event a link.

    With `zoom`, the address of the page, the time between two ticks is a link to that stretch.
    """
    return Markup("").join(_drawing(shown, Axis(axis.window, frame), gaps, zoom) for frame in frames)


def _drawing(shown: Sequence[Event], axis: Axis, gaps: Sequence[Gap], zoom: str | None) -> Markup:
    placed = _lanes(shown, axis)
    floor = LANE * (1 + max((lane for lane, _ in placed), default=0)) + 6
    labelled = sum(event.end is not None for event in shown) <= LABELLED
    drawn = "".join(_event(event, lane, axis, floor, labelled) for lane, event in placed)
    ground = "".join(
        f'<rect class="gap" x="{axis.x(gap.begin):.1f}" y="0" width="{max(axis.x(gap.end) - axis.x(gap.begin), 2):.1f}" '
        f'height="{floor}"><title>{escape(gap.why)}</title></rect>'
        for gap in gaps
    )
    frame = axis.frame
    line = f'<line class="axis" x1="{frame.left}" x2="{frame.edge}" y1="{floor}" y2="{floor}"/>'
    return Markup(
        f'<svg class="chart events {frame.kind}" viewBox="0 0 {frame.width} {floor + BOTTOM}" role="group" '
        f'aria-label="Episodes and change marks">{ground}{line}{axis.times(floor)}{drawn}'
        f"{_zooms(axis, floor, zoom) if zoom else ''}</svg>"
    )


def _lanes(shown: Sequence[Event], axis: Axis) -> list[tuple[int, Event]]:
    """Each event with the first lane in which it covers no other. Marks have the topmost lane for themselves."""
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


def _room(event: Event) -> float:
    return len(_cut(event.short)) * LETTER + 10


def _fits(event: Event, axis: Axis) -> bool:
    left, right = _band(event, axis)
    return _room(event) <= right - left


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"


def _extent(event: Event, axis: Axis, labelled: bool) -> tuple[float, float]:
    """The left and right end of a band with its label."""
    left, right = _band(event, axis)
    if not labelled or _fits(event, axis):
        return left, right
    return (left - _room(event), right) if left > axis.frame.width / 2 else (left, right + _room(event))


def _event(event: Event, lane: int, axis: Axis, floor: float, labelled: bool) -> str:
    (left, right), y = _band(event, axis), 3 + LANE * lane
    head = f'<a href="{escape(event.link)}" class="{escape(event.kind)}"><title>{escape(event.title)}</title>'
    if event.end is None:
        flag = f"M{left:.1f} {floor}V{y}h14l-4 5 4 5h-12.5V{floor}z"
        return f'{head}<path class="flag" d="{flag}"/></a>'
    band = f'<rect class="lane" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{LANE - 4}" rx="4"/>'
    if _fits(event, axis):
        position = f'class="onlane" x="{left + 6:.1f}"'
    elif not labelled:
        return f"{head}{band}</a>"
    elif left > axis.frame.width / 2:
        position = f'class="beside" x="{left - 5:.1f}" text-anchor="end"'
    else:
        position = f'class="beside" x="{right + 5:.1f}"'
    return f'{head}{band}<text {position} y="{y + LANE / 2 + 2:.1f}">{escape(_cut(event.short))}</text></a>'


def _zooms(axis: Axis, floor: float, address: str) -> str:
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
            f'<rect x="{left:.1f}" y="{floor}" width="{right - left:.1f}" height="{BOTTOM}"/></a>'
        )
    return links
