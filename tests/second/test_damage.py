"""Damaged reports are read with equal figures, or refused by name, and never called quiet: see `tests.second.damage`."""

import random

import pytest

from tests.second.damage import EXAMPLES, REVERSIBLE, judged

REFUSED = {"Word", "browser", "line numbers"}
"""Nothing is lost by these, and yet reports are refused: 105 of 120. The aim is that none is; of the other kinds none was."""


@pytest.mark.slow
def test_a_drawn_twentieth_of_damaged_reports() -> None:
    drawn = random.Random(63)
    cases = [(report, (kind,)) for report in EXAMPLES for kind in REVERSIBLE]
    told = list(judged(drawn.sample(cases, len(cases) // 20)))
    assert [said for said in told if said[1] == "too quiet"] == []
    assert [said for said in told if said[1] != "equal" and not REFUSED.intersection(said[0][1])] == []
