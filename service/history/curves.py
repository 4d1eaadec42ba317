"""time_series(): named figures over time. Gaps and unknown values are None, never zero.

Chosen figures are columns of each poll and hour. Details, such as those of a child latch, come from the snapshots around: once a
minute, and at each poll of a problem, for the first days; later every five minutes, then every hour.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Snapshot
from service.state.time_window import Window
from service.store.polls import CurvePage, Values, moments
from service.store.repository import Repository
from service.store.snapshots import Details, DetailSeries

# The figures of the history by their names. A new one needs a line here, and one in docs/rest.md.

SeriesKey = Mapping[str, Any]
Caches = Mapping[int, str]
"""The cache behind each child latch, if it is known."""
MICRO = 1e-6
PER_SECOND, SECONDS = "per second", "seconds per second"


@dataclass(frozen=True, slots=True)
class Named:
    """One figure: its description and unit; the column of polls and hours that it is, or a column of a view as details.

    `match`: what members of the key of its rows may be; `of`: the name of one, from its key. `level`: a gauge, no counter.
    """

    title: str
    unit: str = PER_SECOND
    figure: str = ""
    view: str = ""
    column: str = ""
    match: Mapping[str, Collection[object]] = field(default_factory=dict)
    of: Callable[[SeriesKey, Caches], str | None] = lambda key, caches: None
    scale: float = 1.0
    level: bool = False

    def takes(self, series: DetailSeries) -> bool:
        """Whether these details of its column are some of its own."""
        return all(series.key.get(name) in allowed for name, allowed in self.match.items())


def _child(key: SeriesKey, caches: Caches) -> str:
    number = int(key["child#"])
    return f"child {number} ({caches.get(number, 'unknown')})"


def _cache(key: SeriesKey, caches: Caches) -> str:
    name = str(key.get("parameter") or f"cache {key.get('cache#')}")
    return name if key.get("type") != "SUBORDINATE" else f"{name} (subordinate {key.get('subordinate#')})"


def _by(member: str) -> Callable[[SeriesKey, Caches], str]:
    return lambda key, caches: str(key.get(member))


def _children(title: str, column: str, unit: str = PER_SECOND, scale: float = 1.0) -> Named:
    return Named(f"{title} of a child latch", unit, view="v$latch_children", column=column, of=_child, scale=scale)


def _caches(title: str, column: str, unit: str = PER_SECOND) -> Named:
    level = unit != PER_SECOND
    return Named(f"{title} of a dictionary cache", unit, view="v$rowcache", column=column, of=_cache, level=level)


def _places(title: str, column: str) -> Named:
    of = {"parent_name": (ROW_CACHE_LATCH,)}
    return Named(title, view="v$latch_misses", column=column, match=of, of=_by("location"))


def _events(title: str, column: str, unit: str = PER_SECOND, scale: float = 1.0, event: str = "") -> Named:
    match = {"event": (event,)} if event else {}
    of = _by("event") if not event else lambda key, caches: None
    return Named(title, unit, view="v$system_event", column=column, match=match, of=of, scale=scale)


OF_ALL = "of all row cache child latches"
LATCH = {"name": (ROW_CACHE_LATCH,)}
NAMED: Mapping[str, Named] = {
    "child_gets": _children("gets", "gets"),
    "child_misses": _children("misses", "misses"),
    "child_sleeps": _children("sleeps", "sleeps"),
    "child_spin_gets": _children("spin gets", "spin_gets"),
    "child_wait_seconds": _children("time slept", "wait_time", SECONDS, MICRO),
    "latch_gets": Named(f"gets {OF_ALL}", figure="latch_gets"),
    "latch_misses": Named(f"misses {OF_ALL}", figure="latch_misses"),
    "latch_sleeps": Named(f"sleeps {OF_ALL}", figure="sleeps"),
    "latch_wait_seconds": Named(
        f"time slept {OF_ALL}", SECONDS, view="v$latch", column="wait_time", match=LATCH, scale=MICRO
    ),
    "cache_gets": _caches("gets", "gets"),
    "cache_getmisses": _caches("getmisses", "getmisses"),
    "cache_modifications": _caches("modifications", "modifications"),
    "cache_count": _caches("entries", "count", "entries"),
    "cache_usage": _caches("entries that hold valid data", "usage", "entries"),
    "location_sleeps": _places("sleeps while a place held the row cache latch", "sleep_count"),
    "location_waiter_sleeps": _places("sleeps of waiters at a place, for the row cache latch", "wtr_slp_count"),
    "mutex_sleeps": Named(
        "sleeps on row cache mutexes at a place", view="v$mutex_sleep", column="sleeps", of=_by("location")
    ),
    "mutex_wait_seconds": Named(
        "time waited for row cache mutexes at a place",
        SECONDS,
        view="v$mutex_sleep",
        column="wait_time",
        of=_by("location"),
        scale=MICRO,
    ),
    "lock_waits": _events("waits for row cache lock", "total_waits", event=ROW_CACHE_LOCK_EVENT),
    "lock_wait_seconds": Named("time waited for row cache lock", SECONDS, figure="lock_time"),
    "event_waits": _events("waits of a wait event", "total_waits"),
    "event_wait_seconds": _events("time waited of a wait event", "time_waited_micro", SECONDS, MICRO),
    "share_of_db_time": Named("share of DB time lost in row cache waits", "ratio", figure="share"),
    "waiting_sessions": Named("sessions that wait for the row cache on average", "sessions", figure="waiting"),
    "executions": Named("executions", figure="executions"),
    "parses": Named("parses", figure="parses"),
    "hard_parses": Named("hard parses", figure="hard_parses"),
    "logons": Named("logons", figure="logons"),
    "commits": Named("commits by users", figure="commits"),
    "rollbacks": Named("rollbacks by users", view="v$sysstat", column="value", match={"name": ("user rollbacks",)}),
    "db_time": Named("DB time", SECONDS, figure="db_time"),
    "db_cpu": Named("DB CPU", SECONDS, figure="db_cpu"),
}
ALWAYS = ("share", "waiting")
"""Figures of every database, even where none of their values is known."""
OF_LATCH = ("sleeps", "latch_gets")
"""The column that has sleeps of latch or mutexes, and the one that says whether the latch is in use."""

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
    """The highest value of any one poll within each step; None of polls, which have one value each, and of details."""


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
    newest: Snapshot | None = None,
    cursor: str | None = None,
    limit: int = 1000,
) -> TimeSeriesSet:
    """Named figures of a database, at most `limit` times at once. `of` keeps only those series. Raises BadCursor.

    `newest`: the last poll, whose snapshot may not be stored.
    """
    names = list(dict.fromkeys(metrics))
    figures = sorted(
        {NAMED[name].figure for name in names} - {""} | ({*OF_LATCH} if "latch_sleeps" in names else set())
    )
    page = store.history.page(database, figures, begin, end, resolution, cursor, limit)
    times, places = _with_gaps(page)
    wanted = [(NAMED[name].view, NAMED[name].column) for name in names if NAMED[name].view]
    since = min(page.begin, moments(page.begins[:1])[0]) if len(page) else page.begin
    found = store.snapshots.details(database, wanted, since, page.end, newest)
    series, known = [], set[str]()

    def at_times(values: Values) -> tuple[float | None, ...]:
        """The values at all times. None is unknown, or a gap."""
        return tuple(None if value != value else value for value in np.append(values, np.nan)[places].tolist())

    for name in names:
        for label, values, highest in _series_of(NAMED[name], page, found, caches or {}):
            known |= {label} if label else set()
            if label is None or is_of(label, of):
                of_polls = None if highest is None else at_times(highest)
                series.append(TimeSeries(name, NAMED[name].title, NAMED[name].unit, label, at_times(values), of_polls))
    seconds = at_times(page.seconds)
    listed = tuple(sorted(known))
    return TimeSeriesSet(database, page.resolution, begin, end, times, seconds, tuple(series), page.cursor, listed)


def _series_of(
    named: Named, page: CurvePage, found: Details, caches: Caches
) -> Iterator[tuple[str | None, Values, Values | None]]:
    """The name of each series of a figure, its values, and the highest of single polls in steps."""
    if named.figure:
        both = [page.values[named.figure], page.highest.get(named.figure)]
        if named.figure == OF_LATCH[0]:
            unused = np.isnan(page.values[OF_LATCH[1]])
            both = [None if each is None else np.where(unused, np.nan, each) for each in both]
        values, highest = both
        if values is not None and (named.figure in ALWAYS or not np.isnan(values).all()):
            yield None, values, highest
        return
    for series in found.series.get((named.view, named.column), ()):
        if named.takes(series):
            yield named.of(series.key, caches), detail(named, page, found, series), None


def detail(named: Named, page: CurvePage, found: Details, series: DetailSeries) -> Values:
    """The values of a series at the times of a page: rates over what each covers, or levels at its end."""
    if named.level:
        return found.levels(series, page.ends)
    rates = found.rates(series, page.begins, page.ends) * named.scale
    return np.where(np.isnan(page.seconds), np.nan, rates) if page.resolution == "poll" else rates


def _with_gaps(page: CurvePage) -> tuple[tuple[datetime, ...], NDArray[np.intp]]:
    """The time of every span, and one more if a stretch before it was not watched; their places, past the end of a gap."""
    rolled, watched = page.resolution != "poll", np.nan_to_num(page.seconds)
    reached, since = page.ends[:-1], page.begins[1:]
    gap = (since > reached + TOLERANCE) & (rolled | (watched[1:] > 0))
    before = gap.nonzero()[0] + 1
    times = np.insert(page.times, before, reached[gap] if rolled else since[gap])
    places = np.insert(np.arange(len(page)), before, len(page))
    return tuple(moments(times)), places


def is_of(label: str, of: Sequence[str]) -> bool:
    """Whether a series is requested: by its whole name, or by its child or cache."""
    return not of or any(
        label == wanted or label.startswith(f"{wanted} (") or label.endswith(f"({wanted})") for wanted in of
    )


# The hours of a window, for a quiet line of what is usual in its charts.

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
