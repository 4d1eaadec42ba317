"""Whether a figure rises or falls over a series: the count of signs by Mann and Kendall, with the slope by Theil and Sen."""

from collections.abc import Sequence
from itertools import combinations
from math import log, sqrt
from statistics import median
from typing import Literal

from rules.formatting import rough
from rules.frozen import Frozen

MINIMUM_POINTS = 4
CONFIDENT = 1.64
"""Standard deviations of the count of signs. One series in ten without a trend exceeds it, so it is not enough alone."""
ORDINARY = 0.35
"""Least assumed spread of the logarithm: the figures of a healthy hour are a third more or less than those of
another, and a few points that happen to be close do not prove less. Chosen on our own series; no public source is known."""
NORMAL = 1.4826
"""Median deviations that make a standard deviation."""
ABOVE_NOISE = 4.5
"""The rise or fall over the whole series, in standard errors of a line through points with that spread. With it about one
healthy figure in a thousand shows a trend (tests/rules/trends)."""
FLOOR = 0.05
"""Added to each value before its logarithm, as a share of the median, so that a value near zero is not endlessly small."""


class Trend(Frozen):
    """How one figure of a series moves."""

    figure: str
    direction: Literal["rising", "falling", "steady", "too few"]
    per_hour: float | None
    points: int
    sentence: str


def trend(figure: str, words: str, points: Sequence[tuple[float, float]]) -> Trend:
    """The trend of (hours, value) points. `words` is the name of the figure."""
    slopes = [_slope(first, later) for first, later in combinations(sorted(points), 2) if later[0] > first[0]]
    if len(points) < MINIMUM_POINTS or not slopes:
        sentence = f"{len(points)} points of {words} are too few for a trend, at least {MINIMUM_POINTS} are needed."
        return Trend(figure=figure, direction="too few", per_hour=None, points=len(points), sentence=sentence)
    slope = median(slopes)
    if not _moves(points, slope):
        sentence = f"{words} are steady over {len(points)} points."
        return Trend(figure=figure, direction="steady", per_hour=slope, points=len(points), sentence=sentence)
    up = slope > 0
    sentence = f"{words} {'rise' if up else 'fall'} by {rough(abs(slope))} per hour over {len(points)} points."
    return Trend(
        figure=figure, direction="rising" if up else "falling", per_hour=slope, points=len(points), sentence=sentence
    )


def _moves(points: Sequence[tuple[float, float]], slope: float) -> bool:
    """Whether the signs agree beyond chance, and the figure grows or shrinks by more than it usually varies."""
    middle = median(value for _, value in points)
    if middle <= 0:
        return False
    scaled = sorted((when, log(max(value, 0.0) + FLOOR * middle)) for when, value in points)
    slopes = [_slope(first, later) for first, later in combinations(scaled, 2) if later[0] > first[0]]
    n, signs = len(scaled), sum((each > 0) - (each < 0) for each in slopes)
    certain = (abs(signs) - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18) >= CONFIDENT
    growth = median(slopes)
    left = [value - growth * when for when, value in scaled]
    spread = NORMAL * median(abs(value - median(left)) for value in left)
    moved = abs(growth) * (scaled[-1][0] - scaled[0][0])
    return certain and growth * slope > 0 and moved > ABOVE_NOISE * max(spread, ORDINARY) * sqrt(12 / (n + 2))


def _slope(first: tuple[float, float], later: tuple[float, float]) -> float:
    return (later[1] - first[1]) / (later[0] - first[0])
