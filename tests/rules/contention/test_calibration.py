"""From counters to a model, and the refused intervals with their reasons."""

from dataclasses import replace

import pytest

from rules.contention.calibration import calibrate, capped, saturation
from rules.contention.readings import LatchCounts, NotPredictable
from tests.each import each

ROW = LatchCounts(8, 10, gets=1e6, misses=2e5)


@each(
    ("rows", "why"),
    [
        ([], "no interval"),
        ([replace(ROW, misses=150)], "150 misses are too few .at least 200"),
        ([replace(ROW, processes=1.2)], "no collisions to model"),
        ([replace(ROW, gets=0)], "no gets"),
        ([replace(ROW, misses=2e6)], "more misses than gets"),
        ([ROW, replace(ROW, latches=2)], "different numbers of latches"),
    ],
)
def test_counters_that_cannot_carry_a_model_are_refused(rows: list[LatchCounts], why: str) -> None:
    with pytest.raises(NotPredictable, match=why):
        calibrate(rows)


def test_hold_and_think_make_the_counted_gets() -> None:
    model = calibrate([ROW], ROW)
    assert model.processes / model.gets_per_second == pytest.approx(model.think + 1.2 * model.hold.hold, rel=0.02)
    assert saturation(ROW) == pytest.approx(0.2)


def test_processors_cap_the_processes() -> None:
    assert capped(ROW, 4).processes == 4 and capped(ROW, 16) is ROW and capped(ROW, None) is ROW


def test_stalled_sleeps_are_no_thinking() -> None:
    slept = replace(ROW, sleeps=5e4, wait_seconds=5.0)
    assert calibrate([slept], slept).think < calibrate([ROW], ROW).think
    assert calibrate([slept], slept).sleep_cost == pytest.approx(1e-4 + 33e-6, rel=0.02)
