"""How long a latch is held, and how that grows with its load.

Two effects lengthen a hold on real processors. Spinning processes take away the holder's cache lines: S grows with a power
of the utilisation, S = S_ref·(U/U_ref)^ε. And a freed latch reaches the next core only after 0.15–0.25 µs (the handoff), which
occupies the latch too: S·(1 + ρ·p), where p is the share of gets that find it held. A hold that comes from counters is
occupied time and includes the handoff. The code's own hold is 0–22 % below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import exp, expm1, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from collectors.model import Row, number
from rules.contention.queue import (
    Array,
    LatchTimes,
    Settled,
    budget_for,
    invert,
    wait_beyond,
    waits_beyond,
)
from rules.context import SignalContext

# Draws of uncertain parameters, for intervals. The draws are always the same, so an answer repeats to the digit.

DRAWS = 192
LEVEL = 0.95
"""Share of outcomes that an interval should contain."""


@cache
def uniform(dimension: int) -> Array:
    """The middle, then DRAWS numbers in (0, 1), evenly spread and independent of other dimensions (Roberts 2018)."""
    root = 2.0
    for _ in range(40):
        root = (1 + root) ** (1 / 11)
    step = root ** -(dimension + 1)
    values: Array = np.concatenate(([0.5], (0.5 + step * np.arange(1, DRAWS + 1)) % 1.0))
    return values


@cache
def normal(dimension: int) -> Array:
    """The same as standard normal numbers: first 0, then the draws."""
    inverse = NormalDist().inv_cdf
    return np.array([inverse(min(max(float(u), 1e-6), 1 - 1e-6)) for u in uniform(dimension)])


def truncated(dimension: int, mean: float, spread: float, low: float, high: float) -> Array:
    """The mean, then draws of a normal number between two bounds."""
    scale = NormalDist(mean, spread)
    least, most = scale.cdf(low), scale.cdf(high)
    chances = least + uniform(dimension)[1:] * (most - least)
    drawn = [scale.inv_cdf(min(max(float(u), 1e-12), 1 - 1e-12)) for u in chances]
    return np.clip([mean, *drawn], low, high)


def between(values: Array) -> tuple[float, float]:
    """The middle LEVEL of the draws. The first element is the point and does not count."""
    low, high = np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


# What an interval counted of a latch, as the model takes it, and how it is read from a Delta.
#
# Sessions are the average active ones, DB time per second. Mutexes have no counterpart: v$mutex_sleep counts sleeps and
# their
# time but no gets and no misses, so their hold, utilisation and load are unknown.

ENOUGH = 10
"""From this many misses on, a child's hold is more than chance."""
SPREAD, SPREAD_WORTH = 0.22, 2.0
"""Prior scatter of ln hold between healthy children, and how many children it counts for."""


class NotPredictable(Exception):
    """No prediction is possible. The message says in one sentence what is missing or why."""


@dataclass(frozen=True, slots=True)
class LatchCounts:
    """Changes of the counters of one child latch over one interval."""

    processes: float
    """Sessions that use the latch at once, on average."""
    seconds: float
    gets: float
    misses: float
    sleeps: float = 0.0
    wait_seconds: float = 0.0
    """Time spent asleep. Full spins before a sleep are not included."""
    speed: float = 1.0
    """h(N): speed of one process at N processes without contention, as a share of its speed alone."""
    works: float | None = None
    """Units of application work done. Without it a get is a unit of work."""

    @property
    def population(self) -> int:
        """Processes as a whole number of customers of the queue."""
        return max(round(self.processes), 1)

    @property
    def gets_per_second(self) -> float:
        """λ."""
        return self.gets / self.seconds

    @property
    def miss_ratio(self) -> float:
        """p: misses per get; 0 without gets."""
        return self.misses / self.gets if self.gets else 0.0

    @property
    def sleep_ratio(self) -> float:
        """k: sleeps per miss; 0 without misses."""
        return self.sleeps / self.misses if self.misses else 0.0

    @property
    def sleeps_per_get(self) -> float:
        """Sleeps per get; 0 without gets."""
        return self.sleeps / self.gets if self.gets else 0.0


