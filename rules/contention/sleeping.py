"""How many gets end in a sleep. There are two regimes, and a bound if it may be either.

Exhausted spins: a waiter spins for a budget τ and sleeps if its wait is longer, so sleeps are misses·P(W > τ), where W is the
wait in random order. Stalls: the holder lost its processor, or stopped for memory. Then sleeps per get follow a power of the miss
ratio, c·p^a. The counters decide: for the first regime, τ implied by sleeps per miss must be near the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from rules.contention.draws import between, normal, truncated
from rules.contention.equilibrium import Settled
from rules.contention.holds import times_of
from rules.contention.queueing import Array, budget_for, wait_beyond, waits_beyond
from rules.contention.readings import LatchCounts

SPINS, TICKS_PER_SPIN = 20_000, 5
"""An exclusive latch tries this often, for this many clock ticks each, before it sleeps (_latch_class_0; Nikolaev 2011)."""
CLOCK_HZ = 3e9
POWER, POWER_SPREAD, MOST_POWER = 1.5, 1.0, 3.5
"""Prior of a, normal between 0 and its upper bound: more misses never make fewer sleeps."""
SEEN, SEEN_RATIO, SEEN_MISSES = 30, 1e-4, 0.95
"""A row shows its τ with at least this many sleeps, this many sleeps per miss, and at most this miss ratio."""
NEAR = 2.0
"""The implied τ must lie within this factor of the budget."""
POINT_RATIO = 3e-4
"""With fewer sleeps per miss there is only an upper bound."""
FEW = 10
"""With fewer sleeps there is only an upper bound."""
IMPLIED_SPREAD, ASSUMED_SPREAD = 0.12, 0.30
"""Standard deviation of ln τ, from counters or assumed."""
SCATTER = 0.35
"""Standard deviation of ln(sleeps per get) around either law, from interval to interval."""
MOST_PER_MISS = 1.14
"""Most sleeps per miss of a posted latch on the emulator. A process that wakes and finds the latch taken sleeps once more."""
SOME = 49
"""This many of the draws are used if the wait of each must be computed. The first ones are evenly spread already."""


class SleepRegime(StrEnum):
    """Why waiters sleep."""

    SPINS = "exhausted spins"
    STALLS = "stalled holders"


@dataclass(frozen=True, slots=True)
class SleepModel:
    """Sleeps of a latch as a function of its load."""

    regime: SleepRegime
    budget: float
    """τ in seconds: implied by the counters if spins are exhausted, else the assumed budget."""
    budget_spread: float
    """Standard deviation of ln τ."""
    per_get: float
    """Sleeps per get by stalls at the reference miss ratio. Half a sleep if none was counted."""
    miss_ratio: float
    power: float
    power_spread: float
    sleeps: float
    """Number of sleeps behind the law of stalls."""
    point: bool
    """Whether there is a value. Otherwise there is only an upper bound."""
    per_miss: float
    """Most sleeps per miss that an interval counted."""

    @property
    def most_per_miss(self) -> float:
        """A prediction never has more sleeps per miss: a posted waiter sleeps about once, unless more were counted."""
        return max(MOST_PER_MISS, self.per_miss)


def spin_budget(clock_hz: float = CLOCK_HZ, spins: int = SPINS) -> float:
    """Seconds an exclusive latch spins before it sleeps."""
    return spins * TICKS_PER_SPIN / clock_hz


def implied_budget(row: LatchCounts) -> float | None:
    """The τ in seconds at which exhausted spins explain the sleeps of a row. None if the row does not show it."""
    if row.latches > 1 or row.sleeps < SEEN or not SEEN_RATIO < row.sleep_ratio < 1 or row.miss_ratio > SEEN_MISSES:
        return None
    times = times_of(row)
    return budget_for(row.population, times.hold / times.think, row.sleep_ratio) * times.hold


def fit_sleeps(rows: Sequence[LatchCounts], budget: float) -> SleepModel:
    """The regime and its parameters. `budget` is how long a waiter should spin, in seconds."""
    implied = [value for row in rows if (value := implied_budget(row)) is not None]
    middle = exp(sum(map(log, implied)) / len(implied)) if implied else budget
    spinning = budget / NEAR <= middle <= budget * NEAR
    spin = middle if spinning else budget
    explained = [exhausted_sleeps(row, spin) if spinning else 0.0 for row in rows]
    left = [max(row.sleeps - gone, 0.5) for row, gone in zip(rows, explained, strict=True)]
    per_get, missed, power, spread = _power_law(rows, left)
    sleeps, misses = sum(row.sleeps for row in rows), sum(row.misses for row in rows)
    return SleepModel(
        SleepRegime.SPINS if spinning else SleepRegime.STALLS,
        spin,
        IMPLIED_SPREAD if implied else ASSUMED_SPREAD,
        per_get,
        missed,
        power,
        spread,
        sum(left),
        sleeps >= FEW and sleeps / max(misses, 1.0) >= POINT_RATIO,
        max(row.sleep_ratio for row in rows),
    )


def exhausted_sleeps(row: LatchCounts, budget: float) -> float:
    """Sleeps of an interval that a spin of `budget` seconds explains."""
    times = times_of(row)
    beyond = wait_beyond(row.population, times.hold / times.think, budget / times.hold) if row.latches == 1 else 0.0
    return row.misses * beyond


def _power_law(rows: Sequence[LatchCounts], sleeps: Sequence[float]) -> tuple[float, float, float, float]:
    """Sleeps per get, at which miss ratio, a and its spread. Rows count by their sleeps, up to the scatter of the law."""
    heavy = np.array([1 / (SCATTER**2 + 1 / slept) for slept in sleeps])
    y = np.array([log(slept / row.gets) for row, slept in zip(rows, sleeps, strict=True)])
    x = np.array([log(max(row.miss_ratio, 1e-12)) for row in rows])
    x_mean, y_mean = float(np.average(x, weights=heavy)), float(np.average(y, weights=heavy))
    precision = float((heavy * (x - x_mean) ** 2).sum()) + 1 / POWER_SPREAD**2
    drawn = float((heavy * (x - x_mean) * (y - y_mean)).sum()) + POWER / POWER_SPREAD**2
    power = min(max(drawn / precision, 0.0), MOST_POWER)
    return exp(y_mean), exp(x_mean), power, 1 / sqrt(precision)


@dataclass(frozen=True, slots=True)
class SleepForecast:
    """Sleeps per get after a change."""

    value: float
    low: float
    high: float
    point: bool
    """Whether there is a value and a lower bound. Otherwise it is at most `high`."""


def sleeps_per_get(model: SleepModel, processes: int, settled: Settled, latches: int = 1) -> SleepForecast:
    """Sleeps per get of a settled latch."""
    power = truncated(6, model.power, model.power_spread, 0.0, MOST_POWER)
    scatter = np.exp(SCATTER * normal(5) + normal(4) / sqrt(max(model.sleeps, 0.5)))
    drawn = model.per_get * (settled.miss_ratio / model.miss_ratio) ** power * scatter
    if model.regime is SleepRegime.SPINS and latches == 1:
        chosen = np.arange(SOME)
        drawn = drawn[chosen] + _exhausted(model, processes, settled, chosen) * scatter[chosen]
    low, high = between(drawn)
    if settled.miss_ratio[0] <= model.miss_ratio:  # the bound a = 0: as often per get as now, plus counting noise
        high = max(high, model.per_get * (1 + 3 / sqrt(max(model.sleeps, 0.5))))
    return SleepForecast(float(drawn[0]), low, high, model.point)


def _exhausted(model: SleepModel, processes: int, settled: Settled, chosen: NDArray[np.int64]) -> Array:
    """Sleeps per get by exhausted spins, for some of the draws."""
    budget = model.budget * np.exp(model.budget_spread * normal(7))
    hold, think = settled.hold[chosen], settled.think[chosen]
    found: Array = settled.miss_ratio[chosen] * waits_beyond(processes, hold / think, budget[chosen] / hold)
    return found
