"""Hang analyses with a truth, read by the command line: see `tests.second.dumps`."""

from random import Random

import pytest

from tests.second.dumps import draw, run

DRAWN, PART = 2000, 40


@pytest.mark.slow
def test_counts_and_holders_of_a_drawn_40() -> None:
    seeds = sorted(Random(64).sample(range(1, DRAWN + 1), PART))
    assert len({(draw(seed).old, bool(tree.circle)) for seed in seeds for tree in draw(seed).trees}) == 4
    right, wrong = run(seeds)
    assert right["chain: holder"] >= PART / 2
    assert not [fault for faults in wrong.values() for fault in faults]