def counts_of(context: SignalContext, child: int) -> LatchCounts:
    """What an interval counted on a child. NotPredictable if figures are missing or do not cover an interval."""
    basis = context.delta.basis
    if basis.kind != "interval" or not basis.seconds:
        raise NotPredictable(
            "these are totals since the instance start, whose load changed all the time: take an interval"
        )
    row = next((row for row in context.children if row.get("child#") == child), None)
    if row is None:
        raise NotPredictable(f"there is no child {child}")
    gets, misses, sleeps = (number(row.get(name)) for name in ("gets", "misses", "sleeps"))
    if gets is None or misses is None or sleeps is None:
        raise NotPredictable(f"gets, misses or sleeps of child {child} are not known in this interval")
    return LatchCounts(
        active_sessions(context),
        basis.seconds,
        gets,
        misses,
        sleeps,
        (number(row.get("wait_time")) or 0.0) / 1e6,
    )


def active_sessions(context: SignalContext) -> float:
    """Average active sessions: DB time per second. NotPredictable if it is unknown."""
    if context.inside_pdb:
        raise NotPredictable("inside a PDB only its own sessions are known, and the row cache is that of the whole CDB")
    db_time = context.seconds_of("DB time")
    if db_time is None or not context.delta.basis.seconds:
        raise NotPredictable("DB time is missing, so the number of active sessions is unknown: grant v$sys_time_model")
    return db_time / context.delta.basis.seconds


def processors(context: SignalContext) -> int | None:
    """Processors of the host, from v$osstat."""
    return None if context.cpus is None else round(context.cpus)


def ordinary_hold(context: SignalContext, child: int) -> tuple[float, float]:
    """Seconds per hold of the other children, and the scatter of its logarithm. NotPredictable if there is none.

    At light load p = λ·S·(N − 1)/N, so S is the sum of misses over the sum of gets·λ, of children that few gets wait for.
    """
    seconds, sessions = context.delta.basis.seconds or 0.0, max(active_sessions(context), 1.1)
    others = [pair for row in context.children if row.get("child#") != child and (pair := _light(row, seconds))]
    misses = sum(missed for _, missed in others)
    if misses < ENOUGH:
        raise NotPredictable(
            "the other children had hardly any misses, so the ordinary hold is unknown: take a longer interval"
        )
    crowd = sessions / (sessions - 1)
    hold = misses / sum(gets * gets / seconds for gets, _ in others) * crowd
    return hold, _scatter(others, seconds, hold / crowd)


def _light(row: Row, seconds: float) -> tuple[float, float] | None:
    """Gets and misses of a healthy child."""
    gets, misses = number(row.get("gets")), number(row.get("misses"))
    if not gets or misses is None or not seconds or misses > 0.05 * gets:
        return None
    return gets, misses


def _scatter(others: Sequence[tuple[float, float]], seconds: float, hold: float) -> float:
    """Standard deviation of ln hold between children, without the noise of counting.

    Children count by their gets: one that is rarely used is held longer, because its lines are cold, so it is unlike a hot one.
    """
    telling = [
        (gets, missed, log(missed / gets / (gets / seconds) / hold)) for gets, missed in others if missed >= ENOUGH
    ]
    if not telling:
        return SPREAD
    weight = sum(gets for gets, _, _ in telling)
    over = sum(gets / weight * max(apart * apart - 1 / missed, 0.0) for gets, missed, apart in telling)
    worth = weight * weight / sum(gets * gets for gets, _, _ in telling) - 1
    return sqrt((SPREAD_WORTH * SPREAD**2 + worth * over) / (SPREAD_WORTH + worth))


def middle(least: float, most: float) -> tuple[float, float]:
    """The middle of a range of factors and its scatter, in logarithms. Every factor in the range is equally likely."""
    return exp((log(least) + log(most)) / 2), log(most / least) / sqrt(12)


EXPONENT, EXPONENT_SPREAD = 0.10, 0.37
"""Prior of ε, normal. Measured on one machine with 16 cores. The published tables alone gave 0.25 ± 0.25."""
LEAST_EXPONENT, MOST_EXPONENT = 0.0, 0.6
HANDOFF, MOST_HANDOFF = 0.10, 0.30
"""ρ and its upper bound for intervals. The lower bound is 0."""
NOISE, NOISE_WORTH = 0.10, 2.0
"""Prior scatter of ln S between intervals, and how many intervals it counts for."""
HOLD_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class HoldModel:
    """Hold of a latch as a function of its load."""

    hold: float
    """Seconds at the reference utilisation, without handoff, at full processor speed."""
    utilisation: float
    """U_ref."""
    exponent: float
    """ε."""
    exponent_spread: float
    """Standard deviation of ε."""
    noise: float
    """Standard deviation of ln S from interval to interval."""
    weight: float
    """How many intervals the hold is based on. Unequal weights count for what they are worth."""
    freedom: float
    """Degrees of freedom behind `noise`, including those of the prior."""

    @property
    def tail(self) -> float:
        """How much wider than normal an interval with an estimated scatter is: t over z (Cornish and Fisher 1937)."""
        return 1 + 1.21 / self.freedom + 1.2 / self.freedom**2


