"""How long a latch is held, and how that grows with its load.

Two effects lengthen a hold on real processors. Spinning processes take away the holder's cache lines: S grows with a power
of the utilisation, S = S_ref·(U/U_ref)^ε. And a freed latch reaches the next core only after 0.15–0.25 µs (the handoff), which
occupies the latch too: S·(1 + ρ·p), where p is the share of gets that find it held. A hold that comes from counters is
occupied time and includes the handoff. The code's own hold is 0–22 % below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from rules.contention.queueing import Array, LatchTimes, invert
from rules.contention.readings import LatchCounts

EXPONENT, EXPONENT_SPREAD = 0.10, 0.37
"""Prior of ε, normal. Measured on one machine with 16 cores. The published tables alone gave 0.25 ± 0.25."""
LEAST_EXPONENT, MOST_EXPONENT = 0.0, 0.6
HANDOFF, MOST_HANDOFF = 0.10, 0.30
"""ρ and its upper bound for intervals. The lower bound is 0."""
TRUE_HOLD_BELOW = 0.22
"""The code's own hold is at most this share below the measured one."""
NOISE, NOISE_WORTH = 0.10, 2.0
"""Prior scatter of ln S between intervals, and how many intervals it counts for."""
ROUNDS = 12


@dataclass(frozen=True, slots=True)
class HoldModel:
    """Hold of a latch as a function of its load."""

    hold: float
    """Seconds at the reference utilisation, without handoff, at full processor speed."""
    utilisation: float
    """U_ref, per latch."""
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
    return invert(row.population, row.gets_per_second, row.miss_ratio, row.latches)


def fit_hold(rows: Sequence[LatchCounts], handoff: float = HANDOFF) -> HoldModel:
    """ln S against ln U by weighted least squares with the prior of ε; rows count by their share of misses.

    The scatter is fitted together with ε: few or wild rows leave ε near its prior.
    """
    holds = [times_of(row).hold for row in rows]
    weights = np.array([row.miss_ratio for row in rows])
    weights = weights / weights.mean()
    used = np.array([row.gets_per_second * hold / row.latches for row, hold in zip(rows, holds, strict=True)])
    bare = np.array([hold * row.speed / (1 + handoff * row.miss_ratio) for row, hold in zip(rows, holds, strict=True)])
    x, y = np.log(used), np.log(bare)
    x_mean, y_mean = float(np.average(x, weights=weights)), float(np.average(y, weights=weights))
    exponent, spread, noise = _regression(x - x_mean, y - y_mean, weights)
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    return HoldModel(exp(y_mean), exp(x_mean), exponent, spread, noise, worth, NOISE_WORTH + max(len(rows) - 2, 0))


def _regression(x: Array, y: Array, weights: Array) -> tuple[float, float, float]:
    """ε, its spread and the scatter, for centred values."""
    freedom = NOISE_WORTH + max(len(x) - 2, 0)
    noise, exponent, spread = NOISE, EXPONENT, EXPONENT_SPREAD
    for _ in range(ROUNDS):
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
