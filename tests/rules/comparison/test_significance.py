"""Noise: a handful is no change, a burst is none either, and swapped sides give the same answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.comparison.significance import beyond_noise, deviations, factor_apart
from tests.each import each

COUNTS = st.integers(0, 10**9)
EXPOSURES = st.floats(1, 1e9)


@each(
    ("before", "after", "beyond"),
    [
        (5, 0, False),
        (9, 3, False),
        (30, 10, False),
        (12, 0, True),
        (100, 40, True),
        (100, 90, False),
        (10**8, 8 * 10**7 + 1, False),
        (10**8, 79 * 10**6, True),
        (0, 0, False),
    ],
)
def test_beyond_noise_of_counts_over_equal_windows(before: int, after: int, beyond: bool) -> None:
    assert beyond_noise(before, after, 1000, 1000) is beyond


def test_beyond_noise_weighs_unequal_windows() -> None:
    assert not beyond_noise(400, 100, 4000, 1000), "the same rate"
    assert not beyond_noise(40, 0, 4000, 100), "one was due"
    assert beyond_noise(4000, 0, 4000, 100), "a hundred were expected"


@given(COUNTS, COUNTS, EXPOSURES, EXPOSURES)
def test_deviations_are_the_same_with_the_sides_swapped(before: int, after: int, first: float, second: float) -> None:
    there, back = deviations(before, after, first, second), deviations(after, before, second, first)
    assert there == pytest.approx(back, rel=1e-6, abs=1e-6)
    assert deviations(before, before, first, first) == 0.0


def test_factor_apart_requires_a_factor_and_a_minimum_difference() -> None:
    assert factor_apart(100, 126)
    assert not factor_apart(100, 124)
    assert factor_apart(0, 1)
    assert not factor_apart(0, 0)
    assert not factor_apart(5, 10, apart=20)
