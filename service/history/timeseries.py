"""time_series(): named figures over time. Gaps and unknown values are None, never zero."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Snapshot
from collectors.registry import collectors
from rules.baseline import Scope, UsualRange
from service.history.baselines import SOURCES, slots
from service.state.window import Window
from service.store.episodes import Baseline
from service.store.figures import Values
from service.store.record import IMPACT, LEVELS, key_of
from service.store.repository import Repository
from service.store.series import FINER, WIDTHS, HistoryPage, SeriesSelector, StoredSeries, moments

# The figures of the history by their names. A new one needs a line here, and one in docs/rest.md.

SeriesKey = Mapping[str, Any]
Caches = Mapping[int, str]
"""The cache behind each child latch, if it is known."""
MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class CatalogMetric:
    """One figure: its description, its unit, its stored column, and the names of its series."""

    title: str
    unit: str
    selector: SeriesSelector
    of: Callable[[SeriesKey, Caches], str | None] = lambda key, caches: None
    scale: float = 1.0


def _child(key: SeriesKey, caches: Caches) -> str:
    number = int(key["child#"])
    return f"child {number} ({caches.get(number, 'unknown')})"


def _cache(key: SeriesKey, caches: Caches) -> str:
    name = str(key.get("parameter") or f"cache {key.get('cache#')}")
    return name if key.get("type") != "SUBORDINATE" else f"{name} (subordinate {key.get('subordinate#')})"


def _by(member: str) -> Callable[[SeriesKey, Caches], str]:
    return lambda key, caches: str(key.get(member))


def _children(title: str, column: str, unit: str = "per second", scale: float = 1.0) -> CatalogMetric:
    return CatalogMetric(f"{title} of a child latch", unit, SeriesSelector("v$latch_children", column), _child, scale)


def _latch(title: str, column: str, unit: str = "per second", scale: float = 1.0) -> CatalogMetric:
    name = {"name": ROW_CACHE_LATCH}
    return CatalogMetric(
        f"{title} of all row cache child latches", unit, SeriesSelector("v$latch", column, name), scale=scale
    )


def _caches(title: str, column: str, unit: str = "per second") -> CatalogMetric:
    return CatalogMetric(f"{title} of a dictionary cache", unit, SeriesSelector("v$rowcache", column), _cache)


def _places(title: str, column: str) -> CatalogMetric:
    of = SeriesSelector("v$latch_misses", column, {"parent_name": ROW_CACHE_LATCH})
    return CatalogMetric(title, "per second", of, _by("location"))


def _event(title: str, column: str, unit: str, scale: float = 1.0) -> CatalogMetric:
    return CatalogMetric(
        f"{title} of a wait event", unit, SeriesSelector("v$system_event", column), _by("event"), scale
    )


def _lock(title: str, column: str, unit: str, scale: float = 1.0) -> CatalogMetric:
    name = {"event": ROW_CACHE_LOCK_EVENT}
    return CatalogMetric(
        f"{title} for row cache lock", unit, SeriesSelector("v$system_event", column, name), scale=scale
    )


def _work(title: str, statistic: str) -> CatalogMetric:
    return CatalogMetric(title, "per second", SeriesSelector("v$sysstat", "value", {"name": statistic}))


def _time(title: str, statistic: str) -> CatalogMetric:
    unit = "seconds per second"
    return CatalogMetric(
        title, unit, SeriesSelector("v$sys_time_model", "value", {"stat_name": statistic}), scale=MICRO
    )


NAMED: Mapping[str, CatalogMetric] = {
    "child_gets": _children("gets", "gets"),
    "child_misses": _children("misses", "misses"),
    "child_sleeps": _children("sleeps", "sleeps"),
    "child_spin_gets": _children("spin gets", "spin_gets"),
    "child_wait_seconds": _children("time slept", "wait_time", "seconds per second", MICRO),
    "latch_gets": _latch("gets", "gets"),
    "latch_misses": _latch("misses", "misses"),
    "latch_sleeps": _latch("sleeps", "sleeps"),
    "latch_wait_seconds": _latch("time slept", "wait_time", "seconds per second", MICRO),
    "cache_gets": _caches("gets", "gets"),
    "cache_getmisses": _caches("getmisses", "getmisses"),
    "cache_modifications": _caches("modifications", "modifications"),
    "cache_count": _caches("entries", "count", "entries"),
    "cache_usage": _caches("entries that hold valid data", "usage", "entries"),
    "location_sleeps": _places("sleeps while a place held the row cache latch", "sleep_count"),
    "location_waiter_sleeps": _places("sleeps of waiters at a place, for the row cache latch", "wtr_slp_count"),
    "mutex_sleeps": CatalogMetric(
        "sleeps on row cache mutexes at a place",
        "per second",
        SeriesSelector("v$mutex_sleep", "sleeps"),
        _by("location"),
    ),
    "mutex_wait_seconds": CatalogMetric(
        "time waited for row cache mutexes at a place",
        "seconds per second",
        SeriesSelector("v$mutex_sleep", "wait_time"),
        _by("location"),
        MICRO,
    ),
    "lock_waits": _lock("waits", "total_waits", "per second"),
    "lock_wait_seconds": _lock("time waited", "time_waited_micro", "seconds per second", MICRO),
    "event_waits": _event("waits", "total_waits", "per second"),
    "event_wait_seconds": _event("time waited", "time_waited_micro", "seconds per second", MICRO),
    "share_of_db_time": CatalogMetric(
        "share of DB time lost in row cache waits", "ratio", SeriesSelector(IMPACT, "share_of_db_time")
    ),
    "waiting_sessions": CatalogMetric(
        "sessions that wait for the row cache on average", "sessions", SeriesSelector(IMPACT, "waiting_sessions")
    ),
    "executions": _work("executions", "execute count"),
    "parses": _work("parses", "parse count (total)"),
    "hard_parses": _work("hard parses", "parse count (hard)"),
    "logons": _work("logons", "logons cumulative"),
    "commits": _work("commits by users", "user commits"),
    "rollbacks": _work("rollbacks by users", "user rollbacks"),
    "db_time": _time("DB time", "DB time"),
    "db_cpu": _time("DB CPU", "DB CPU"),
}

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


# usual_over(): the usual figures of a database hour by hour over a window, for a quiet line in its charts.

HOUR = timedelta(hours=1)
MOST_HOURS = 24 * 92
METRICS: Mapping[str, str] = {
    "row_cache_wait_share": "share_of_db_time",
    "row_cache_waiting_sessions": "waiting_sessions",
    "latch_gets_per_second": "latch_gets",
    "db_time_per_second": "db_time",
    "executions_per_second": "executions",
    "hard_parses_per_second": "hard_parses",
    "logons_per_second": "logons",
}
"""Figures whose values are those of a metric of the history, by its name there."""


def hours_of(window: Window) -> tuple[datetime, ...]:
    """The begin of every hour that a window touches, at most three months of them."""
    first = window.begin.replace(minute=0, second=0, microsecond=0)
    count = min(int((window.end - first) / HOUR) + 1, MOST_HOURS)
    return tuple(first + place * HOUR for place in range(count))


def usual_over(
    store: Repository, database: str, hours: Sequence[datetime]
) -> Mapping[str, tuple[UsualRange | None, ...]]:
    """The usual value in each hour, by figure. None in an hour without enough history; a figure without any is left out."""
    slotted = [slots(at) for at in hours]
    kept: dict[str, dict[int, Baseline]] = {figure: {} for figure in SOURCES}
    for baseline in store.baselines.at(database, sorted({slot for each in slotted for slot in each})):
        if baseline.metric in kept:
            kept[baseline.metric][baseline.hour_of_week] = baseline
    found = {figure: tuple(_closest(known, each) for each in slotted) for figure, known in kept.items()}
    return {figure: values for figure, values in found.items() if any(values)}


def _closest(known: Mapping[int, Baseline], scopes: Mapping[int, Scope]) -> UsualRange | None:
    for slot, scope in scopes.items():
        if (kept := known.get(slot)) is not None:
            return UsualRange(median=kept.median, low=kept.low, high=kept.high, samples=kept.n, scope=scope)
    return None
