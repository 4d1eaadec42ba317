"""Which caches are in trouble on a surface, each for itself, and what the waits for each of them cost.

Two troubles at once share one latch statistic and one wait event. Each is judged by its share of what the other leaves over;
its cost is its part of the time lost on the surface.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from collectors.model import number
from rules.context import SURFACE_EVENTS, SignalContext
from rules.model import Surface

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


def hot_children(context: SignalContext) -> tuple[int, ...]:
    """Children of the row cache latch that stand out by their sleeps."""
    return standing_out(_sleeps(context))


def _sleeps(context: SignalContext) -> Mapping[int, float]:
    numbered = ((row.get("child#"), number(row.get("sleeps")) or 0.0) for row in context.children)
    return {child: sleeps for child, sleeps in numbered if isinstance(child, int)}


def hot_caches(context: SignalContext, surface: Surface) -> tuple[str, ...]:
    """Caches that stand out by the sampled waiters of a mutex or lock."""
    sizes = _waiters(context, surface)
    known = {str(row.get("parameter")) for row in context.delta.rows("v$rowcache")}
    return tuple(cache for cache in standing_out(sizes) if cache in known and sizes[cache] >= FEWEST_WAITERS)


def _sizes(context: SignalContext, surface: Surface) -> Mapping[Any, float]:
    """Sleeps by child of the latch, or sampled waiters by cache."""
    return _sleeps(context) if surface == "latch" else _waiters(context, surface)


def _waiters(context: SignalContext, surface: Surface) -> Mapping[str, float]:
    crowd = context.crowd
    return {} if crowd is None else {cache: float(met) for cache, met in crowd.caches(SURFACE_EVENTS[surface]).items()}


def hot_beside(context: SignalContext, surfaces: Iterable[Surface], caches: Iterable[str]) -> tuple[str, ...]:
    """Other caches that stand out on the surfaces on which some caches do."""
    own = set(waited_as(context, caches))
    beside: set[str] = set()
    for surface in surfaces:
        hot = named_hot(context, surface)
        if any(own & set(names) for names in hot):
            beside.update(name for names in hot if not own & set(names) for name in names)
    return tuple(sorted(beside))


def named_hot(context: SignalContext, surface: Surface) -> list[tuple[str, ...]]:
    """The caches that stand out on a surface, the hottest first; of a child all that it guards."""
    if surface == "latch":
        guarded = (context.map.children.get(child) for child in hot_children(context))
        return [tuple(ref.parameter for ref in one.caches if ref.parameter) for one in guarded if one]
    return [(cache,) for cache in hot_caches(context, surface)] if surface in SURFACE_EVENTS else []


def mixed(context: SignalContext, surface: Surface) -> bool:
    """Whether the waits on a surface are those of several caches, so that nothing said of the whole surface is of one."""
    if surface not in ("latch", "mutex", "lock"):
        return False
    sizes = _sizes(context, surface)
    return bool(sizes) and max(sizes.values()) < OWN * sum(sizes.values())


def part_of_surface(context: SignalContext, surface: Surface, caches: Iterable[str]) -> float:
    """Which part of the time lost on a surface was lost for some caches; all of it where theirs alone stand out."""
    names = waited_as(context, caches)
    if surface == "result-cache" or not names:
        return 1.0
    own: set[object] = set(context.map.guarding(names)) if surface == "latch" else set(names)
    hot: set[object] = set(hot_children(context) if surface == "latch" else hot_caches(context, surface))
    sizes = _sizes(context, surface)
    whole = sum(sizes.values())
    if not own or not whole or (hot and hot <= own):
        return 1.0
    return sum(size for key, size in sizes.items() if key in own) / whole


def waited_as(context: SignalContext, caches: Iterable[str]) -> tuple[str, ...]:
    """The names of some caches and of their parents: who waits for a subordinate cache names its parent's id."""
    wanted = set(caches)
    rows = context.delta.rows("v$rowcache")
    ids = {row.get("cache#") for row in rows if row.get("parameter") in wanted and row.get("type") == "SUBORDINATE"}
    parents = {str(row.get("parameter")) for row in rows if row.get("cache#") in ids and row.get("type") == "PARENT"}
    return tuple(sorted(wanted | parents))


def waited_for(context: SignalContext, surfaces: Iterable[Surface], caches: Iterable[str]) -> float | None:
    """Seconds lost on some surfaces for some caches; None where no surface's time is known."""
    wanted = tuple(caches)
    parts = [
        seconds * part_of_surface(context, surface, wanted)
        for surface in surfaces
        if surface in context.surfaces and (seconds := context.surface_wait_seconds(surface)) is not None
    ]
    return sum(parts) if parts else None
