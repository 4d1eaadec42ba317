"""Two problems at once, in the generator's pairs: both caches with their part of the cost, both causes, and nothing made up."""

import pytest

from bench._truth_scores import above_info, diagnosed
from rules.model import Diagnosis
from tests.truth.generate import case
from tests.truth.plan import seeds, setting_of
from tests.truth.truth import Trouble

PAIRS = [seed for seed in seeds() if setting_of(seed).kind == "pair"]
NEAR, NAMED, FOUND = 1.5, 0.95, 0.92
"""A part is right within this factor; of the pairs with two caches so many have both right, and of all so many both causes."""


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_both_caches_have_their_part_and_both_causes_are_found(step: int) -> None:
    named, found = list[bool](), list[bool]()
    for seed in PAIRS[::step]:
        generated = case(seed)
        got, staged = diagnosed(generated), generated.truth.troubles
        found.append({one.cause for one in above_info(got)}.issuperset(generated.truth.causes))
        if all(one.caches for one in staged):
            named.append(all(1 / NEAR <= _part(got, one) / one.share <= NEAR for one in staged))
    few = step > 1  # of a twentieth one is more than one in twenty
    assert sum(named) + few >= NAMED * len(named) and sum(found) + few >= FOUND * len(found), (named, found)


def _part(got: Diagnosis, staged: Trouble) -> float:
    """What a diagnosis says that waits for the caches of a staged problem cost."""
    own = (one for one in got.troubles if not set(one.caches).isdisjoint(staged.caches))
    return sum(one.share_of_db_time or 0.0 for one in own)
