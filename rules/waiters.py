"""Who waits and for which cache: the sampled sessions of an interval, counted by what they have in common.

A row cache mutex or lock names its cache in P1. A latch names the address of its child in P1RAW, which leads through
v$latch_children and the map to the cache.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Row, number, text
from rules.cache_map import CacheMap

MINIMUM_WAITERS = 10
"""Fewer sampled waiters than this tell nothing about which cache or who."""
BY_CACHE_ID = (ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT)
RESULT_CACHE = "result cache"
"""Where a waiter of the result cache latch is counted, beside the dictionary caches."""
LATCH_EVENT = "latch: row cache objects"
EXCLUSIVE = 5


@dataclass(frozen=True, slots=True)
class Waiter:
    """One session waiting in one look."""

    event: str
    cache: str
    """Cache name, or unknown."""
    sql_id: str
    module: str
    program: str
    container: str
    blocker: str
    exclusive: bool
    """A row cache lock requested in exclusive mode."""


@dataclass(frozen=True, slots=True)
class SampledWaiters:
    """Every waiter of the row cache in an interval, over so many looks."""

    looks: int
    waiters: tuple[Waiter, ...]

    def of(self, event: str | None = None) -> tuple[Waiter, ...]:
        """Those of one event, or all."""
        return tuple(waiter for waiter in self.waiters if event in (None, waiter.event))

    def caches(self, event: str | None = None) -> Counter[str]:
        return Counter(sorted(waiter.cache for waiter in self.of(event)))

    def groups(self) -> list[tuple[Waiter, int]]:
        """Equal waiters counted, the most first."""
        return sorted(Counter(self.waiters).items(), key=lambda item: (-item[1], str(item[0])))


def crowd_of(delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None]) -> SampledWaiters | None:
    """The sampled waiters for the row cache, or None when nobody looked. `children`: child numbers by latch address."""
    rows = delta.rows("v$session")
    looks = {row.get("sample") for row in rows}
    if not looks:
        return None
    return SampledWaiters(len(looks), tuple(_waiters(delta, caches, children, rows)))


def _waiters(
    delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None], rows: tuple[Row, ...]
) -> Iterator[Waiter]:
    cache_of = cache_namer(delta, caches, children)
    for row in rows:
        event, cache = text(row.get("event")), cache_of(row)
        if cache is None:
            continue
        yield Waiter(
            event=event or "",
            cache=cache,
            sql_id=text(row.get("sql_id")) or "",
            module=text(row.get("module")) or "",
            program=text(row.get("program")) or "",
            container=text(row.get("con_id")) or "",
            blocker=text(row.get("blocking_session")) or "",
            exclusive=event == ROW_CACHE_LOCK_EVENT and number(row.get("p3")) == EXCLUSIVE,
        )


def cache_namer(
    delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None]
) -> Callable[[Row], str | None]:
    """What tells the cache that a waiting session waits for: its name, unknown, or None for a wait that is none of ours."""
    # Subordinates share their parent's id, and the id is called by its parent.
    parents_last = sorted(delta.rows("v$rowcache"), key=lambda row: (row.get("type") == "PARENT", str(row)))
    names = {number(row.get("cache#")): text(row.get("parameter")) for row in parents_last}
    result_cache = delta.cell("v$latchname", "name", RESULT_CACHE_LATCH, "latch#")

    def cache_of(row: Row) -> str | None:
        event = text(row.get("event"))
        if event in BY_CACHE_ID:
            return names.get(number(row.get("p1"))) or "unknown"
        if event == LATCH_EVENT:
            child = children.get(text(row.get("p1raw")))
            return "unknown" if child is None else caches.name(int(child))
        if event == "latch free" and result_cache is not None and number(row.get("p2")) == result_cache:
            return RESULT_CACHE
        return None

    return cache_of
