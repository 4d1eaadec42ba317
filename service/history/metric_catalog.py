"""The figures of the history by their names. A new one needs a line here, and one in docs/rest.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT
from service.store.ingest.samples import IMPACT
from service.store.queries.series import SeriesSelector

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
