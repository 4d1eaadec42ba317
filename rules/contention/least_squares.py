"""Least squares for a handful of positive parameters, by Levenberg and Marquardt (SIAM J. Appl. Math. 11, 1963)."""

from collections.abc import Callable, Sequence

import numpy as np

from rules.contention.queueing import Array

STEP = 1e-5
LONGEST_STEP = 1.0
MOST_ROUNDS = 300
CLOSE = 1e-9
"""A step that reduces the squared error by less than this share gains nothing."""
NOTHING_LEFT = 1e-20


def fit_positive(residuals: Callable[[Array], Array], start: Sequence[float]) -> tuple[Array, Array]:
    """Parameters with the least sum of squared residuals, and their residuals. Searches in logarithms."""
    place = np.log(np.asarray(start, dtype=np.float64))
    left = residuals(np.exp(place))
    damping = 1e-2
    for _ in range(MOST_ROUNDS):
        slopes = _slopes(residuals, place, left)
        square = slopes.T @ slopes
        ridge = damping * np.diag(np.diag(square) + 1e-9)
        step = np.clip(np.linalg.solve(square + ridge, -slopes.T @ left), -LONGEST_STEP, LONGEST_STEP)
        there = residuals(np.exp(place + step))
        gain = float(left @ left - there @ there)
        if gain > 0:
            place, left, damping = place + step, there, max(damping / 3, 1e-12)
        else:
            damping *= 4
        if 0 < gain < CLOSE * float(left @ left) + NOTHING_LEFT or damping > 1e9:
            break
    return np.exp(place), left


def _slopes(residuals: Callable[[Array], Array], place: Array, left: Array) -> Array:
    columns = []
    for index in range(len(place)):
        moved = place.copy()
        moved[index] += STEP
        columns.append((residuals(np.exp(moved)) - left) / STEP)
    return np.array(columns).T
