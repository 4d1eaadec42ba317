"""Time as SVG: a band for each episode and a flag for each change mark, and the data of the charts below them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from markupsafe import Markup, escape

from collectors.model import Snapshot
from rules.cache_map import CacheMap
from rules.formatting import function_of
from service.state.time_window import Window
from service.store.polls import CurvePage, Poll, Resolution, Values, moments
from service.store.repository import Repository
from service.store.snapshots import Detail, Details, DetailSeries
from service.store.tables import millis, moment
from service.web.charts.svg import (
    FRAMES,
    MOST_LINES,
    Axis,
    ChartPanel,
    Gap,
    WatchedStretch,
    gap_marks,
    levelled,
    line_of,
    thinned,
    top,
)

# The charts of the history page for one window: watched stretches, lines over them, gaps with their reasons.

MOST = 480
"""Most stretches in a drawing. More could not be distinguished."""
LEVEL = 60.0
"""Seconds over which a chart averages rare sleeps, so that another interval of polls is no step in it."""
SLACK = timedelta(milliseconds=10)
"""Times are kept in whole milliseconds."""
STEP = timedelta(minutes=5)
HOUR = timedelta(hours=1)
WORDS: Mapping[Resolution, str] = {"poll": "every poll", "5m": "five minutes", "1h": "one hour"}
UNDO = "dc_rollback_segments"
CHILDREN: Detail = ("v$latch_children", "sleeps")
MUTEXES: Detail = ("v$mutex_sleep", "sleeps")
GETS: Detail = ("v$rowcache", "gets")
USED: Detail = ("v$rowcache", "usage")
MUTEX_SLEEPS = "Row cache mutex sleeps"
PANELS: Mapping[str, tuple[str, str, str, tuple[Detail, ...]]] = {
    "share": ("DB time lost", "%", "share", ()),
    "sleeps": ("Row cache latch sleeps", "per second", "sleeps", (CHILDREN, MUTEXES)),
    "gets": ("Dictionary gets", "per second", "gets", (GETS,)),
    "hard": ("Hard parses", "per second", "hard_parses", ()),
    "executions": ("Executions", "per second", "executions", ()),
    "used": (f"Entries used of {UNDO}", "entries", "", (USED,)),
}
"""The charts: title, unit, the figure of polls and hours, and the details that are drawn in its place where they are kept."""


class Figures:
    """The figures of pages of several resolutions as arrays, in the order of their stretches.

    `begins` and `ends` are milliseconds within the window, `seconds` what the figures of a stretch cover, 0 where it has
    no interval; `shown` is which of them are drawn.
    """

    def __init__(self, pages: Sequence[CurvePage], window: Window) -> None:
        begins = np.concatenate([np.maximum(page.begins, millis(page.begin)) for page in pages])
        order = np.argsort(begins, kind="stable")
        self.begins = begins[order]
        self.ends = np.minimum(np.concatenate([page.ends for page in pages]), millis(window.end))[order]
        self.seconds = np.nan_to_num(np.concatenate([page.seconds for page in pages]))[order]
        self.rolled = np.concatenate([np.full(len(page), page.resolution != "poll") for page in pages])[order]
        self.shown = (self.seconds > 0) & (self.begins < self.ends)
        self._pages, self._order = pages, order

    def of(self, name: str) -> tuple[Values, Values | None]:
        """A figure in each stretch that is shown, and its highest single poll if any of those is a step."""
        mean = np.concatenate([page.values[name] for page in self._pages])[self._order][self.shown]
        if not self.rolled[self.shown].any():
            return mean, None
        nothing = [np.full(len(page), np.nan) for page in self._pages]
        most = [page.highest.get(name, none) for page, none in zip(self._pages, nothing, strict=True)]
        return mean, np.where(np.isnan(mean), np.nan, np.fmax(mean, np.concatenate(most)[self._order][self.shown]))

    def stretches(self) -> list[WatchedStretch]:
        begins, ends = moments(self.begins[self.shown]), moments(self.ends[self.shown])
        return [WatchedStretch(*each) for each in zip(begins, ends, self.seconds[self.shown].tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything drawn for one window."""

    window: Window
    resolution: str
    stretches: tuple[WatchedStretch, ...]
    panels: tuple[ChartPanel, ...]
    gaps: tuple[Gap, ...]
    details_since: datetime | None = None
    """From when on child latches, caches and places are kept, if that is after the begin."""

    def since(self) -> Window:
        """The window from the first known figure on."""
        return Window(self.stretches[0].begin, self.window.end) if self.stretches else self.window

    @property
    def mutexes(self) -> bool:
        """Whether its sleeps are those of mutexes."""
        return any(panel.title == MUTEX_SLEEPS for panel in self.panels)


