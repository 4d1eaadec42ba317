"""Seeded draws: every number of an instance comes from here, so a seed defines an instance."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Option = TypeVar("Option")
NORMAL_FROM = 1e7
"""Above this mean a Poisson count is drawn from its normal limit."""


class Dice:
    """Draws that depend only on the seed and on the order of calls."""

    def __init__(self, *seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def between(self, low: float, high: float) -> float:
        """Uniform from low to high."""
        return float(self._random.uniform(low, high))

    def scale(self, low: float, high: float) -> float:
        """Uniform from low to high on a logarithmic scale."""
        return float(np.exp(self._random.uniform(np.log(low), np.log(high))))

    def about(self, median: float, spread: float = 0.3) -> float:
        """A lognormal number around a median; `spread` is the standard deviation of its logarithm."""
        return float(median * np.exp(self._random.normal(0.0, spread)))

    def count(self, mean: float) -> int:
        """A count with this mean (Poisson)."""
        if mean <= 0:
            return 0
        if mean > NORMAL_FROM:
            return max(0, round(float(self._random.normal(mean, mean**0.5))))
        return int(self._random.poisson(mean))

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return int(self._random.integers(low, high, endpoint=True))

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return bool(self._random.random() < probability)

    def pick(self, options: Sequence[Option]) -> Option:
        """One of several, equally likely."""
        return options[int(self._random.integers(len(options)))]

    def split(self, total: int, weights: Sequence[float]) -> list[int]:
        """A number of events, distributed by weights."""
        shares = np.asarray(weights, dtype=float)
        return [int(part) for part in self._random.multinomial(total, shares / shares.sum())]

    def sample(self, population: int, size: int) -> list[int]:
        """Different numbers below `population`, in the order drawn."""
        return [int(number) for number in self._random.choice(population, size=size, replace=False)]
