"""Trends: four points at least, agreement beyond chance, and enough to be noticed."""

from hypothesis import given
from hypothesis import strategies as st

from rules.formatting import rough
from rules.trends.trend import trend


def direction(*values: float) -> str:
    return trend("x", "sleeps", list(enumerate(values))).direction


def test_trend_is_rising_falling_steady_or_too_few() -> None:
    assert direction(1, 2, 4) == "too few"
    assert direction() == "too few"
    assert direction(1, 4, 9, 20) == "rising"
    assert direction(90, 27, 8, 3) == "falling"
    assert direction(5, 1, 6, 2, 5, 1) == "steady"
    assert direction(0, 0, 0, 0, 0) == "steady"


def test_trend_is_neither_made_nor_hidden_by_one_outlier() -> None:
    assert direction(1, 1, 1, 1, 1, 900) == "steady"
    assert direction(1, 2, 4, 9000, 16, 32, 64, 128) == "rising"


def test_trend_of_few_points_that_healthy_hours_give_anyway_is_steady() -> None:
    assert direction(1, 2, 3, 4) == "steady", "one healthy series in twelve of four points rises throughout"
    assert direction(9, 7, 4, 3) == "steady"
    assert direction(*range(1, 25)) == "rising", "over a whole day, chance does not give the same"


def test_trend_of_an_unnoticeable_slope_is_steady() -> None:
    assert direction(1000, 1001, 1002, 1003, 1004) == "steady"


def test_slope_is_per_hour_and_robust() -> None:
    told = trend("x", "sleeps", [(0, 1), (2, 4), (4, 16), (6, 5_000_000), (8, 256), (10, 1024), (12, 4096)])
    assert told.per_hour is not None and 50 < told.per_hour < 1_000, "one outlier does not set it"
    assert told.sentence == f"sleeps rise by {rough(told.per_hour)} per hour over 7 points."
    straight = trend("x", "sleeps", [(0, 10), (2, 30), (4, 50), (6, 70)])
    assert straight.per_hour == 10


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=12))
def test_trend_read_backwards_turns_a_rise_into_a_fall(values: list[float]) -> None:
    other = {"rising": "falling", "falling": "rising"}
    there, back = direction(*values), direction(*reversed(values))
    assert back == other.get(there, there)