def times_of(row: LatchCounts) -> LatchTimes:
    """Hold and think time of an interval, at the processor speed of that interval."""
    return invert(row.population, row.gets_per_second, row.miss_ratio)


def fit_hold(rows: Sequence[LatchCounts]) -> HoldModel:
    """ln S against ln U by weighted least squares with the prior of ε; rows count by their share of misses.

    The scatter is fitted together with ε: few or wild rows leave ε near its prior.
    """
    holds = [times_of(row).hold for row in rows]
    weights = np.array([row.miss_ratio for row in rows])
    weights = weights / weights.mean()
    used = np.array([row.gets_per_second * hold for row, hold in zip(rows, holds, strict=True)])
    bare = np.array([hold * row.speed / (1 + HANDOFF * row.miss_ratio) for row, hold in zip(rows, holds, strict=True)])
    x, y = np.log(used), np.log(bare)
    x_mean, y_mean = float(np.average(x, weights=weights)), float(np.average(y, weights=weights))
    exponent, spread, noise = _regression(x - x_mean, y - y_mean, weights)
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    return HoldModel(exp(y_mean), exp(x_mean), exponent, spread, noise, worth, NOISE_WORTH + max(len(rows) - 2, 0))


def _regression(x: Array, y: Array, weights: Array) -> tuple[float, float, float]:
    """ε, its spread and the scatter, for centred values."""
    freedom = NOISE_WORTH + max(len(x) - 2, 0)
    noise, exponent, spread = NOISE, EXPONENT, EXPONENT_SPREAD
    for _ in range(HOLD_ROUNDS):
        precision = float((weights * x * x).sum()) / noise**2 + 1 / EXPONENT_SPREAD**2
        drawn = float((weights * x * y).sum()) / noise**2 + EXPONENT / EXPONENT_SPREAD**2
        exponent = min(max(drawn / precision, LEAST_EXPONENT), MOST_EXPONENT)
        spread = 1 / sqrt(precision)
        left = float((weights * (y - exponent * x) ** 2).sum())
        noise = sqrt((left + NOISE_WORTH * NOISE**2) / freedom)
    return exponent, spread, noise


def log_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted geometric mean."""
    return exp(sum(w * log(v) for v, w in zip(values, weights, strict=True)) / sum(weights))


# Small closed formulas: hold from processor counters, and how soon a poller notices.


def hold_seconds(instructions: float, cycles_per_instruction: float, clock_hz: float) -> float:
    """Seconds that this many instructions take, S = instructions·CPI/f. Only valid if the holder's own code was counted."""
    return instructions * cycles_per_instruction / clock_hz


def timed_poll_seconds(granularity: float, need: float) -> float:
    """Seconds until a poller notices an event after `need` seconds on average, if it looks every g: E = g/(1 − exp(−g/m))."""
    return granularity / -expm1(-granularity / need)


# How many gets end in a sleep. There are two regimes, and a bound if it may be either.
#
# Exhausted spins: a waiter spins for a budget τ and sleeps if its wait is longer, so sleeps are misses·P(W > τ), where
# W is the
# wait in random order. Stalls: the holder lost its processor, or stopped for memory. Then sleeps per get follow a power
# of the miss
# ratio, c·p^a. The counters decide: for the first regime, τ implied by sleeps per miss must be near the budget.

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


def spin_budget(clock_hz: float = CLOCK_HZ) -> float:
    """Seconds an exclusive latch spins before it sleeps."""
    return SPINS * TICKS_PER_SPIN / clock_hz


def implied_budget(row: LatchCounts) -> float | None:
    """The τ in seconds at which exhausted spins explain the sleeps of a row. None if the row does not show it."""
    if row.sleeps < SEEN or not SEEN_RATIO < row.sleep_ratio < 1 or row.miss_ratio > SEEN_MISSES:
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
    return row.misses * wait_beyond(row.population, times.hold / times.think, budget / times.hold)


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


def sleeps_per_get(model: SleepModel, processes: int, settled: Settled) -> SleepForecast:
    """Sleeps per get of a settled latch."""
    power = truncated(6, model.power, model.power_spread, 0.0, MOST_POWER)
    scatter = np.exp(SCATTER * normal(5) + normal(4) / sqrt(max(model.sleeps, 0.5)))
    drawn = model.per_get * (settled.miss_ratio / model.miss_ratio) ** power * scatter
    if model.regime is SleepRegime.SPINS:
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
