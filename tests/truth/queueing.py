"""Queues: a spinning latch shared by a closed population, a latch nearly idle, and a lock held long.

The closed latch is the machine repairman: N sessions that think and hold. A request meets the state that N − 1 others leave,
waits in random order, spins for a budget and then sleeps until it is posted. All rates are per second, all times seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 1e-9, 1e6
"""Bounds of hold / think for the search of a load."""
STEPS = 60
LONGER = 1.4
"""Factor by which a hold grows when spinning absorbs too much."""


@dataclass(frozen=True, slots=True)
class Host:
    """The machine's handling of a collision."""

    spin: float
    """Seconds a request spins before it sleeps: 20,000 turns of about 5 ticks."""
    wake: float
    """Seconds from the post to running again."""
    recurrent: float
    """Sleeps that follow a sleep, per first sleep."""
    stalled: float
    """Share of ordinary collisions that outlast the spin, because the holder was off its processor."""
    stall: float
    """Seconds that such a sleep lasts."""


@dataclass(frozen=True, slots=True)
class LatchLoad:
    """The counts of a latch per second. `wait` and `spinning` are seconds per second."""

    gets: float
    misses: float
    sleeps: float
    wait: float
    spinning: float
    hold: float


@dataclass(frozen=True, slots=True)
class LockLoad:
    """The throughput per second of a lock with one holder at a time."""

    grants: float
    waits: float
    mean: float
    """Seconds of one wait."""


def states(population: int, ratio: float) -> NDArray[np.float64]:
    """Probability of 0…population sessions at the latch, for a ratio of hold to think time."""
    steps = np.log(population - np.arange(population)) + np.log(ratio)
    weights = np.concatenate(([0.0], np.cumsum(steps)))
    raised = np.exp(weights - weights.max())
    chances: NDArray[np.float64] = raised / raised.sum()
    return chances


def _asleep(population: int, ratio: float, hold: float, host: Host) -> LatchLoad:
    """The load of a latch by its ratio of hold to think time."""
    gets = float(1.0 - states(population, ratio)[0]) / hold
    met = states(population - 1, ratio)
    waiting = np.arange(1, population) * hold
    outlasted = np.exp(-host.spin / waiting)
    slept = gets * float((met[1:] * outlasted).sum())
    wait = gets * float((met[1:] * outlasted * (waiting + host.wake)).sum())
    spinning = gets * float((met[1:] * waiting * (1.0 - outlasted)).sum())
    return LatchLoad(float(gets), float(gets * (1.0 - met[0])), slept * (1.0 + host.recurrent), wait, spinning, hold)


def saturated(wait: float, sessions: float, hold: float, host: Host) -> LatchLoad:
    """The load at which sessions lose `wait` seconds a second in sleeps.

    `sessions` are busy otherwise. If a hold is so short that spinning absorbs every collision, it grows until sleeps can
    cost that much.
    """
    population = max(3, round(sessions + 1.05 * wait) + 1)
    while _asleep(population, MOST, hold, host).wait < wait * 1.02:
        hold *= LONGER
    ratio = _bisect(lambda ratio: _asleep(population, ratio, hold, host).wait, wait)
    return _asleep(population, ratio, hold, host)


def light(gets: float, hold: float, sessions: float, host: Host) -> LatchLoad:
    """An ordinary latch: requests seldom find it held, and hardly ever outlast the spin."""
    met = min(gets * hold, 0.5) * sessions / (sessions + 1.0)
    misses = gets * met
    slept = misses * host.stalled
    return LatchLoad(gets, misses, slept * 1.03, slept * host.stall, misses * hold, hold)


def queued(wait: float, sessions: float, hold: float) -> LockLoad:
    """The load at which sessions lose `wait` seconds a second queueing for a lock held `hold` seconds each time."""
    population = max(3, round(sessions + wait) + 1)

    def lost(ratio: float) -> float:
        chances = states(population, ratio)
        return float((np.arange(population + 1) * chances).sum() - (1.0 - chances[0]))

    ratio = _bisect(lost, min(wait, lost(MOST) * 0.98))
    grants = (1.0 - states(population, ratio)[0]) / hold
    waits = grants * (1.0 - states(population - 1, ratio)[0])
    return LockLoad(float(grants), float(waits), float(wait / waits))


def _bisect(value: Callable[[float], float], wanted: float) -> float:
    low, high = np.log(LEAST), np.log(MOST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if value(float(np.exp(middle))) < wanted else (low, middle)
    return float(np.exp((low + high) / 2))
