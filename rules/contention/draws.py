"""Draws of uncertain parameters, for intervals. The draws are always the same, so an answer repeats to the digit."""

from functools import cache
from statistics import NormalDist

import numpy as np

from rules.contention.queueing import Array

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
