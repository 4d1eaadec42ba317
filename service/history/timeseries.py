"""time_series(): named figures over time. Gaps and unknown values are None, never zero."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from collectors.model import Snapshot
from collectors.registry import collectors
from service.history.metric_catalog import NAMED, Caches
from service.store.figures.codec import Values
from service.store.ingest.samples import IMPACT, LEVELS, key_of
from service.store.queries.history import FINER, WIDTHS
from service.store.queries.series import HistoryPage, SeriesSelector, StoredSeries
from service.store.queries.spans import moments
from service.store.repository import Repository

RequestedResolution = Literal["auto", "poll", "5m", "1h"]
TOLERANCE = 1000
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One series: a value for each time, None if unknown. `of` is the child, cache, place or event."""

    metric: str
    title: str
    unit: str
    of: str | None
    values: tuple[float | None, ...]
    highest: tuple[float | None, ...] | None
    """The highest value of any one poll within each time of roll-ups; None of polls, which have one value each."""


@dataclass(frozen=True, slots=True)
class TimeSeriesSet:
    """Series over the same times. `seconds` is the watched time for each, None in a gap."""

    database: str
    resolution: str
    begin: datetime
    end: datetime
    times: tuple[datetime, ...]
    seconds: tuple[float | None, ...]
    series: tuple[TimeSeries, ...]
    cursor: str | None
    known: tuple[str, ...] = ()
    """The possible values of `of` here: every child, cache, place and event of the requested metrics."""


def time_series(
    store: Repository,
    database: str,
    metrics: Sequence[str],
    begin: datetime,
    end: datetime,
    resolution: RequestedResolution = "auto",
    of: Sequence[str] = (),
    caches: Caches | None = None,
    frame: Snapshot | None = None,
    cursor: str | None = None,
    limit: int = 1000,
) -> TimeSeriesSet:
    """Named figures of a database, at most `limit` times at once. `of` keeps only those series. Raises BadCursor.

    A counter that never changed is only known from the rows of `frame`, a snapshot of the database. If `auto`
    chooses roll-ups and there is none yet, finer figures are used.
    """
    names = list(dict.fromkeys(metrics))
    wanted = [NAMED[name].selector for name in names]
    points = _points(store, database, wanted, begin, end, resolution, cursor, limit)
    times, places = _with_gaps(points)
    series = [*points.series, *_still(points, wanted, frame)]
    before = _levels_before(store, database, points, series)
    labelled = list(_labelled(names, series, caches or {}))
    found = [
        _told_of(name, label, points, stored, places, before)
        for name, stored, label in labelled
        if label is None or is_of(label, of)
    ]
    seconds = np.append(points.spans.intervals, np.nan)[places]
    return TimeSeriesSet(
        database,
        points.resolution,
        begin,
        end,
        times,
        _told(seconds),
        tuple(found),
        points.cursor,
        tuple(sorted({label for _, _, label in labelled if label is not None})),
    )


def _labelled(
    names: Sequence[str], series: Sequence[StoredSeries], caches: Caches
) -> Iterator[tuple[str, StoredSeries, str | None]]:
    """Each metric with each of its series, and the subject of each."""
    by_column: dict[tuple[str, str], list[StoredSeries]] = defaultdict(list)
    for stored in series:
        by_column[stored.view, stored.column].append(stored)
    for name in names:
        selector = NAMED[name].selector
        for stored in by_column[selector.view, selector.column]:
            if _is(selector, stored):
                yield name, stored, NAMED[name].of(stored.key, caches)


def _points(
    store: Repository,
    database: str,
    wanted: list[SeriesSelector],
    begin: datetime,
    end: datetime,
    resolution: RequestedResolution,
    cursor: str | None,
    limit: int,
) -> HistoryPage:
    points = store.history.points(database, wanted, begin, end, resolution, cursor, limit)
    while resolution == "auto" and not points.spans and points.resolution in FINER:
        finer = FINER[points.resolution]
        points = store.history.points(database, wanted, begin, end, finer, cursor, limit)
    return points


