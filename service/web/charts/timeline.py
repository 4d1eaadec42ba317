"""Time as SVG: a band for each episode and a flag for each change mark, and the data of the charts below them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
from markupsafe import Markup, escape

from rules.cache_map import CacheMap
from rules.formatting import function_of
from service.state.window import Window
from service.store.figures import Values
from service.store.record import IMPACT
from service.store.repository import Repository
from service.store.series import (
    FINER,
    WIDTHS,
    Break,
    HistoryPage,
    Resolution,
    SeriesSelector,
    StoredSeries,
    Times,
    moments,
)
from service.store.tables import millis, moment
from service.web.charts.svg import (
    FRAMES,
    MOST_LINES,
    Axis,
    ChartLine,
    ChartPanel,
    Frame,
    WatchedStretch,
    line_of,
    thinned,
    top,
)

# Figures of one window from the pages of several tiers: polls, five minutes and hours, side by side.

OverviewItem = tuple[str, str, str]
"""View, key as stored, column."""


class TierFigures:
    """Figures of pages of several tiers as arrays: counters in the order of the stretches shown, levels of all stretches.

    `begins` and `ends` are milliseconds within the window, `seconds` what the figures of a stretch cover, 0 where it has
    no interval; `shown` is which of them are drawn.
    """

    def __init__(self, pages: Sequence[HistoryPage], window: Window) -> None:
        self._pages = pages
        self._series = [{(series.view, series.name, series.column): series for series in page.series} for page in pages]
        self.items = {item: series for found in self._series for item, series in found.items()}
        """Every item in any tier, with its names."""
        begins, ends, seconds = (np.concatenate(each) for each in zip(*map(stretches_of, pages), strict=True))
        ends = np.minimum(ends, millis(window.end))
        self._order = np.argsort(begins, kind="stable")
        self.begins, self.ends, self.seconds = begins[self._order], ends[self._order], seconds[self._order]
        self.shown = (self.seconds > 0) & (self.begins < self.ends)

    def show_up_to(self, longest: float) -> None:
        """Leave out stretches that cover more seconds: their figures are spread over a time without polls."""
        self.shown = self.shown & (self.seconds <= longest)

    def stretches(self) -> list[WatchedStretch]:
        begins, ends = moments(self.begins[self.shown]), moments(self.ends[self.shown])
        return [WatchedStretch(*each) for each in zip(begins, ends, self.seconds[self.shown].tolist(), strict=True)]

    @property
    def rolled_up(self) -> bool:
        """Whether any stretch that is shown is one of roll-ups."""
        rolled = np.concatenate([np.full(len(page.spans), page.resolution != "poll") for page in self._pages])
        return bool(rolled[self._order][self.shown].any())

    def of(self, selector: SeriesSelector) -> list[OverviewItem]:
        return [item for item, series in self.items.items() if selector.takes((*item, series.gauge))]

    def rates(self, items: Sequence[OverviewItem]) -> Values:
        """The sum of several counters per second. NaN if one of them is unknown.

        Nothing is stored for an item without a series, which is zero while it was watched.
        """
        rates: Values = self._laid(items, lambda page, series: page.rates(series))[self.shown]
        return rates

    def highest(self, items: Sequence[OverviewItem], mean: Values) -> Values:
        """The highest known rate of one poll in each stretch, at least its mean.

        For several counters the highest of one alone, because their peaks may be in different polls.
        """
        most = self._laid(items, _most, np.fmax)[self.shown]
        return np.where(np.isnan(mean), np.nan, np.fmax(mean, most))

    def levels(self, item: OverviewItem, before: float | None) -> Values:
        """A gauge, which holds until it changes; NaN if it is unknown, as after a poll that could not read it."""
        view, name, column = item
        unread = np.concatenate(
            [page.spans.lack(view) | page.spans.lack(f"{view} {name} {column}") for page in self._pages]
        )[self._order]
        told = np.where(unread, np.nan, self._laid([item], lambda page, series: series.totals))
        changed = unread | ~np.isnan(told)
        last = np.maximum.accumulate(np.where(changed, np.arange(1, len(told) + 1), 0))
        held: Values = np.append(np.nan if before is None else before, told)[last]
        return held

    def _laid(
        self,
        items: Sequence[OverviewItem],
        values: Callable[[HistoryPage, StoredSeries], Values],
        over: np.ufunc = np.add,
    ) -> Values:
        """One value over all items, their sum, for every span of every page."""
        sums = [
            over.reduce([values(page, found.get(item) or page.still(*item)) for item in items], axis=0)
            for page, found in zip(self._pages, self._series, strict=True)
        ]
        return np.concatenate(sums)[self._order]


def stretches_of(page: HistoryPage) -> tuple[Times, Times, Values]:
    """Begin and end of what each span of a page covers since its begin, and how many seconds are in its figures."""
    spans = page.spans
    seconds = np.nan_to_num(spans.intervals)
    if page.resolution == "poll":
        begins = spans.times - np.rint(1000 * seconds).astype(np.int64)
        return np.maximum(begins, millis(page.begin)), spans.times, seconds
    return np.maximum(spans.times, millis(page.begin)), spans.times + 1000 * WIDTHS[page.resolution], seconds


def _most(page: HistoryPage, series: StoredSeries) -> Values:
    """The highest rates in roll-ups. Polls have nothing beyond their own."""
    return series.mosts if page.resolution != "poll" else np.full(len(page.spans), np.nan)


# The charts of the history page for one window: watched stretches, lines over them, gaps with their reasons.

MOST = 480
"""Most stretches in a drawing. More could not be distinguished."""
SLACK = timedelta(milliseconds=10)
"""Times are kept in whole milliseconds."""
WORDS: Mapping[Resolution, str] = {"poll": "every poll", "5m": "five minutes", "1h": "one hour"}
UNDO = "dc_rollback_segments"

SHARE = SeriesSelector(IMPACT, "share_of_db_time")
CHILDREN = SeriesSelector("v$latch_children", "sleeps")
MUTEXES = SeriesSelector("v$mutex_sleep", "sleeps")
GETS = SeriesSelector("v$rowcache", "gets")
HARD = SeriesSelector("v$sysstat", "value", {"name": "parse count (hard)"})
EXECUTIONS = SeriesSelector("v$sysstat", "value", {"name": "execute count"})
USED = SeriesSelector("v$rowcache", "usage", {"parameter": UNDO})
MUTEX_SLEEPS = "Row cache mutex sleeps"
ALL = (SHARE, CHILDREN, MUTEXES, GETS, HARD, EXECUTIONS, USED)


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without figures, and why. Its length is zero if the figures of a longer stretch cover it."""

    begin: datetime
    end: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything drawn for one window."""

    window: Window
    resolution: str
    stretches: tuple[WatchedStretch, ...]
    panels: tuple[ChartPanel, ...]
    gaps: tuple[Gap, ...]

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
    selectors: Sequence[SeriesSelector] = ALL,
    most_lines: int = MOST_LINES,
    tier: Resolution | None = None,
) -> Overview:
    """Figures of a database over a window, at the finest resolution that is kept and fits the drawing.

    Raises what the store raises. `caches` names the child latches.
    """
    chosen = tier or store.history.resolution(window.begin, window.end)
    figures = TierFigures(list(_pages(store, database, chosen, window.begin, window.end, selectors)), window)
    longest = 1.0
    if chosen == "poll":
        lasted = np.sort(figures.seconds[figures.seconds > 0])
        longest = 3 * float(lasted[(len(lasted) - 1) // 2] if len(lasted) else 0.0) + 5
        figures.show_up_to(longest)
    stretches = figures.stretches()
    breaks = store.history.breaks(database, window.begin, window.end)
    gaps = tuple(_gaps(stretches, window, breaks, longest))
    panels = [*_panels(figures, caches, most_lines)]
    if USED in selectors:
        panels.extend(_used(figures, store.history.levels_before(database, [USED], window.begin, chosen)))
    thin = -(-len(stretches) // MOST) if stretches else 1
    fewer, thinner = thinned(stretches, panels, thin)
    words = WORDS[chosen] + (f", {thin} averaged at a time" if thin > 1 else "")
    return Overview(window, words, tuple(fewer), thinner, gaps)


def _pages(
    store: Repository,
    database: str,
    tier: Resolution,
    begin: datetime,
    end: datetime,
    selectors: Sequence[SeriesSelector],
) -> Iterator[HistoryPage]:
    """Spans of a tier, and after its last one those of the finer tiers, which are not rolled up yet."""
    points = store.history.points(database, selectors, begin, end, tier)
    yield points
    _, ends, _ = stretches_of(points)
    rest = max(begin, moment(int(ends[-1]))) if len(ends) else begin
    if tier in FINER and rest < end:
        yield from _pages(store, database, FINER[tier], rest, end, selectors)


def _gaps(
    stretches: Sequence[WatchedStretch], window: Window, breaks: Sequence[Break], tolerance: float
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
            reasons = dict.fromkeys(gap.why for gap in passed if gap.kind != "first_poll" or not stretches)
            yield Gap(reached, begin, "; ".join(reasons) or "not watched")
        reached = max(reached, end)
    yield from (Gap(gap.at, gap.at, gap.why) for gap in breaks if gap.at not in explained)


def _panels(figures: TierFigures, caches: CacheMap, most: int) -> Iterator[ChartPanel]:
    def rate(
        key: str,
        title: str,
        unit: str,
        items: Sequence[OverviewItem] = (),
        nothing: OverviewItem = ("", "{}", ""),
        scale: float = 1.0,
    ) -> ChartPanel:
        line = line_of(title, figures.rates(items or [nothing]) * scale)
        return ChartPanel(key, title, unit, (_reaching(line, figures, items or [nothing], scale),))

    def tops(key: str, title: str, selector: SeriesSelector, name: Callable[[StoredSeries], str]) -> ChartPanel:
        groups: dict[str, list[OverviewItem]] = {}
        for item in figures.of(selector):
            groups.setdefault(name(figures.items[item]), []).append(item)
        groups = groups or {"all": [(selector.view, "{}", selector.column)]}
        lines = {name: figures.rates(group) for name, group in groups.items()}
        chosen = list(top(lines, figures.seconds[figures.shown].tolist(), most))
        named = {line.name for line in chosen if not line.rest}
        others = [item for group in groups if group not in named for item in groups[group]]
        reaching = (_reaching(line, figures, others if line.rest else groups[line.name]) for line in chosen)
        return ChartPanel(key, title, "per second", tuple(reaching))

    yield rate("share", "DB time lost", "%", [(SHARE.view, "{}", SHARE.column)], scale=100.0)
    if figures.of(MUTEXES) and not figures.of(CHILDREN):
        yield tops("sleeps", MUTEX_SLEEPS, MUTEXES, lambda series: function_of(str(series.key.get("location"))))
    else:
        yield tops("sleeps", "Row cache latch sleeps", CHILDREN, lambda series: _child(series, caches))
    yield tops("gets", "Dictionary gets", GETS, lambda series: str(series.key.get("parameter")))
    for key, title, selector in (("hard", "Hard parses", HARD), ("executions", "Executions", EXECUTIONS)):
        named = json.dumps(selector.match, separators=(",", ":"))
        yield rate(key, title, "per second", figures.of(selector), (selector.view, named, selector.column))


def _reaching(line: ChartLine, figures: TierFigures, items: Sequence[OverviewItem], scale: float = 1.0) -> ChartLine:
    """The line with the peaks of single polls, if its stretches are roll-ups, which keep no lowest value."""
    if not figures.rolled_up:
        return line
    mean = np.array(line.values, dtype=np.float64)
    highs = line_of("", figures.highest(items, mean / scale) * scale).values
    return replace(line, lows=line.values, highs=highs)


def _used(figures: TierFigures, levels: dict[OverviewItem, float]) -> Iterator[ChartPanel]:
    """Entries in use of the cache of undo segments, if there is one. Levels come from every poll, including the first."""
    used = sorted({*levels, *figures.of(USED)})
    each = np.array([figures.levels(item, levels.get(item)) for item in used]).reshape(len(used), len(figures.seconds))
    known = ~np.isnan(each).all(axis=0)
    line = line_of(UNDO, np.where(known, np.nansum(each, axis=0), np.nan)[figures.shown])
    if any(value is not None for value in line.values):
        yield ChartPanel("used", f"Entries used of {UNDO}", "entries", (line,))


def _child(series: StoredSeries, caches: CacheMap) -> str:
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
    frames: Sequence[Frame] = FRAMES,
) -> Markup:
    """The timeline above the charts, each event a link.

    With `zoom`, the address of the page, the time between two ticks is a link to that stretch.
    """
    return Markup("").join(_timeline_drawing(shown, Axis(axis.window, frame), gaps, zoom) for frame in frames)


def _timeline_drawing(shown: Sequence[Event], axis: Axis, gaps: Sequence[Gap], zoom: str | None) -> Markup:
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
        f'aria-label="Episodes, change marks and changes">{ground}{line}{axis.times(floor)}{drawn}'
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
    if not labelled or _fits(event, axis):
        return left, right
    return (left - _room(event), right) if left > axis.frame.width / 2 else (left, right + _room(event))


def _band(event: Event, axis: Axis) -> tuple[float, float]:
    left = axis.x(event.begin)
    return left, max(axis.x(event.end or event.begin), left + 4)


def _room(event: Event) -> float:
    return len(_cut(event.short)) * LABEL_LETTER + 10


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 1]}…"


def _fits(event: Event, axis: Axis) -> bool:
    left, right = _band(event, axis)
    return _room(event) <= right - left


def _event(event: Event, lane: int, axis: Axis, floor: float, labelled: bool) -> str:
    (left, right), y = _band(event, axis), 3 + LANE * lane
    head = f'<a href="{escape(event.link)}" class="{escape(event.kind)}"><title>{escape(event.title)}</title>'
    if event.end is None:
        flag = f"M{left:.1f} {floor}V{y}h14l-4 5 4 5h-12.5V{floor}z"
        if event.kind == "change":
            flag = f"M{left:.1f} {floor - 9}l4 9h-8z"
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
