"""Predictions against published tables and a latch emulated on real cores; the refusals, and what a prediction says of itself."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rules.contention.calibration import NotPredictable, calibrate
from rules.contention.observation import LatchCounts
from rules.contention.prediction import LoadChange, predict
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged

CALM = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=3, spin_gets=2e5)


@pytest.mark.parametrize(
    "figures",
    [
        acceptance.result_cache_throughput(),
        acceptance.result_cache_misses(31),
        acceptance.gets_at_fixed_n(),
        acceptance.one_row(3),
        acceptance.more_children(),
        acceptance.saturated_rows(),
        acceptance.more_processes(),
        acceptance.simulated_latches(24),
    ],
    ids=["RC throughput", "RC misses", "gets", "one row", "children", "saturated", "processes", "simulated"],
)
def test_figures_hold_their_bounds(figures: Iterator[Judged]) -> None:
    judged = list(figures)
    assert judged and [figure for figure in judged if not figure.holds] == []


def test_change_of_nothing_predicts_what_is() -> None:
    told = predict(calibrate([CALM], CALM), LoadChange())
    assert told.work.value == 1.0
    assert told.miss_ratio.value == pytest.approx(0.2) and told.gets_per_second.value == pytest.approx(1e5)


def test_fewer_gets_mean_fewer_misses_and_not_less_work() -> None:
    told = predict(calibrate([CALM], CALM), LoadChange(gets=0.2))
    assert told.work.value is not None and told.work.value > 1
    assert told.misses.value is not None and told.misses.value < 0.2 * 0.5
    assert told.miss_ratio.low < told.miss_ratio.high < 0.2


def test_few_sleeps_give_a_bound_and_no_value() -> None:
    sleeps = predict(calibrate([CALM], CALM), LoadChange(gets=0.5)).sleeps_per_second
    assert sleeps is not None
    assert (sleeps.value, sleeps.low) == (None, 0.0) and sleeps.high > 0


def test_one_interval_is_low_confidence_and_three_are_not() -> None:
    assert any("low confidence" in note for note in predict(calibrate([CALM], CALM), LoadChange(gets=0.5)).notes)
    three = calibrate([CALM, replace(CALM, misses=2.1e5), replace(CALM, misses=1.9e5)], CALM)
    assert not any("low confidence" in note for note in predict(three, LoadChange(gets=0.5)).notes)


def test_as_many_processes_as_processors_give_no_figure_of_sleeps() -> None:
    model = calibrate([CALM], CALM, processors=8)
    told = predict(model, LoadChange(gets=0.5))
    assert told.sleeps_per_second is None and any("processors" in note for note in told.notes)
    with pytest.raises(NotPredictable, match="more than the 8 processors"):
        predict(model, LoadChange(processes=12))


def test_processes_beyond_the_processors_are_left_out_of_the_queue() -> None:
    assert calibrate([replace(CALM, processes=40)], processors=16).processes == 16


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (LoadChange(gets=0.1), "beyond ×5"),
        (LoadChange(gets=6), "beyond ×5"),
        (LoadChange(gets=0), "above 0"),
        (LoadChange(hold=-1), "above 0"),
        (LoadChange(processes=41), "more than ×5"),
    ],
)
def test_far_changes_are_refused_with_the_reason(change: LoadChange, why: str) -> None:
    with pytest.raises(NotPredictable, match=why):
        predict(calibrate([CALM], CALM), change)


def test_saturated_latch_has_bounds_and_no_value() -> None:
    full = replace(CALM, misses=9.7e5)
    model = calibrate([full], full)
    split, fewer = predict(model, LoadChange(latches=4)), predict(model, LoadChange(gets=0.5))
    assert (split.work.value, split.work.low, split.work.high) == (None, 1.0, 4.0)
    assert (fewer.work.low, fewer.work.high) == (0.93, pytest.approx(1.12 / 0.5))
    with pytest.raises(NotPredictable, match="nothing of a greater load"):
        predict(model, LoadChange(gets=2))


def test_short_hold_widens_the_way_up() -> None:
    short = replace(CALM, gets=1e7, misses=2e6)
    told = predict(calibrate([short], short), LoadChange(gets=2))
    assert told.work.value is not None and told.work.low <= 0.65 * told.work.value
    assert any("microsecond" in note for note in told.notes)
