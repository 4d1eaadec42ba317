"""What the history page draws of one window: stretches that were watched, lines over them, gaps with their reasons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median_low

from rules.cache_map import CacheMap
from rules.formatting import function_of
from service.state.window import Window
from service.store.ingest.samples import IMPACT
from service.store.queries.history import (
    FINER,
    WIDTHS,
    Break,
    HistoryPage,
    HistorySpan,
    Resolution,
    SeriesSelector,
    StoredSeries,
)
from service.store.repository import Repository
from service.web.charts.panels import TOP, ChartLine, ChartPanel, WatchedStretch, thinned, top

MOST = 480
"""Stretches drawn; more could not be told apart."""
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

OverviewItem = tuple[str, str, str]
"""View, key as it is stored, column."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of which nothing is known, and why; of no length where the figures of a longer stretch hide it."""

    begin: datetime
    end: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything drawn of one window."""

    window: Window
    resolution: str
    stretches: tuple[WatchedStretch, ...]
    panels: tuple[ChartPanel, ...]
    gaps: tuple[Gap, ...]

    def since(self) -> Window:
        """The window from where anything is known."""
        return Window(self.stretches[0].begin, self.window.end) if self.stretches else self.window

    @property
    def mutexes(self) -> bool:
        """Whether its sleeps are those of mutexes."""
        return any(panel.title == MUTEX_SLEEPS for panel in self.panels)


@dataclass(frozen=True, slots=True)
class _Row:
    """A span with the series of its tier."""

    stretch: WatchedStretch
    span: HistorySpan
    series: Mapping[OverviewItem, StoredSeries]

    def value(self, item: OverviewItem, gauge: bool = False) -> float | None:
        """A figure over the span. Of an item without a series nothing is stored, which is zero where it was watched."""
        view, name, column = item
        return self.series.get(item, StoredSeries(view, {}, column, gauge, {}, name)).at(self.span)


def overview(
    store: Repository,
    database: str,
    window: Window,
    caches: CacheMap,
    selectors: Sequence[SeriesSelector] = ALL,
    most_lines: int = TOP,
    tier: Resolution | None = None,
) -> Overview:
    """Figures of a database over a window, at the finest resolution that is kept and can be drawn.

    Raises what the store raises. `caches` names the child latches.
    """
    chosen = tier or store.history.resolution(window.begin, window.end)
    rows = sorted(
        _rows(store, database, chosen, window.begin, window.end, selectors), key=lambda row: row.stretch.begin
    )
    spans = [row.stretch for row in rows if row.span.seconds]
    usual = median_low([span.seconds for span in spans]) if spans and chosen == "poll" else 0.0
    longest = 3 * usual + 5
    known = [row for row in rows if row.span.seconds and row.stretch.begin < row.stretch.end]
    shown = [row for row in known if chosen != "poll" or row.stretch.seconds <= longest]
    breaks = store.history.breaks(database, window.begin, window.end)
    gaps = tuple(_gaps([row.stretch for row in shown], window, breaks, longest if chosen == "poll" else 1.0))
    panels = [*_panels(shown, _items(rows), caches, most_lines)]
    if USED in selectors:
        panels.extend(
            _used(rows, shown, _items(rows), store.history.levels_before(database, [USED], window.begin, chosen))
        )
    thin = -(-len(shown) // MOST) if shown else 1
    stretches, thinner = thinned([row.stretch for row in shown], panels, thin)
    words = WORDS[chosen] + (f", {thin} averaged at a time" if thin > 1 else "")
    return Overview(window, words, tuple(stretches), thinner, gaps)


def _rows(
    store: Repository,
    database: str,
    tier: Resolution,
    begin: datetime,
    end: datetime,
    selectors: Sequence[SeriesSelector],
) -> Iterator[_Row]:
    """Spans of a tier, and after its last one those of the finer tiers, which are not rolled up yet."""
    points = store.history.points(database, selectors, begin, end, tier)
    series = {(series.view, series.name, series.column): series for series in points.series}
    rest = begin
    for span in points.spans:
        stretch = _stretch(points, span)
        rest = max(rest, stretch.end)
        yield _Row(replace(stretch, begin=max(stretch.begin, begin), end=min(stretch.end, end)), span, series)
    if tier in FINER and rest < end:
        yield from _rows(store, database, FINER[tier], rest, end, selectors)


def _stretch(points: HistoryPage, span: HistorySpan) -> WatchedStretch:
    seconds = span.seconds or 0.0
    if points.resolution == "poll":
        return WatchedStretch(span.at - timedelta(seconds=seconds), span.at, seconds)
    return WatchedStretch(span.at, span.at + timedelta(seconds=WIDTHS[points.resolution]), seconds)


def _items(rows: Sequence[_Row]) -> dict[OverviewItem, StoredSeries]:
    """Every item that any tier has, with what names it."""
    return {
        item: stored
        for series in {id(row.series): row.series for row in rows}.values()
        for item, stored in series.items()
    }


def _gaps(
    stretches: Sequence[WatchedStretch], window: Window, breaks: Sequence[Break], tolerance: float
) -> Iterator[Gap]:
    """What no stretch covers, with what the first poll after it said; then breaks that no gap explains."""
    explained: set[datetime] = set()
    reached = window.begin
    # Whatever comes last may still be waiting for the next poll.
    last = max(tolerance, 3 * stretches[-1].seconds + 5) if stretches else 0.0
    for begin, end in [*((stretch.begin, stretch.end) for stretch in stretches), (window.end, window.end)]:
        tolerance = last if begin == window.end else tolerance
        passed = [gap for gap in breaks if reached < gap.at <= begin + SLACK]
        if (begin - reached).total_seconds() > tolerance or (passed and stretches):
            explained |= {gap.at for gap in passed}
            # A first poll is no reason for what was before it; it is one where nothing came after it yet.
            reasons = dict.fromkeys(gap.why for gap in passed if not gap.first_poll or not stretches)
            yield Gap(reached, begin, "; ".join(reasons) or "not watched")
        reached = max(reached, end)
    yield from (Gap(gap.at, gap.at, gap.why) for gap in breaks if gap.at not in explained)


def _panels(
    rows: Sequence[_Row], items: Mapping[OverviewItem, StoredSeries], caches: CacheMap, most: int
) -> Iterator[ChartPanel]:
    def of(selector: SeriesSelector) -> list[OverviewItem]:
        return [item for item, stored in items.items() if selector.takes((item[0], item[1], item[2], stored.gauge))]

    def rate(key: str, title: str, unit: str, items: Sequence[OverviewItem], scale: float = 1.0) -> ChartPanel:
        return ChartPanel(key, title, unit, (_sum(title, rows, items, scale),))

    def tops(key: str, title: str, selector: SeriesSelector, name: Callable[[StoredSeries], str]) -> ChartPanel:
        groups: dict[str, list[OverviewItem]] = {}
        for item in of(selector):
            groups.setdefault(name(items[item]), []).append(item)
        nothing = [_sum("all", rows, [(selector.view, "{}", selector.column)])]
        lines = [_sum(name, rows, group) for name, group in groups.items()] or nothing
        return ChartPanel(key, title, "per second", tuple(top(lines, [row.stretch.seconds for row in rows], most)))

    share = [(SHARE.view, "{}", SHARE.column)]
    yield rate("share", "DB time lost in row cache waits", "%", share, 100.0)
    if of(MUTEXES) and not of(CHILDREN):
        yield tops("sleeps", MUTEX_SLEEPS, MUTEXES, lambda series: function_of(str(series.key.get("location"))))
    else:
        yield tops("sleeps", "Row cache latch sleeps", CHILDREN, lambda series: _child(series, caches))
    yield tops("gets", "Dictionary gets", GETS, lambda series: str(series.key.get("parameter")))
    yield rate(
        "hard", "Hard parses", "per second", of(HARD) or [(HARD.view, '{"name":"parse count (hard)"}', HARD.column)]
    )
    yield rate(
        "executions",
        "Executions",
        "per second",
        of(EXECUTIONS) or [(HARD.view, '{"name":"execute count"}', HARD.column)],
    )


def _used(
    rows: Sequence[_Row],
    shown: Sequence[_Row],
    items: Mapping[OverviewItem, StoredSeries],
    levels: dict[OverviewItem, float],
) -> Iterator[ChartPanel]:
    """Entries in use of the cache of undo segments, where there is one. Levels come from every poll, the first included."""
    used = {*levels, *(item for item, series in items.items() if USED.takes((*item, series.gauge)))}
    known = dict(zip((id(row) for row in rows), _levels(rows, sorted(used), levels), strict=True))
    line = ChartLine(UNDO, tuple(known[id(row)] for row in shown))
    if any(value is not None for value in line.values):
        yield ChartPanel("used", f"Entries used of {UNDO}", "entries", (line,))


def _child(series: StoredSeries, caches: CacheMap) -> str:
    """The caches a child guards, else its number."""
    number = int(series.key.get("child#") or 0)
    guarded = caches.children.get(number)
    return (guarded.name if guarded else None) or f"child {number}"


def _sum(name: str, rows: Sequence[_Row], items: Sequence[OverviewItem], scale: float = 1.0) -> ChartLine:
    """The sum of several figures; None where one of them cannot be told."""
    values: list[float | None] = []
    for row in rows:
        cells = [row.value(item) for item in items]
        known = [value for value in cells if value is not None]
        values.append(sum(known) * scale if len(known) == len(cells) else None)
    return ChartLine(name, tuple(values))


def _levels(
    rows: Sequence[_Row], items: Sequence[OverviewItem], last: dict[OverviewItem, float]
) -> Iterator[float | None]:
    """The sum of levels that hold until they change; unknown where their view was missing, until they are read again."""
    for row in rows:
        for item in items:
            if row.span.lacks(*item):
                last.pop(item, None)
            elif (value := row.value(item, gauge=True)) is not None:
                last[item] = value
        yield sum(last.values()) if last else None
