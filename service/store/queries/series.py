"""What questions about figures ask for and get: which series, over which spans, as arrays of one number for each span."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from service.store.figures.codec import Values
from service.store.ingest.samples import SampleItem

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


class HistorySpan(NamedTuple):
    """One stretch that was watched: a poll (`at` is the end of its interval) or a bucket (`at` is its begin).

    `seconds` is what its figures cover, None or 0 where there is no interval. `missing` has views, and single counters
    as "view key column".
    """

    at: datetime
    seconds: float | None
    polls: int
    missing: frozenset[str]
    why: str | None = None

    def lacks(self, view: str, key: str, column: str) -> bool:
        """Whether the figure could not be told here."""
        return view in self.missing or f"{view} {key} {column}" in self.missing


@dataclass(frozen=True, slots=True, eq=False)
class StoredSeries:
    """The stored figures of one item, one for each span of its page. Where a span has none, the counter stood still.

    `totals` is what a counter grew by, or the level of a gauge; `mosts` the highest rate per second, or the highest level.
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
    """Series over a stretch of time. `cursor` asks for what follows, None where that is all."""

    resolution: Resolution
    begin: datetime
    end: datetime
    spans: tuple[HistorySpan, ...]
    series: tuple[StoredSeries, ...]
    cursor: str | None = None

    @cached_property
    def seconds(self) -> Values:
        """What each span covers; NaN where it has no interval."""
        return np.array([span.seconds or np.nan for span in self.spans], dtype=np.float64)

    @cached_property
    def _nothing(self) -> Values:
        return np.full(len(self.spans), np.nan)

    @cached_property
    def _missing(self) -> frozenset[str]:
        return frozenset[str]().union(*{span.missing for span in self.spans})

    @cached_property
    def _covered(self) -> dict[str, Values]:
        return {}

    def covered(self, view: str, name: str, column: str) -> Values:
        """The seconds of each span over which this counter is known; NaN where it could not be told."""
        if view not in self._covered:
            self._covered[view] = self._without(self.seconds, view)
        single = f"{view} {name} {column}"
        return self._without(self._covered[view], single) if single in self._missing else self._covered[view]

    def _without(self, seconds: Values, missing: str) -> Values:
        if missing not in self._missing:
            return seconds
        return np.where([missing in span.missing for span in self.spans], np.nan, seconds)

    def rates(self, series: StoredSeries) -> Values:
        """A counter per second over each span; 0 where it stood still, NaN where it cannot be told."""
        covered = self.covered(series.view, series.name, series.column)
        return np.where(np.isnan(series.totals), 0.0, series.totals) / covered

    def still(self, view: str, name: str, column: str, gauge: bool = False) -> StoredSeries:
        """A series of which nothing is stored here: the counter stood still, or the level stayed."""
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


@dataclass(frozen=True, slots=True)
class Break:
    """A poll that had no interval, and why."""

    at: datetime
    why: str
    first_poll: bool
    """Nothing was there to compare with: no reason for what was before it."""


_KNOWN: dict[str, frozenset[str]] = {}


def missing_in(text: str) -> frozenset[str]:
    """What a poll could not tell, from how it is stored. The same few texts stand in every poll, so they are read once."""
    if text not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[text] = frozenset(" ".join(load) for load in json.loads(text))
    return _KNOWN[text]


def chosen(selectors: Sequence[SeriesSelector], items: Mapping[int, SampleItem]) -> dict[int, SampleItem]:
    """Those items that a selector takes, by number."""
    by_column: dict[tuple[str, str], list[SeriesSelector]] = {}
    for selector in selectors:
        by_column.setdefault((selector.view, selector.column), []).append(selector)
    return {
        number: item
        for number, item in items.items()
        if any(selector.takes(item) for selector in by_column.get((item[0], item[2]), ()))
    }
