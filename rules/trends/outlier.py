"""Whether a rate leaves what is ordinary of others: by their logarithms, and never on less than healthy rates vary anyway."""

from collections.abc import Sequence
from math import log, sqrt
from statistics import fmean, median

ORDINARY = 0.4
"""Spread of the logarithm that a healthy rate is taken to have before anything is known of it: half as much again, or a third
less. Chosen on series of our own; no public source is known."""
AS_GOOD_AS = 4
"""So many rates the assumption weighs as much as: a few that happen to lie close prove little."""
BEYOND = 5.0
"""Standard errors of one more rate: with it no healthy series of the tests has an outlier (tests/rules/trends)."""
LEAST_FACTOR = 3.0
"""Less than this many times the median is no outlier, however steady the others are."""
FEW_EVENTS = 10.0
"""Rates of fewer events than this are taken for as many: between none and a handful lies nothing."""


def stands_out(rate: float, others: Sequence[float], seconds: float) -> bool:
    """Whether a rate per second is beyond that of others, all over intervals of about so many seconds."""
    least = FEW_EVENTS / seconds
    logs = [log(max(other, least)) for other in others]
    middle, n = fmean(logs), len(logs)
    squares = sum((each - middle) ** 2 for each in logs)
    spread = sqrt((AS_GOOD_AS * ORDINARY**2 + squares) / (AS_GOOD_AS + n - 1))
    beyond = log(max(rate, least)) - middle > BEYOND * spread * sqrt(1 + 1 / n)
    return beyond and rate > LEAST_FACTOR * max(median(others), least)