def overview(
    store: Repository,
    database: str,
    window: Window,
    caches: CacheMap,
    keys: Sequence[str] = tuple(PANELS),
    most_lines: int = MOST_LINES,
    newest: Snapshot | None = None,
) -> Overview:
    """Figures of a database over a window, at the finest resolution that is kept and fits the drawing.

    Raises what the store raises. `caches` names the child latches; `newest`: the last poll, which may not be stored.
    """
    chosen = store.history.resolution(window.begin, window.end)
    names = [PANELS[key][2] for key in keys if PANELS[key][2]]
    figures = Figures(list(_pages(store, database, chosen, window.begin, window.end, names)), window)
    longest = 1.0
    if chosen == "poll":
        lasted = np.sort(figures.seconds[(figures.seconds > 0) & ~figures.rolled])
        longest = 3 * float(lasted[(len(lasted) - 1) // 2] if len(lasted) else 0.0) + 5
        # What covers more is spread over a time without polls.
        figures.shown = figures.shown & ((figures.seconds <= longest) | figures.rolled)
    stretches = figures.stretches()
    breaks = store.history.polls(database, window.begin, window.end, 200, broken=True)
    gaps = tuple(_gaps(stretches, window, breaks, longest))
    wanted = [detail for key in keys for detail in PANELS[key][3]]
    found = store.snapshots.details(database, wanted, window.begin, window.end, newest)
    panels = [*_panels(figures, found, caches, keys, most_lines)]
    thin = -(-len(stretches) // MOST)
    if chosen == "poll" and stretches:
        panels = [levelled(each, stretches, LEVEL) if each.key == "sleeps" else each for each in panels]
    fewer, thinner = thinned(stretches, panels, MOST)
    words = WORDS[chosen] + (f", {thin} averaged at a time" if thin > 1 else "")
    late = wanted and stretches and (not len(found.times) or moment(int(found.times[0])) > stretches[0].end + HOUR)
    since = (moment(int(found.times[0])) if len(found.times) else window.end) if late else None
    return Overview(window, words, tuple(fewer), thinner, gaps, since)


def _pages(
    store: Repository, database: str, tier: Resolution, begin: datetime, end: datetime, names: Sequence[str]
) -> Iterator[CurvePage]:
    """A tier with hours before its first poll; after the last hour steps, and after the last whole step polls."""
    if tier == "5m":
        whole = min(end, datetime.now(UTC))
        whole -= timedelta(seconds=whole.timestamp() % STEP.total_seconds())
        if begin < whole:
            page = store.history.page(database, names, begin, whole, "5m")
            yield page
            yield from _before(store, database, page, begin, names)
        yield store.history.page(database, names, max(begin, whole), end, "poll")
        return
    page = store.history.page(database, names, begin, end, tier)
    yield page
    if tier == "poll":
        yield from _before(store, database, page, begin, names)
    else:
        rest = max(begin, moment(int(page.ends[-1]))) if len(page) else begin
        yield from _pages(store, database, "5m", rest, end, names) if rest < end else ()


def _before(
    store: Repository, database: str, page: CurvePage, begin: datetime, names: Sequence[str]
) -> Iterator[CurvePage]:
    """Hours that ended before the first poll of a page."""
    until = (moment(int(page.begins[0])) if len(page) else page.end) - HOUR
    if begin < until:
        yield store.history.page(database, names, begin, until, "1h")


def _gaps(
    stretches: Sequence[WatchedStretch], window: Window, breaks: Sequence[Poll], tolerance: float
) -> Iterator[Gap]:
    """The time between stretches, with the reason from the first poll after it. Then breaks that no gap explains."""
    explained: set[datetime] = set()
    reached = window.begin
    # The last stretch may still be waiting for the next poll.
    last = max(tolerance, 3 * stretches[-1].seconds + 5) if stretches else 0.0
    for begin, end in [*((stretch.begin, stretch.end) for stretch in stretches), (window.end, window.end)]:
        tolerance = last if begin == window.end else tolerance
        passed = [gap for gap in breaks if reached < gap.at <= begin + SLACK]
        if (begin - reached).total_seconds() > tolerance or (passed and stretches):
            explained |= {gap.at for gap in passed}
            # A first poll does not explain the time before it. It is a reason only if nothing came after it yet.
            reasons = dict.fromkeys(gap.why or "" for gap in passed if gap.kind != "first_poll" or not stretches)
            yield Gap(reached, begin, "; ".join(reasons) or "not watched")
        reached = max(reached, end)
    yield from (Gap(gap.at, gap.at, gap.why or "") for gap in breaks if gap.at not in explained)


def _panels(figures: Figures, found: Details, caches: CacheMap, keys: Sequence[str], most: int) -> Iterator[ChartPanel]:
    begins, ends = figures.begins[figures.shown], figures.ends[figures.shown]
    seconds = figures.seconds[figures.shown].tolist()

    def grouped(detail: Detail, name: Callable[[DetailSeries], str]) -> dict[str, Values]:
        groups: dict[str, list[Values]] = {}
        for series in found.series.get(detail, ()):
            groups.setdefault(name(series), []).append(found.rates(series, begins, ends))
        return {name: np.sum(rates, axis=0) for name, rates in groups.items()}

    for key in keys:
        title, unit, name, _ = PANELS[key]
        if key == "used":
            undo = [each for each in found.series[USED] if each.key.get("parameter") == UNDO]
            levels = np.array([found.levels(each, ends) for each in undo]).reshape(len(undo), len(ends))
            known = ~np.isnan(levels).all(axis=0)
            line = line_of(UNDO, np.where(known, np.nansum(levels, axis=0), np.nan))
            if any(value is not None for value in line.values):
                yield ChartPanel(key, title, unit, (line,))
            continue
        lines: dict[str, Values] = {}
        if key == "sleeps":
            lines = grouped(CHILDREN, lambda series: _child(series, caches))
            if not lines and (lines := grouped(MUTEXES, lambda series: function_of(str(series.key.get("location"))))):
                title = MUTEX_SLEEPS
        elif key == "gets":
            lines = grouped(GETS, lambda series: str(series.key.get("parameter")))
        mean, highest = figures.of(name)
        # Where most of the window is older than its details, their sum says more than a few points of them.
        known = max((np.count_nonzero(~np.isnan(values)) for values in lines.values()), default=0)
        if known and 2 * known >= np.count_nonzero(~np.isnan(mean)):
            yield ChartPanel(key, title, unit, tuple(top(lines, seconds, most)))
            continue
        scale = 100.0 if unit == "%" else 1.0
        line = line_of(title if key not in ("sleeps", "gets") else "all", mean * scale)
        if highest is not None:
            line = replace(line, lows=line.values, highs=line_of("", highest * scale).values)
        yield ChartPanel(key, title, unit, (line,))


def _child(series: DetailSeries, caches: CacheMap) -> str:
    """The caches that a child guards, else its number."""
    number = int(series.key.get("child#") or 0)
    name = caches.series_name(number)
    return f"child {number}" if name == "unknown" else name


LANE = 26
BOTTOM = 26
LABEL_LETTER = 7
LABELLED = 12
"""With more episodes than this, they have no name beside them."""
LONGEST_LABEL = 28


# Events on the axis of the charts below them: episodes as bands, change marks as flags.


@dataclass(frozen=True, slots=True)
class Event:
    """An episode (`end` given), or a mark or change (`end` None) on the timeline. `kind` is a severity, `mark` or `change`."""

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
) -> Markup:
    """The timeline above the charts, each event a link.

    With `zoom`, the address of the page, the time between two ticks is a link to that stretch.
    """
    return Markup("").join(_timeline_drawing(shown, Axis(axis.window, frame), gaps, zoom) for frame in FRAMES)


def _timeline_drawing(shown: Sequence[Event], axis: Axis, gaps: Sequence[Gap], zoom: str | None) -> Markup:
    placed = _lanes(shown, axis)
    floor = LANE * (1 + max((lane for lane, _ in placed), default=0)) + 6
    labelled = sum(event.end is not None for event in shown) <= LABELLED
    drawn = "".join(_event(event, lane, axis, floor, labelled) for lane, event in placed)
    frame = axis.frame
    line = f'<line class="axis" x1="{frame.left}" x2="{frame.edge}" y1="{floor}" y2="{floor}"/>'
    return Markup(
        f'<svg class="chart events {frame.kind}" viewBox="0 0 {frame.width} {floor + BOTTOM}" role="group" '
        f'aria-label="Episodes, change marks and changes">{gap_marks(axis, gaps, 0, floor)}{line}{axis.times(floor)}{drawn}'
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


def _extent(event: Event, axis: Axis, labelled: bool) -> tuple[float, float]:
    """The left and right end of a band with its label."""
    left, right = _band(event, axis)
    if not labelled or (room := _room(event)) <= right - left:
        return left, right
    return (left - room, right) if left > axis.frame.width / 2 else (left, right + room)


def _band(event: Event, axis: Axis) -> tuple[float, float]:
    left = axis.x(event.begin)
    return left, max(axis.x(event.end or event.begin), left + 4)


def _room(event: Event) -> float:
    return len(_cut(event.short)) * LABEL_LETTER + 10


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"


def _event(event: Event, lane: int, axis: Axis, floor: float, labelled: bool) -> str:
    (left, right), y = _band(event, axis), 3 + LANE * lane
    head = f'<a href="{escape(event.link)}" class="{escape(event.kind)}"><title>{escape(event.title)}</title>'
    if event.end is None:
        change = event.kind == "change"
        flag = f"M{left:.1f} {floor - 9}l4 9h-8z" if change else f"M{left:.1f} {floor}V{y}h14l-4 5 4 5h-12.5V{floor}z"
        return f'{head}<path class="flag" d="{flag}"/></a>'
    band = f'<rect class="lane" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{LANE - 4}" rx="4"/>'
    if _room(event) <= right - left:
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
