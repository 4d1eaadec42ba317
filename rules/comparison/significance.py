"""Whether two counts differ by more than chance and bursts explain."""

from math import sqrt

BOUND = 4.0
"""Standard deviations: twice what independent events need, because sleeps come in bursts."""
ORDINARY_FACTOR = 1.25
"""Large counts differ by this factor from hour to hour without any reason."""


def deviations(before: float, after: float, exposure_before: float, exposure_after: float) -> float:
    """How many standard deviations of a Poisson count lie between two rates. Exchanged sides give the same.

    Anscombe's square root makes it valid for few events and for none. Exposures are seconds, executions, gets: the unit
    that the counts are divided by. Both are above zero.
    """
    share = exposure_after / exposure_before
    apart = sqrt(after + 3 / 8) - sqrt(share) * sqrt(before + 3 / 8)
    return 2 * abs(apart) / sqrt(1 + share)


def beyond_noise(before: float, after: float, exposure_before: float, exposure_after: float) -> bool:
    """Whether two rates differ by more than noise: by at least an ordinary factor, and by more than chance."""
    low, high = sorted((before / exposure_before, after / exposure_after))
    if high < ORDINARY_FACTOR * low or high == low:
        return False
    return deviations(before, after, exposure_before, exposure_after) >= BOUND


def factor_apart(before: float, after: float, least: float = ORDINARY_FACTOR, apart: float = 0.0) -> bool:
    """Whether two levels, which are not counts, differ by at least a factor and an amount."""
    low, high = sorted((before, after))
    return high > low and high >= least * low and high - low >= apart
