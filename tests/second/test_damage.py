"""Damaged reports are read with equal figures, or refused by name, and never called quiet: see `tests.second.damage`."""

import random

import pytest

from tests.second.damage import EXAMPLES, REVERSIBLE, judged


@pytest.mark.slow
def test_a_drawn_twentieth_of_damaged_reports() -> None:
    drawn = random.Random(63)
    cases = [(report, (kind,)) for report in EXAMPLES for kind in REVERSIBLE]
    assert [said for said in judged(drawn.sample(cases, len(cases) // 20)) if said[1] != "equal"] == []
