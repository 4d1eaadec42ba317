"""time_series(): named figures over time, gaps and unknowns as None and never as zero."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from collectors.model import Snapshot
from collectors.registry import collectors
from service.history.metric_catalog import NAMED, Caches, CatalogMetric
from service.store.ingest.samples import IMPACT, LEVELS, key_of
from service.store.queries.history import FINER, WIDTHS, HistoryPage, HistorySpan, SeriesSelector, StoredSeries
from service.store.repository import Repository

RequestedResolution = Literal["auto", "poll", "5m", "1h"]
TOLERANCE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One series: a value for each time, None where it cannot be told. `of` is the child, cache, place or event."""

    metric: str
    title: str
    unit: str
    of: str | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimeSeriesSet:
    """Series over the same times. `seconds` is what was watched for each time, None where nobody watched."""

    database: str
    resolution: str
    begin: datetime
    end: datetime
    times: tuple[datetime, ...]
    seconds: tuple[float | None, ...]
    series: tuple[TimeSeries, ...]
    cursor: str | None
    known: tuple[str, ...] = ()
    """What `of` can name here: every child, cache, place and event of the metrics asked for."""


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
    """Named figures of a database, at most `limit` times at once; `of` keeps those series alone. Raises BadCursor.

    A counter that stood still throughout is only known by the rows of `frame`, a snapshot of the database. Where `auto`
    chooses roll-ups and none is there yet, finer figures are taken.
    """
    names = list(dict.fromkeys(metrics))
    wanted = [NAMED[name].selector for name in names]
    points = _points(store, database, wanted, begin, end, resolution, cursor, limit)
    times = list(_with_gaps(points))
    spans = [span for _, span in times]
    series = [*points.series, *_still(points, wanted, frame)]
    before = _levels_before(store, database, points, series)
    labelled = [
        (name, stored, NAMED[name].of(stored.key, caches or {}))
        for name in names
        for stored in series
        if _is(NAMED[name].selector, stored)
    ]
    found = [
        TimeSeries(name, NAMED[name].title, NAMED[name].unit, label, _values(NAMED[name], series, spans, before))
        for name, series, label in labelled
        if label is None or is_of(label, of)
    ]
    return TimeSeriesSet(
        database,
        points.resolution,
        begin,
        end,
        tuple(at for at, _ in times),
        tuple(span.seconds if span else None for span in spans),
        tuple(found),
        points.cursor,
        tuple(sorted({label for _, _, label in labelled if label is not None})),
    )


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


def _with_gaps(points: HistoryPage) -> Iterator[tuple[datetime, HistorySpan | None]]:
    """Every span, and one time without one where a stretch was not watched."""
    width = WIDTHS.get(points.resolution)
    last: datetime | None = None
    for span in points.spans:
        since = span.at - timedelta(seconds=0 if width else span.seconds or 0)
        reached = None if last is None else last + timedelta(seconds=width or 0)
        if reached is not None and since > reached + TOLERANCE and (width or span.seconds):
            yield (reached if width else since), None
        yield span.at, span
        last = span.at


def _is(selector: SeriesSelector, series: StoredSeries) -> bool:
    return selector.takes((series.view, series.name, series.column, series.gauge))


def is_of(label: str, of: Sequence[str]) -> bool:
    """Whether a series is asked for: by its whole name, or by the child or the cache in it."""
    return not of or any(
        label == wanted or label.startswith(f"{wanted} (") or label.endswith(f"({wanted})") for wanted in of
    )


def _values(
    named: CatalogMetric,
    series: StoredSeries,
    spans: Sequence[HistorySpan | None],
    before: Mapping[tuple[str, str, str], float],
) -> tuple[float | None, ...]:
    if series.gauge:
        return tuple(_levels(series, spans, before.get((series.view, series.name, series.column))))
    return tuple(
        None if (value := series.at(span) if span else None) is None else value * named.scale for span in spans
    )


def _levels(series: StoredSeries, spans: Sequence[HistorySpan | None], level: float | None) -> Iterator[float | None]:
    """A level stays what it was until a poll that saw another."""
    for span in spans:
        seen = series.at(span) if span else None
        level = level if seen is None else seen
        unread = span is None or series.view in span.missing or (seen is None and not span.seconds)
        yield None if unread else level


def _still(points: HistoryPage, wanted: Sequence[SeriesSelector], frame: Snapshot | None) -> Iterator[StoredSeries]:
    """Series of which nothing is stored here, because the counter stood still or the level stayed."""
    known = {(series.view, series.name, series.column) for series in points.series}
    for view, column in dict.fromkeys((metric.view, metric.column) for metric in wanted):
        gauge = column in LEVELS.get(view, ())
        for key in _keys(view, frame):
            if (view, key, column) not in known:
                yield StoredSeries(view, json.loads(key), column, gauge, {}, key)


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
