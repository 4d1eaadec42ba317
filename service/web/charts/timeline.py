"""The charts of the history page for one window: watched stretches, lines over them, gaps with their reasons."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from rules.cache_map import CacheMap
from rules.formatting import function_of
from service.state.window import Window
from service.store.ingest.samples import IMPACT
from service.store.queries.history import FINER
from service.store.queries.series import (
    Break,
    HistoryPage,
    Resolution,
    SeriesSelector,
    StoredSeries,
)
from service.store.repository import Repository
from service.store.schema.history_tables import moment
from service.web.charts.panels import TOP, ChartLine, ChartPanel, WatchedStretch, line_of, thinned, top
from service.web.charts.tiers import OverviewItem, TierFigures, stretches_of

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
    most_lines: int = TOP,
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
    guarded = caches.children.get(number)
    return (guarded.name if guarded else None) or f"child {number}"
