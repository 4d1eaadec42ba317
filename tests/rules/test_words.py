"""Numbers as people read them."""

import pytest

from collectors.model import Basis
from rules.words import count, exact, number, over, part_of, percent, sentence, times


def test_counts_have_their_thousands_parted() -> None:
    assert (count(24_241_645), count(0), part_of(24_241_645, 24_242_220)) == (
        "24,241,645",
        "0",
        "24,241,645 of 24,242,220",
    )


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.78547, "78.5 %"),
        (24_241_645 / 24_242_220, "99.998 %"),
        (0.0003, "0.030 %"),
        (0.000003, "0.000 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (0.994, "99.4 %"),
    ],
)
def test_a_share_keeps_the_digits_that_tell_it_from_all_or_nothing(share: float, words: str) -> None:
    assert percent(share) == words


def test_digits_may_be_asked_for() -> None:
    assert percent(0.85028, 2) == "85.03 %"


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (11_364.66, "about 11,400 ×"),
        (100.0, "about 100 ×"),
        (999.6, "about 1,000 ×"),
        (99.94, "99.9 ×"),
        (3.4, "3.4 ×"),
    ],
)
def test_a_factor_is_an_estimate(factor: float, words: str) -> None:
    assert times(factor) == words


def test_over_which_time() -> None:
    assert over(Basis("interval", None, None, 30.0)) == "over an interval of 30.0 s"
    assert over(Basis("totals", None, None, None)) == "in totals since an unknown instance start"


def test_whole_numbers_are_written_without_a_fraction() -> None:
    assert (exact(5.0), exact(5.5)) == (5, 5.5)
    assert isinstance(exact(5.0), int)


@pytest.mark.parametrize(
    ("value", "words"),
    [(14_838.0, "14,838"), (11_364.66, "11,364.7"), (0.785469, "0.7855"), (0.0000069, "6.9e-06"), (0, "0")],
)
def test_values_of_signals(value: float, words: str) -> None:
    assert number(value) == words


def test_only_the_first_letter_is_raised() -> None:
    assert sentence("row cache waits cost of DB time") == "Row cache waits cost of DB time"
    assert sentence("") == ""