def _with_gaps(points: HistoryPage) -> tuple[tuple[datetime, ...], NDArray[np.intp]]:
    """The time of every span, and one more if a stretch before it was not watched; their places, past the end of a gap."""
    spans, width = points.spans, 1000 * WIDTHS.get(points.resolution, 0)
    watched = np.nan_to_num(spans.intervals)
    since = spans.times - (0 if width else np.rint(1000 * watched).astype(np.int64))
    reached = spans.times[:-1] + width
    gap = (since[1:] > reached + TOLERANCE) & (bool(width) | (watched[1:] > 0))
    before = gap.nonzero()[0] + 1
    times = np.insert(spans.times, before, reached[gap] if width else since[1:][gap])
    places = np.insert(np.arange(len(spans)), before, len(spans))
    return tuple(moments(times)), places


def _is(selector: SeriesSelector, series: StoredSeries) -> bool:
    return selector.takes((series.view, series.name, series.column, series.gauge))


def is_of(label: str, of: Sequence[str]) -> bool:
    """Whether a series is requested: by its whole name, or by its child or cache."""
    return not of or any(
        label == wanted or label.startswith(f"{wanted} (") or label.endswith(f"({wanted})") for wanted in of
    )


def _told_of(
    name: str,
    label: str | None,
    points: HistoryPage,
    series: StoredSeries,
    places: NDArray[np.intp],
    before: Mapping[tuple[str, str, str], float],
) -> TimeSeries:
    """The figures at these places among the spans. A place past the end is a gap."""
    named = NAMED[name]
    if series.gauge:
        values = most = _levels(points, series, before.get((series.view, series.name, series.column)), places)
    else:
        rates = points.rates(series)
        reached = np.where(np.isnan(rates), np.nan, np.fmax(rates, series.mosts))
        values, most = (np.append(each * named.scale, np.nan)[places] for each in (rates, reached))
    highest = None if points.resolution == "poll" else _told(most)
    return TimeSeries(name, named.title, named.unit, label, _told(values), highest)


def _told(values: Values) -> tuple[float | None, ...]:
    return tuple(None if value != value else value for value in values.tolist())


def _levels(points: HistoryPage, series: StoredSeries, level: float | None, places: NDArray[np.intp]) -> Values:
    """A level stays what it was until a poll that saw another."""
    seen = np.append(np.nan if level is None else level, series.totals)
    known = np.maximum.accumulate(np.where(np.isnan(seen), 0, np.arange(len(seen))))[1:]
    unread = np.isnan(points.covered(series.view, "", "")) & np.isnan(series.totals)
    unread |= points.spans.lack(series.view)
    return np.append(np.where(unread, np.nan, seen[known]), np.nan)[places]


def _still(points: HistoryPage, wanted: Sequence[SeriesSelector], frame: Snapshot | None) -> Iterator[StoredSeries]:
    """Series without stored figures, because the counter did not change or the level stayed."""
    known = {(series.view, series.name, series.column) for series in points.series}
    for view, column in dict.fromkeys((metric.view, metric.column) for metric in wanted):
        gauge = column in LEVELS.get(view, ())
        for key in _keys(view, frame):
            if (view, key, column) not in known:
                yield points.still(view, key, column, gauge)


def _keys(view: str, frame: Snapshot | None) -> Sequence[str]:
    """The keys of a view's rows, as they are stored."""
    if view == IMPACT:
        return ["{}"]
    return [key_of(collectors()[view], row) for row in frame.rows(view)] if frame else []


def _levels_before(
    store: Repository, database: str, points: HistoryPage, series: Sequence[StoredSeries]
) -> Mapping[tuple[str, str, str], float]:
    """The last known level of each gauge at the begin, by view, key and column."""
    gauges = {(series.view, series.column) for series in series if series.gauge}
    if not gauges or not points.spans or points.resolution == "1h":
        return {}
    wanted = [SeriesSelector(view, column) for view, column in sorted(gauges)]
    return store.history.levels_before(database, wanted, points.spans[0].at, points.resolution)
