"""Whether a figure rises or falls over a series: Mann and Kendall's count of signs, with the slope of Theil and Sen."""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from statistics import median
from typing import Literal

from rules.formatting import rough
from rules.frozen import Frozen

MINIMUM_POINTS = 4
CONFIDENT = 1.64
"""Standard deviations of the count of signs: one series in ten without a trend goes beyond it, one way or the other."""
NOTICEABLE = 0.25
"""A trend that moves a figure by less than this share of its median over the whole series is none."""


class Trend(Frozen):
    """How one figure of a series moves."""

    figure: str
    direction: Literal["rising", "falling", "steady", "too few"]
    per_hour: float | None
    points: int
    sentence: str


def trend(figure: str, words: str, points: Sequence[tuple[float, float]]) -> Trend:
    """The trend of (hours, value) points; `words` is what people call the figure."""
    slopes = [
        (later[1] - first[1]) / (later[0] - first[0])
        for first, later in combinations(sorted(points), 2)
        if later[0] > first[0]
    ]
    if len(points) < MINIMUM_POINTS or not slopes:
        sentence = f"{len(points)} points of {words} are too few for a trend, at least {MINIMUM_POINTS} are needed."
        return Trend(figure=figure, direction="too few", per_hour=None, points=len(points), sentence=sentence)
    slope = median(slopes)
    if not _moves(points, slopes, slope):
        sentence = f"{words} are steady over {len(points)} points."
        return Trend(figure=figure, direction="steady", per_hour=slope, points=len(points), sentence=sentence)
    up = slope > 0
    sentence = f"{words} {'rise' if up else 'fall'} by {rough(abs(slope))} per hour over {len(points)} points."
    return Trend(
        figure=figure, direction="rising" if up else "falling", per_hour=slope, points=len(points), sentence=sentence
    )


def _moves(points: Sequence[tuple[float, float]], slopes: Sequence[float], slope: float) -> bool:
    """Whether the signs agree beyond chance, and the slope moves the figure noticeably."""
    signs = sum((slope > 0) - (slope < 0) for slope in slopes)
    n = len(points)
    certain = (abs(signs) - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18) >= CONFIDENT
    span = max(hours for hours, _ in points) - min(hours for hours, _ in points)
    middle = abs(median(value for _, value in points))
    return certain and slope * signs > 0 and abs(slope) * span > NOTICEABLE * middle
