"""Who waits and for which cache: the sampled sessions of an interval, grouped by what they have in common.

A row cache mutex or lock names its cache in P1. A latch names the address of its child in P1RAW, which leads through
v$latch_children and the map to the cache.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Delta, Row, number, text
from rules.cache_map import CacheMap
from rules.waited import LATCH_EVENT

MINIMUM_WAITERS = 10
"""Fewer sampled waiters do not show which cache it is or who waits."""
BY_CACHE_ID = (ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT)
RESULT_CACHE = "result cache"
"""The name under which waiters of the result cache latch are counted, beside the dictionary caches."""
EXCLUSIVE = 5
NOT_LISTED = "not listed in v$rowcache"


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
    """See `blocker_of`. Empty if Oracle does not say."""
    exclusive: bool
    """A row cache lock requested in exclusive mode."""


@dataclass(frozen=True, slots=True)
class SampledWaiters:
    """Every waiter of the row cache in an interval, over a number of looks."""

    looks: int
    waiters: tuple[Waiter, ...]
    most_at_once: int = 0
    """Most of them in a single look, without those of the result cache."""

    def of(self, event: str | None = None) -> tuple[Waiter, ...]:
        """Those of one event, or all."""
        return tuple(waiter for waiter in self.waiters if event in (None, waiter.event))

    def caches(self, event: str | None = None) -> Counter[str]:
        return Counter(sorted(waiter.cache for waiter in self.of(event)))

    def groups(self) -> list[tuple[Waiter, int]]:
        """Equal waiters counted, the most first."""
        return sorted(Counter(self.waiters).items(), key=lambda item: (-item[1], str(item[0])))


def crowd_of(delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None]) -> SampledWaiters | None:
    """The sampled waiters for the row cache. None without a look. `children`: child numbers by latch address."""
    rows = delta.rows("v$session")
    looks = {row.get("sample") for row in rows}
    if not looks:
        return None
    each = Counter(row.get("sample") for row in rows if row.get("event") in (*BY_CACHE_ID, LATCH_EVENT))
    return SampledWaiters(len(looks), tuple(_waiters(delta, caches, children, rows)), max(each.values(), default=0))


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
            blocker=blocker_of(row) or "",
            exclusive=event == ROW_CACHE_LOCK_EVENT and number(row.get("p3")) == EXCLUSIVE,
        )


def blocker_of(row: Row) -> str | None:
    """The session at the end of the chain, `SID@INSTANCE`, or `SID` if its instance is unknown. None without a blocker."""
    for kind in ("final_blocking", "blocking"):
        session, instance = text(row.get(f"{kind}_session")), text(row.get(f"{kind}_instance"))
        if session is not None:
            return session if instance is None else f"{session}@{instance}"
    return None


def tells_blocker(row: Row) -> bool:
    """Whether Oracle's statement on a blocker was captured. NULL says that it names none."""
    for kind in ("final_blocking", "blocking"):
        if f"{kind}_session" not in row or f"{kind}_instance" not in row:
            return False
        if row[f"{kind}_session"] is not None:
            return True
    return True


def cache_namer(
    delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None]
) -> Callable[[Row], str | None]:
    """The cache that a session waits for: its name, else its id, else unknown. None for other waits."""
    # Subordinates share their parent's id, so the id has the parent's name.
    parents_last = sorted(
        delta.rows("v$rowcache"), key=lambda row: (row.get("type") == "PARENT", str(row.get("parameter")))
    )
    names = {number(row.get("cache#")): text(row.get("parameter")) for row in parents_last}
    result_cache = delta.cell("v$latchname", "name", RESULT_CACHE_LATCH, "latch#")

    def cache_of(row: Row) -> str | None:
        event = text(row.get("event"))
        if event in BY_CACHE_ID:
            cache = number(row.get("p1"))
            return names.get(cache) or unlisted(cache)
        if event == LATCH_EVENT:
            child = children.get(text(row.get("p1raw")))
            return "unknown" if child is None else _behind(caches, int(child))
        if event == "latch free" and result_cache is not None and number(row.get("p2")) == result_cache:
            return RESULT_CACHE
        return None

    return cache_of


def unlisted(cache: float | None) -> str:
    """The name of a cache that v$rowcache does not list. Only its id is known."""
    return "unknown" if cache is None else f"cache id {cache:g}, {NOT_LISTED}"


def within(cache: str) -> str:
    """The name of a cache for the middle of a sentence."""
    return f"{cache}," if cache.endswith(NOT_LISTED) else cache


def _behind(caches: CacheMap, child: int) -> str:
    """The cache that a child guards."""
    guarded = caches.children.get(child)
    parents = [ref.cache_id for ref in guarded.caches if ref.type == "PARENT"] if guarded else []
    return unlisted(parents[0]) if guarded and guarded.name is None and len(parents) == 1 else caches.name(child)
