"""How well the lists do on generated instances: a drawn part each time, and with all tests a refit beside the weights in use."""

import pytest

from bench.shortlist import FITTED, SAID, Listed, drawn_lists, fit, scored
from rules.shortlist import weights

SEED = 73
"""Of the instances that judge here. The weights were fitted on others."""
APART = 0.7
"""So far a weight may be from one that fewer instances give."""


def within_three(lists: list[Listed]) -> float:
    """The share of lists that have a true cause among the first three names."""
    got = scored(lists, weights())["all"].count
    return got["within three"] / got["lists"]


def test_a_drawn_part_has_the_right_cause_among_three_and_no_list_above_the_truth() -> None:
    lists = drawn_lists(SEED, "closed", odd=True, times=1, first=14)
    assert within_three(lists) >= 0.8
    assert not [one for one in lists if one.kind == "healthy"], "what costs nothing has no list"


@pytest.mark.slow
def test_fewer_instances_give_the_weights_in_use_and_chances_are_what_they_say() -> None:
    fitted = fit(drawn_lists(FITTED + 100, "a third unknown", odd=False, first=150))
    assert {
        name: (weight, fitted[name]) for name, weight in weights().items() if abs(weight - fitted[name]) > APART
    } == {}
    lists = drawn_lists(SEED, "closed", odd=True, times=2)
    got = scored(lists, fitted)["all"].count
    _, likely, _ = SAID
    assert 0.7 <= got[f"right {likely}"] / got[f"said {likely}"] <= 0.97
    assert got["wrong at 80"] <= 0.03 * got["lists"] and within_three(lists) >= 0.85
    assert got["cache"] >= 0.85 * got["cache asked"] > got["busiest"]
