"""The small waits of every instance: ordinary waits beside any trouble."""

from collections.abc import Mapping

from tests.truth import shapes
from tests.truth.instance import LOCK_EVENT, Instance
from tests.truth.parts import During, Stream, Who
from tests.truth.queueing import LatchLoad, light
from tests.truth.releases import Key

NEIGHBOURS: dict[str, tuple[float, float, float, During]] = {
    "library cache: mutex X": (1e-5, 2e-3, 4e-4, "soft parse"),
    "library cache lock": (1e-6, 5e-4, 4e-3, "soft parse"),
    "library cache pin": (1e-6, 3e-4, 3e-3, "soft parse"),
    "library cache load lock": (1e-6, 3e-4, 1e-2, "hard parse"),
    "cursor: pin S wait on X": (1e-6, 1e-3, 8e-3, "soft parse"),
    "cursor: pin S": (1e-6, 3e-4, 5e-4, "soft parse"),
    "cursor: mutex X": (1e-7, 2e-4, 3e-4, "soft parse"),
    "cursor: mutex S": (1e-7, 2e-4, 3e-4, "soft parse"),
    "latch: shared pool": (1e-6, 8e-4, 8e-4, "hard parse"),
    "latch: cache buffers chains": (1e-6, 2e-3, 5e-4, "execution"),
    "latch free": (1e-6, 6e-4, 1e-3, "execution"),
    "enq: US - contention": (1e-7, 4e-5, 2e-3, "execution"),
    "enq: SQ - contention": (1e-7, 3e-4, 3e-3, "sequence"),
    "enq: TX - row lock contention": (1e-6, 2e-2, 5e-2, "execution"),
    "enq: TX - allocate ITL entry": (1e-7, 1e-4, 5e-2, "execution"),
}
"""Waits that cost a share of the base load: lowest, highest, the seconds of one, and what the sessions are doing."""
IN_A_CLUSTER: dict[str, tuple[float, float, float, During]] = {
    "enq: SV -  contention": (1e-7, 3e-4, 2e-3, "sequence"),
    "LCK0 row cache object free": (1e-8, 1e-5, 1e-3, "execution"),
}
QUIET_SHARE = 0.002
"""A healthy instance loses at most this share of its load to any one place of the row cache."""
GUARD_MEAN = (3e-4, 8e-3)
"""Seconds of an ordinary wait for a mutex."""


def child_gets(it: Instance, gets: Mapping[Key, float]) -> dict[int, float]:
    """Gets per second of each child latch: three per look-up of a parent, one of a subordinate."""
    children: dict[int, float] = {}
    for cache in it.release.caches:
        per = 3.0 if cache.subordinate is None else 1.0
        children[cache.child] = children.get(cache.child, 0.0) + per * gets.get(cache.key, 0.0)
    return children


def child_loads(it: Instance, gets: Mapping[Key, float]) -> dict[int, LatchLoad]:
    """The effect of ordinary look-ups on each child, beside those of a trouble."""
    loads = {}
    for child, rate in child_gets(it, gets).items():
        rate -= sum(load.gets for hot, load in it.hot if hot == child)
        hold = it.dice.scale(8e-8, 5e-7)
        loads[child] = light(max(rate, 0.0), hold, max(it.sessions, 0.05), it.host)
    return loads


def add_ordinary_waits(it: Instance, loads: dict[int, LatchLoad]) -> None:
    """Streams of ordinary waits: neighbours, and the few sleeps of a healthy guard."""
    base = it.sessions
    known = {**NEIGHBOURS, **(IN_A_CLUSTER if it.cluster else {})}
    for event, (low, high, mean, during) in known.items():
        each = it.dice.about(mean * it.neighbours**0.5, 0.5)
        it.neighbour(None, event, base * it.dice.scale(low, high), each, during, it.dice.between(0.85, 1.0))
    name, subordinate = it.dice.pick((("dc_objects", None), ("dc_users", None), ("dc_segments", None)))
    mean = it.dice.scale(2e-4, 5e-3)
    stake = base * it.dice.scale(1e-7, 4e-4)
    cache = it.release.cache(name, subordinate)
    it.streams.append(Stream(LOCK_EVENT, stake / mean, mean, None, "lock", cache, Who(), foreground=0.7))
    if it.release.guard == "latch":
        _ordinary_latches(it, loads)
    else:
        _ordinary_mutexes(it)


def _ordinary_latches(it: Instance, loads: dict[int, LatchLoad]) -> None:
    for child, load in loads.items():
        if load.wait <= 0:
            continue
        cache = next(cache for cache in it.release.caches if cache.child == child)
        shape = shapes.subordinates(it.dice) if cache.name == "dc_histogram_defs" else shapes.normal(it.dice)
        calm = min(1.0, QUIET_SHARE * it.sessions / load.wait)
        it.streams.append(
            Stream(
                it.release.event(),
                load.sleeps * calm,
                load.wait / load.sleeps,
                None,
                "latch",
                cache,
                shape=shape,
                foreground=0.9,
                first_sleeps=1 / 1.03,
            )
        )


def _ordinary_mutexes(it: Instance) -> None:
    for name in ("dc_users", "dc_objects", "dc_histogram_defs", "dc_segments"):
        mean = it.dice.scale(*GUARD_MEAN)
        stake = it.sessions * it.dice.scale(1e-6, QUIET_SHARE / 3)
        it.streams.append(
            Stream(
                "row cache mutex",
                stake / mean,
                mean,
                None,
                "mutex",
                it.release.cache(name),
                shape=shapes.normal(it.dice),
                foreground=0.9,
                sleeps_per_wait=it.dice.between(1.0, 3.0),
            )
        )
