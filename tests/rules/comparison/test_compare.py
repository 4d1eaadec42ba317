"""compare(): equal sides give no change, swapped sides give the inverse, and an absent value is never zero."""

import pytest
from hypothesis import given

from rules.comparison.changes import Comparison, FigureChange
from rules.comparison.compare import compare
from tests.rules.test_engine import SEEDS, generated


def change(got: Comparison, name: str, of: str | None = None) -> FigureChange:
    told = got.find(name, of)
    assert told is not None, name
    return told


@given(SEEDS)
def test_compare_of_a_delta_with_itself_shows_no_change(seed: int) -> None:
    delta = generated(seed)
    got = compare(delta, delta)
    assert {change.direction for change in got.changes} <= {"same", "cannot tell"}
    assert {change.verdict for change in got.changes} <= {"within noise", "cannot tell"}
    assert {change.factor for change in got.changes} <= {1.0, None}
    assert "rose" not in got.sentence
    assert "fell " not in got.sentence


@pytest.mark.slow
@given(SEEDS, SEEDS)
def test_compare_with_sides_swapped_inverts_every_factor(one: int, other: int) -> None:
    first, second = generated(one), generated(other)
    there, back = compare(first, second), compare(second, first)
    turned = {"rose": "fell", "fell": "rose"}
    assert len(there.changes) == len(back.changes)
    by_name = {(one.name, one.of): one for one in back.changes}
    for change in there.changes:
        mirrored = by_name[change.name, change.of]
        assert mirrored.direction == turned.get(change.direction, change.direction)
        assert (mirrored.verdict, mirrored.unit) == (change.verdict, change.unit)
        assert (mirrored.before, mirrored.after) == (change.after, change.before)
        assert (mirrored.factor is None) == (change.factor is None)
        if change.factor is not None and mirrored.factor is not None:
            assert change.factor * mirrored.factor == pytest.approx(1.0)
