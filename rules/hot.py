"""Which caches are in trouble on a surface, each for itself, and what the waits for each of them cost.

Two troubles at once share one latch statistic and one wait event. Each is judged by its share of what the other leaves over;
its cost is its part of the time lost on the surface.
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
"""A cache with less than this share of a surface's waits is no trouble of its own."""
GAP = 2.5
"""Those that stand out have so many times the waits of the next one: five caches with a fifth each are one storm."""
MOST = 2
"""More than two at once look like one storm: each of three alike would have all of what the others leave over."""
OWN = 0.8
"""A cache with this share of a surface's waits leaves so little to others that what the whole surface shows is its own."""
FEWEST_WAITERS = 5
"""Fewer sampled waiters than this make no cache stand out, whatever their share."""


def standing_out(sizes: Mapping[Thing, float]) -> tuple[Thing, ...]:
    """The few that hold most of a whole, the largest first; none where it is spread evenly."""
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
    """The caches that stand out on each surface of one Delta. What rules ask of it are names and costs, no counters."""

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
        """Children of the row cache latch that stand out by their sleeps."""
        return standing_out(self._sleeps)

    @remembered
    def caches(self, surface: Surface) -> tuple[str, ...]:
        """Caches that stand out by the sampled waiters of a mutex or lock."""
        sizes = self._waiters.get(surface, {})
        known = {str(row.get("parameter")) for row in self._rowcache}
        return tuple(cache for cache in standing_out(sizes) if cache in known and sizes[cache] >= FEWEST_WAITERS)

    def _sizes(self, surface: Surface) -> Mapping[Any, float]:
        """Sleeps by child of the latch, or sampled waiters by cache."""
        return self._sleeps if surface == "latch" else self._waiters.get(surface, {})

    def beside(self, surfaces: Iterable[Surface], caches: Iterable[str]) -> tuple[str, ...]:
        """Other caches that stand out on the surfaces on which some caches do."""
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
        """The caches that stand out on a surface, the hottest first; of a child all that it guards."""
        if surface == "latch":
            guarded = (self._map.children.get(child) for child in self.children)
            return [tuple(ref.parameter for ref in guard.caches if ref.parameter) for guard in guarded if guard]
        return [(cache,) for cache in self.caches(surface)]

    def mixed(self, surface: Surface) -> bool:
        """Whether the waits on a surface are those of several caches, so that nothing said of the whole surface is of one."""
        sizes = self._sizes(surface)
        return bool(sizes) and max(sizes.values()) < OWN * sum(sizes.values())

    def part_of_surface(self, surface: Surface, caches: Iterable[str]) -> float:
        """Which part of the time lost on a surface was lost for some caches; all of it where theirs alone stand out."""
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
        """The names of some caches and of their parents: who waits for a subordinate cache names its parent's id."""
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
        """Seconds lost on some surfaces for some caches; None where no surface's time is known."""
        wanted = tuple(caches)
        parts = [
            seconds * self.part_of_surface(surface, wanted)
            for surface in surfaces
            if (seconds := self._seconds.get(surface)) is not None
        ]
        return sum(parts) if parts else None
