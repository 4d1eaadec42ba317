"""Figures of one window from the pages of several tiers: polls, five minutes and hours, side by side."""

from collections.abc import Callable, Sequence

import numpy as np

from service.state.window import Window
from service.store.figures.codec import Values
from service.store.queries.history import WIDTHS
from service.store.queries.series import HistoryPage, SeriesSelector, StoredSeries
from service.store.queries.spans import Times, moments
from service.store.schema.history_tables import millis
from service.web.charts.panels import WatchedStretch

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
        """Those that are shown."""
        begins, ends = moments(self.begins[self.shown]), moments(self.ends[self.shown])
        return [WatchedStretch(*each) for each in zip(begins, ends, self.seconds[self.shown].tolist(), strict=True)]

    @property
    def rolled_up(self) -> bool:
        """Whether any stretch that is shown is one of roll-ups."""
        rolled = np.concatenate([np.full(len(page.spans), page.resolution != "poll") for page in self._pages])
        return bool(rolled[self._order][self.shown].any())

    def of(self, selector: SeriesSelector) -> list[OverviewItem]:
        """The items that a selector matches."""
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
