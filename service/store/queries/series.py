"""Requests and results for figures: which series, over which spans, as arrays of one number per span."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np

from collectors.model import ObstacleKind
from service.store.figures.codec import Values
from service.store.ingest.samples import SampleItem
from service.store.queries.spans import HistorySpans

Resolution = Literal["poll", "5m", "1h"]


@dataclass(frozen=True, slots=True)
class SeriesSelector:
    """Which figures: a column of a view; of the rows whose key has these members, or of every row."""

    view: str
    column: str
    match: Mapping[str, object] = field(default_factory=dict)

    def takes(self, item: SampleItem) -> bool:
        """Whether the item is one of them."""
        view, key, column, _ = item
        if (view, column) != (self.view, self.column):
            return False
        return not self.match or self.match.items() <= json.loads(key).items()


@dataclass(frozen=True, slots=True, eq=False)
class StoredSeries:
    """The stored figures of one item, one for each span of its page. If a span has none, the counter did not change.

    `totals` is the growth of a counter, or the level of a gauge; `mosts` the highest rate per second, or the highest level.
    """

    view: str
    key: Mapping[str, Any]
    column: str
    gauge: bool
    name: str
    """The key as it is stored."""
    totals: Values
    mosts: Values

    def last(self) -> float | None:
        """The newest figure that is stored."""
        known = self.totals[~np.isnan(self.totals)]
        return float(known[-1]) if len(known) else None


@dataclass(frozen=True)
class HistoryPage:
    """Series over a stretch of time. `cursor` asks for the rest, None if that is all."""

    resolution: Resolution
    begin: datetime
    end: datetime
    spans: HistorySpans
    series: tuple[StoredSeries, ...]
    cursor: str | None = None

    @cached_property
    def _nothing(self) -> Values:
        return np.full(len(self.spans), np.nan)

    @cached_property
    def _covered(self) -> dict[str, Values]:
        return {}

    def covered(self, view: str, name: str, column: str) -> Values:
        """The seconds of each span over which this counter is known. NaN if it is unknown."""
        if view not in self._covered:
            self._covered[view] = self._without(self.spans.seconds, view)
        return self._without(self._covered[view], f"{view} {name} {column}")

    def _without(self, seconds: Values, missing: str) -> Values:
        return np.where(self.spans.lack(missing), np.nan, seconds) if missing in self.spans.missing else seconds

    def rates(self, series: StoredSeries) -> Values:
        """A counter per second over each span. 0 if it did not change, NaN if it is unknown."""
        covered = self.covered(series.view, series.name, series.column)
        return np.where(np.isnan(series.totals), 0.0, series.totals) / covered

    def still(self, view: str, name: str, column: str, gauge: bool = False) -> StoredSeries:
        """A series without stored figures: the counter did not change, or the level stayed."""
        return StoredSeries(view, json.loads(name), column, gauge, name, self._nothing, self._nothing)


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll as it was kept."""

    at: datetime
    seconds: float | None
    severity: str
    share: float | None
    waiting: float | None
    missing: frozenset[str]
    startup_time: str | None
    why: str | None
    kind: ObstacleKind | None
    """Of `why`."""


@dataclass(frozen=True, slots=True)
class Break:
    """A poll that had no interval, and why."""

    at: datetime
    why: str
    kind: ObstacleKind


def chosen(selectors: Sequence[SeriesSelector], items: Mapping[int, SampleItem]) -> dict[int, SampleItem]:
    """The items that a selector matches, by number."""
    by_column: dict[tuple[str, str], list[SeriesSelector]] = {}
    for selector in selectors:
        by_column.setdefault((selector.view, selector.column), []).append(selector)
    return {
        number: item
        for number, item in items.items()
        if any(selector.takes(item) for selector in by_column.get((item[0], item[2]), ()))
    }
