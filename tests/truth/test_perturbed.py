"""Changes that leave the truth of an instance as it is leave its verdict as it is."""

import pytest

from bench._truth_perturbed import flips, some
from collectors.delta import between
from collectors.model import Delta, number
from tests.truth.generate import case
from tests.truth.perturbed import NOISE, perturbed

HARMLESS = ("clock in another time zone", "all times 7 h later", "rows and columns permuted", "idle children doubled")
"""What says the same in another form. Noise and length may rightly move a figure over a bound."""


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed else []) for seed in some(16)])
def test_verdict_is_the_same_in_another_form(seed: int) -> None:
    changes = [change for change in flips(seed) if change.kind in HARMLESS]
    assert len(changes) >= 4
    assert [change for change in changes if change.what is not None] == []


@pytest.mark.slow
def test_every_kind_of_change_changes_what_it_says() -> None:
    one = case(some(16)[0])
    whole = between(one.begin, one.end)
    assert isinstance(whole, Delta)
    gets = {row["cache#"]: number(row["gets"]) or 0.0 for row in whole.rows("v$rowcache") if row["type"] == "PARENT"}
    busy = max(gets, key=lambda cache: gets[cache])
    kinds = set()
    for change in perturbed(some(16)[0], one.begin, one.end):
        kinds.add(change.kind)
        delta = between(change.begin, change.end)
        assert isinstance(delta, Delta)
        assert [oddity for oddity in delta.oddities if oddity.what != "repeated"] == []
        factor = (
            next(
                number(row["gets"])
                for row in delta.rows("v$rowcache")
                if (row["cache#"], row["type"]) == (busy, "PARENT")
            )
            / gets[busy]
        )
        if change.kind.startswith("counters"):
            assert NOISE[0] * 0.999 <= factor <= NOISE[1] * 1.001 and factor != 1.0
        elif change.lasting:
            assert factor == pytest.approx(delta.basis.seconds / whole.basis.seconds, rel=0.01)
        else:
            assert factor == 1.0
        if change.kind == "idle children doubled":
            assert len(delta.rows("v$latch_children")) == 2 * len(whole.rows("v$latch_children"))
    assert len(kinds) >= 7
