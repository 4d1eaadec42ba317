"""How far a change may reach, and how much of it takes effect."""

from dataclasses import replace

import pytest

from rules.contention.calibration import calibrate
from rules.contention.change import LoadChange, in_effect, loads_more
from rules.contention.readings import LatchCounts, NotPredictable
from tests.each import each

CALM = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=3, spin_gets=2e5)
MODEL = calibrate([CALM], CALM)


@each(
    ("change", "why"),
    [
        (LoadChange(gets=0.1), "gets × 0.1 is beyond ×5"),
        (LoadChange(gets=6), "beyond ×5"),
        (LoadChange(hold=0.1), "hold × 0.1 is beyond ×5"),
        (LoadChange(gets=3, hold=2), r"the load \(gets by hold\) × 6 is beyond ×5"),
        (LoadChange(gets=0), "above 0"),
        (LoadChange(hold=-1), "above 0"),
        (LoadChange(processes=41), "more than ×5 of the 8 observed"),
        (LoadChange(processes=1), "has no collisions"),
        (LoadChange(latches=17), "17 latches in place of 1 are beyond ×16, the most that was tested"),
    ],
)
def test_far_changes_are_refused_with_the_reason(change: LoadChange, why: str) -> None:
    with pytest.raises(NotPredictable, match=why):
        in_effect(MODEL, change)


def test_reach_is_that_of_the_load_and_holds_its_ends() -> None:
    for change in (LoadChange(gets=0.2), LoadChange(gets=5), LoadChange(gets=1 / 8, hold=1.6), LoadChange(latches=16)):
        assert in_effect(MODEL, change) == change


def test_what_is_so_already_is_no_change() -> None:
    assert in_effect(MODEL, LoadChange(latches=1, processes=8, speed=1.0)) == LoadChange()
    several = calibrate([replace(CALM, latches=4)])
    assert in_effect(several, LoadChange(latches=4, hottest=0.25)) == LoadChange()
    assert in_effect(several, LoadChange(latches=8, hottest=0.5)) == LoadChange(latches=8, hottest=0.5)


def test_which_changes_load_the_latch_more() -> None:
    assert loads_more(MODEL, LoadChange(processes=9)) and loads_more(MODEL, LoadChange(hold=1.1))
    assert not loads_more(MODEL, LoadChange(gets=0.5, latches=2))
