"""Whether a rate is outside the usual range of others: by logarithms, and never by less than healthy rates vary."""

from collections.abc import Sequence
from math import log, sqrt
from statistics import fmean, median

ORDINARY = 0.4
"""Assumed spread of the logarithm of a healthy rate before anything is known of it: half as much again, or a third
less. Chosen on our own series; no public source is known."""
AS_GOOD_AS = 4
"""The assumption weighs as much as this many rates. A few that happen to be close prove little."""
BEYOND = 5.0
"""Standard errors of one more rate. With it no healthy series of the tests has an outlier (tests/rules/trends)."""
LEAST_FACTOR = 3.0
"""A rate below this many times the median is not an outlier, however steady the others are."""
FEW_EVENTS = 10.0
"""A rate of fewer events counts as one of this many: there is no difference between none and a handful."""


def stands_out(rate: float, others: Sequence[float], seconds: float) -> bool:
    """Whether a rate per second is above that of others, all over intervals of about this many seconds."""
    least = FEW_EVENTS / seconds
    logs = [log(max(other, least)) for other in others]
    middle, n = fmean(logs), len(logs)
    squares = sum((each - middle) ** 2 for each in logs)
    spread = sqrt((AS_GOOD_AS * ORDINARY**2 + squares) / (AS_GOOD_AS + n - 1))
    beyond = log(max(rate, least)) - middle > BEYOND * spread * sqrt(1 + 1 / n)
    return beyond and rate > LEAST_FACTOR * max(median(others), least)
