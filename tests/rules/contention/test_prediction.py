"""Predictions for published tables and a latch emulated on real cores, with refusals and caveats."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rules.contention.calibration import calibrate
from rules.contention.change import LoadChange
from rules.contention.prediction import UNCHANGED, predict
from rules.contention.readings import LatchCounts, NotPredictable
from tests.each import each
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged

CALM = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=3, spin_gets=2e5)


@each(
    "figures",
    [
        acceptance.result_cache_throughput(),
        acceptance.result_cache_misses(62),
        acceptance.gets_at_fixed_n(),
        acceptance.one_row(3),
        acceptance.more_children(),
        acceptance.saturated_rows(),
        acceptance.more_processes(),
        acceptance.simulated_latches(12),
    ],
)
def test_figures_hold_their_bounds(figures: Iterator[Judged]) -> None:
    judged = list(figures)
    assert judged and [figure for figure in judged if not figure.holds] == []


@pytest.mark.parametrize(
    "nothing", [LoadChange(), LoadChange(latches=1), LoadChange(processes=8, speed=1.0), LoadChange(hottest=1.0)]
)
@pytest.mark.parametrize("row", [CALM, replace(CALM, misses=9.7e5)], ids=["calm", "saturated"])
def test_change_of_nothing_gives_back_what_was_counted(row: LatchCounts, nothing: LoadChange) -> None:
    told = predict(calibrate([row], row), nothing)
    figures = (told.work, told.gets_per_second, told.miss_ratio, told.misses, told.sleeps_per_second)
    for figure, now in zip(figures, (1.0, 1e5, row.miss_ratio, 1.0, 0.3), strict=True):
        assert figure is not None and (figure.value, figure.low, figure.high) == (now, now, now)
    assert told.notes == (UNCHANGED,)


@pytest.mark.parametrize("change", [LoadChange(latches=2), LoadChange(latches=16), LoadChange(gets=0.2)])
@pytest.mark.parametrize("sleeps", [3.0, 3e4, 1.5e5])
def test_sleeps_never_outnumber_what_misses_allow(change: LoadChange, sleeps: float) -> None:
    row = replace(CALM, sleeps=sleeps)
    told = predict(calibrate([row], row), change)
    assert told.sleeps_per_second is not None
    assert told.sleeps_per_second.high <= 1.14 * told.misses.high * 2e4 * (1 + 1e-9)


def test_more_processes_say_what_is_not_known_of_them() -> None:
    def notes(processors: int | None, change: LoadChange) -> str:
        return "\n".join(predict(calibrate([CALM], CALM, processors=processors), change).notes)

    assert "number of processors is unknown" in notes(None, LoadChange(processes=16))
    assert "number of processors" not in notes(32, LoadChange(processes=16))
    assert "run as fast as now" in notes(32, LoadChange(processes=16))
    assert "run as fast as now" not in notes(32, LoadChange(processes=16, speed=0.9)) + notes(32, LoadChange(gets=0.5))


def test_more_sleeps_than_misses_are_spoken_of() -> None:
    def notes(sleeps: float) -> str:
        row = replace(CALM, sleeps=sleeps)
        return "\n".join(predict(calibrate([row], row), LoadChange(gets=0.5)).notes)

    assert "per miss" not in notes(1e5)
    assert "1.5 sleeps per miss were counted" in notes(3e5) and "doubt" not in notes(3e5)
    assert "20 sleeps per miss were counted" in notes(4e6) and "doubt the figures of sleeps" in notes(4e6)


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


def test_saturated_latch_has_bounds_and_no_value() -> None:
    full = replace(CALM, misses=9.7e5)
    model = calibrate([full], full)
    split, fewer = predict(model, LoadChange(latches=4)), predict(model, LoadChange(gets=0.5))
    assert (split.work.value, split.work.low, split.work.high) == (None, 1.0, 4.0)
    assert (fewer.work.low, fewer.work.high) == (0.93, pytest.approx(1.12 / 0.5))
    with pytest.raises(NotPredictable, match="nothing about a greater load"):
        predict(model, LoadChange(gets=2))


def test_short_hold_widens_the_way_up() -> None:
    short = replace(CALM, gets=1e7, misses=2e6)
    told = predict(calibrate([short], short), LoadChange(gets=2))
    assert told.work.value is not None and told.work.low <= 0.65 * told.work.value
    assert any("microsecond" in note for note in told.notes)
