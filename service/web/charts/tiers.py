"""Figures of one window from the pages of several tiers: polls, five minutes and hours, laid beside each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from service.store.figures.codec import Values
from service.store.queries.series import HistoryPage, SeriesSelector, StoredSeries
from service.store.queries.spans import HistorySpan
from service.web.charts.panels import WatchedStretch

OverviewItem = tuple[str, str, str]
"""View, key as it is stored, column."""


@dataclass(frozen=True, slots=True)
class TierRow:
    """A span of the page of its tier, by its place there."""

    stretch: WatchedStretch
    page: HistoryPage
    place: int

    @property
    def span(self) -> HistorySpan:
        return self.page.spans[self.place]


class TierFigures:
    """Figures of pages of several tiers as arrays: counters in the order of the rows shown, levels of all rows."""

    def __init__(self, rows: Sequence[TierRow], shown: Sequence[TierRow]) -> None:
        self.rows, self.shown = rows, shown
        self._pages = list({id(row.page): row.page for row in rows}.values())
        self._series = [
            {(series.view, series.name, series.column): series for series in page.series} for page in self._pages
        ]
        self.items = {item: series for found in self._series for item, series in found.items()}
        """Every item that any tier has, with what names it."""
        begins = np.cumsum([0, *(len(page.spans) for page in self._pages)]).tolist()
        first = {id(page): begin for page, begin in zip(self._pages, begins, strict=False)}
        self._all, self._shown = (
            np.array([first[id(row.page)] + row.place for row in some], dtype=np.intp) for some in (rows, shown)
        )

    def of(self, selector: SeriesSelector) -> list[OverviewItem]:
        """The items that a selector takes."""
        return [item for item, series in self.items.items() if selector.takes((*item, series.gauge))]

    def rates(self, items: Sequence[OverviewItem]) -> Values:
        """The sum of several counters per second; NaN where one of them cannot be told.

        Of an item without a series nothing is stored, which is zero where it was watched.
        """
        return self._laid(items, lambda page, series: page.rates(series))[self._shown]

    def highest(self, items: Sequence[OverviewItem], mean: Values) -> Values:
        """The highest rate that one poll is known to have had in each stretch, at least its mean.

        Of several counters the highest of one alone: the polls of their peaks need not be the same.
        """
        most = self._laid(items, _most, np.fmax)[self._shown]
        return np.where(np.isnan(mean), np.nan, np.fmax(mean, most))

    def levels(self, item: OverviewItem) -> Values:
        """A gauge; NaN where it was not kept."""
        return self._laid([item], lambda page, series: series.totals)[self._all]

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
        return np.concatenate(sums) if sums else np.zeros(0)


def _most(page: HistoryPage, series: StoredSeries) -> Values:
    """The highest rates that roll-ups keep; of polls there is nothing beyond their own."""
    return series.mosts if page.resolution != "poll" else np.full(len(page.spans), np.nan)
