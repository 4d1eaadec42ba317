"""Which caches are in trouble on a surface, each separately, and what the waits for each of them cost.

Two troubles at once share one latch statistic and one wait event. Each is judged by its share of what the other leaves.
Its cost is its part of the time lost on the surface.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from collectors.model import Row
from rules.cache_map import CacheMap
from rules.model import Surface
from rules.remembered import remembered

Thing = TypeVar("Thing")

STANDS_OUT = 0.15
"""A cache with a smaller share of a surface's waits is not a trouble of its own."""
GAP = 2.5
"""A hot cache has this many times the waits of the next one. Five caches with a fifth each are one storm."""
MOST = 2
"""More than two at once look like one storm: each of three equal ones would have all that the others leave."""
OWN = 0.8
"""A cache with this share of a surface's waits leaves so little that the figures of the whole surface are its own."""
FEWEST_WAITERS = 5
"""With fewer sampled waiters no cache is hot, whatever its share."""


def standing_out(sizes: Mapping[Thing, float]) -> tuple[Thing, ...]:
    """The few that have most of a whole, the largest first. Empty if it is spread evenly."""
    whole = sum(sizes.values())
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], str(item[0])))
    few: tuple[Thing, ...] = ()
    following = [size for _, size in ordered[1:]] + [0.0]
    for place, ((_, size), after) in enumerate(zip(ordered, following, strict=False), 1):
        if place > MOST or size < STANDS_OUT * whole or not size:
            break
        if size >= GAP * after:
            few = tuple(key for key, _ in ordered[:place])
    return few


class HotCaches:
    """The hot caches on each surface of one Delta. It holds names and costs, no counters."""

    def __init__(
        self,
        rowcache: tuple[Row, ...],
        caches: CacheMap,
        sleeps: Mapping[int, float],
        waiters: Mapping[Surface, Mapping[str, float]],
        seconds: Mapping[Surface, float | None],
    ) -> None:
        """`sleeps` by child of the latch, `waiters` sampled by cache, `seconds` lost on each surface of this instance."""
        self._rowcache, self._map, self._sleeps, self._waiters, self._seconds = (
            rowcache,
            caches,
            sleeps,
            waiters,
            seconds,
        )

    @cached_property
    def children(self) -> tuple[int, ...]:
        """Hot children of the row cache latch, by their sleeps."""
        return standing_out(self._sleeps)

    @remembered
    def caches(self, surface: Surface) -> tuple[str, ...]:
        """Hot caches, by the sampled waiters of a mutex or lock."""
        sizes = self._waiters.get(surface, {})
        known = {str(row.get("parameter")) for row in self._rowcache}
        return tuple(cache for cache in standing_out(sizes) if cache in known and sizes[cache] >= FEWEST_WAITERS)

    def _sizes(self, surface: Surface) -> Mapping[Any, float]:
        """Sleeps by child of the latch, or sampled waiters by cache."""
        return self._sleeps if surface == "latch" else self._waiters.get(surface, {})

    def beside(self, surfaces: Iterable[Surface], caches: Iterable[str]) -> tuple[str, ...]:
        """The other hot caches on the surfaces on which some caches are hot."""
        by_surface = [hot for surface in surfaces if (hot := self.named(surface))]
        if not by_surface:
            return ()
        own = set(self.waited_as(caches))
        beside: set[str] = set()
        for hot in by_surface:
            if any(own & set(names) for names in hot):
                beside.update(name for names in hot if not own & set(names) for name in names)
        return tuple(sorted(beside))

    def named(self, surface: Surface) -> list[tuple[str, ...]]:
        """The hot caches on a surface, the hottest first. For a child, all that it guards."""
        if surface == "latch":
            guarded = (self._map.children.get(child) for child in self.children)
            return [tuple(ref.parameter for ref in guard.caches if ref.parameter) for guard in guarded if guard]
        return [(cache,) for cache in self.caches(surface)]

    def mixed(self, surface: Surface) -> bool:
        """Whether several caches cause the waits on a surface, so that figures of the whole surface belong to none of them."""
        sizes = self._sizes(surface)
        return bool(sizes) and max(sizes.values()) < OWN * sum(sizes.values())

    def part_of_surface(self, surface: Surface, caches: Iterable[str]) -> float:
        """Which part of the time lost on a surface was lost for some caches. All of it if only they are hot."""
        names = self.waited_as(caches)
        if surface == "result-cache" or not names:
            return 1.0
        own: set[object] = set(self._map.guarding(names)) if surface == "latch" else set(names)
        hot: set[object] = set(self.children if surface == "latch" else self.caches(surface))
        sizes = self._sizes(surface)
        whole = sum(sizes.values())
        if not own or not whole or (hot and hot <= own):
            return 1.0
        return sum(size for key, size in sizes.items() if key in own) / whole

    def waited_as(self, caches: Iterable[str]) -> tuple[str, ...]:
        """The names of some caches and of their parents. A waiter for a subordinate cache names its parent's id."""
        return self._with_parents(frozenset(caches))

    @remembered
    def _with_parents(self, wanted: frozenset[str]) -> tuple[str, ...]:
        rows = self._rowcache
        ids = {row.get("cache#") for row in rows if row.get("parameter") in wanted and row.get("type") == "SUBORDINATE"}
        if not ids:
            return tuple(sorted(wanted))
        parents = {
            str(row.get("parameter")) for row in rows if row.get("cache#") in ids and row.get("type") == "PARENT"
        }
        return tuple(sorted(wanted | parents))

    def waited_for(self, surfaces: Iterable[Surface], caches: Iterable[str]) -> float | None:
        """Seconds lost on some surfaces for some caches. None if no surface's time is known."""
        wanted = tuple(caches)
        parts = [
            seconds * self.part_of_surface(surface, wanted)
            for surface in surfaces
            if (seconds := self._seconds.get(surface)) is not None
        ]
        return sum(parts) if parts else None
