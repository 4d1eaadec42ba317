"""Predictions for published tables and a latch emulated on real cores, with refusals and caveats."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from collectors.delta import between
from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.model import Delta
from collectors.poll import poll
from rules.contention.holds import LatchCounts, NotPredictable, counts_of
from rules.contention.prediction import (
    UNCHANGED,
    LoadChange,
    calibrate,
    capped,
    in_effect,
    loads_more,
    predict,
    score,
)
from rules.context import SignalContext
from rules.engine import diagnose
from tests.collectors.scripted import BEGAN
from tests.rules.contention import acceptance, staged
from tests.rules.contention.acceptance import Judged

CALM = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=3)


@pytest.mark.parametrize(
    "figures",
    [
        acceptance.result_cache_throughput(),
        acceptance.result_cache_misses(62),
        acceptance.gets_at_fixed_n(),
        acceptance.one_row(3),
        acceptance.saturated_rows(),
        acceptance.more_processes(),
        acceptance.simulated_latches(12),
    ],
)
def test_figures_hold_their_bounds(figures: Iterator[Judged]) -> None:
    judged = list(figures)
    assert judged and [figure for figure in judged if not figure.holds] == []


@pytest.mark.parametrize("nothing", [LoadChange(), LoadChange(processes=8, speed=1.0)])
@pytest.mark.parametrize("row", [CALM, replace(CALM, misses=9.7e5)], ids=["calm", "saturated"])
def test_change_of_nothing_gives_back_what_was_counted(row: LatchCounts, nothing: LoadChange) -> None:
    told = predict(calibrate([row], row), nothing)
    figures = (told.work, told.gets_per_second, told.miss_ratio, told.misses, told.sleeps_per_second)
    for figure, now in zip(figures, (1.0, 1e5, row.miss_ratio, 1.0, 0.3), strict=True):
        assert figure is not None and (figure.value, figure.low, figure.high) == (now, now, now)
    assert told.notes == (UNCHANGED,)


@pytest.mark.parametrize("change", [LoadChange(gets=0.5), LoadChange(gets=0.2)])
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
    fewer = predict(model, LoadChange(gets=0.5))
    assert (fewer.work.value, fewer.work.low, fewer.work.high) == (None, 0.93, pytest.approx(1.12 / 0.5))
    with pytest.raises(NotPredictable, match="nothing about a greater load"):
        predict(model, LoadChange(gets=2))


def test_short_hold_widens_the_way_up() -> None:
    short = replace(CALM, gets=1e7, misses=2e6)
    told = predict(calibrate([short], short), LoadChange(gets=2))
    assert told.work.value is not None and told.work.low <= 0.65 * told.work.value
    assert any("microsecond" in note for note in told.notes)


def demo(name: str, begin: float, end: float) -> Delta:
    """The change of a scripted database between two seconds of its loop."""
    now = [begin]
    database = ScriptedDatabase(scenarios()[name], BEGAN, lambda: now[0])
    earlier = poll(name, database)
    now[0] = end
    delta = between(earlier, poll(name, database, earlier))
    assert isinstance(delta, Delta)
    return delta


def test_prediction_before_the_remedy_brackets_what_came_after_within_a_factor_of_three() -> None:
    before, after = demo("undo-storm", 60, 90), demo("undo-storm", 170, 200)
    told = diagnose(before).prediction
    assert told is not None and (told.cause, told.child, told.refused) == ("undo-segments", 1, None)
    came = counts_of(SignalContext(after), 1)
    missed = told.figures[0]
    assert missed.now == pytest.approx(0.21, rel=1e-3) and came.miss_ratio == pytest.approx(0.006, rel=1e-3)
    assert missed.low <= came.miss_ratio <= missed.high
    assert missed.high / missed.low <= 3


def test_score_says_what_was_predicted_and_what_came() -> None:
    told = diagnose(demo("undo-storm", 60, 90)).prediction
    assert told is not None
    after, still = (counts_of(SignalContext(demo("undo-storm", *span)), 1) for span in ((170, 200), (90, 120)))
    good, bad = score(told, after), score(told, still)
    assert good is not None and bad is not None
    assert good.held and good.statement.startswith("the prediction made before held: 0.6 % of gets missed where ")
    assert not bad.held and bad.statement.startswith("the prediction made before failed: 21.0 % of gets missed")
    missed = good.figures[0]
    assert (missed.inside, missed.before, missed.came) == (True, told.figures[0].now, after.miss_ratio)
    assert (missed.low, missed.high) == (told.figures[0].low, told.figures[0].high)


def test_refusal_is_said_and_has_no_score() -> None:
    told = diagnose(demo("parse-storm", 60, 90)).prediction
    assert told is not None and told.refused and told.figures == ()
    assert told.statement == f"no prediction: {told.refused}"
    assert score(told, counts_of(SignalContext(demo("parse-storm", 60, 90)), 1)) is None


def test_database_in_order_has_no_prediction() -> None:
    assert diagnose(demo("busy-but-fine", 60, 90)).prediction is None


def test_staged_instances_come_out_within_their_intervals() -> None:
    """A sample; `make bench-model` judges all of them."""
    one, six = (staged.judged(islice(staged.staged(), 0, None, 6), intervals) for intervals in (1, 6))
    for judged in (one, six):
        assert len(judged) >= 4
        assert np.mean([held for _, held, _ in judged]) >= 0.8
    assert np.median([width for *_, width in six]) < np.median([width for *_, width in one])


MODEL = calibrate([CALM], CALM)


@pytest.mark.parametrize(
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
    ],
)
def test_far_changes_are_refused_with_the_reason(change: LoadChange, why: str) -> None:
    with pytest.raises(NotPredictable, match=why):
        in_effect(MODEL, change)


def test_reach_is_that_of_the_load_and_holds_its_ends() -> None:
    for change in (LoadChange(gets=0.2), LoadChange(gets=5), LoadChange(gets=1 / 8, hold=1.6)):
        assert in_effect(MODEL, change) == change


def test_what_is_so_already_is_no_change() -> None:
    assert in_effect(MODEL, LoadChange(processes=8, speed=1.0)) == LoadChange()
    assert in_effect(MODEL, LoadChange(gets=0.5, processes=8)) == LoadChange(gets=0.5)


def test_which_changes_load_the_latch_more() -> None:
    assert loads_more(MODEL, LoadChange(processes=9)) and loads_more(MODEL, LoadChange(hold=1.1))
    assert not loads_more(MODEL, LoadChange(gets=0.5))


ROW = LatchCounts(8, 10, gets=1e6, misses=2e5)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "no interval"),
        ([replace(ROW, misses=150)], "150 misses are too few .at least 200"),
        ([replace(ROW, processes=1.2)], "no collisions to model"),
        ([replace(ROW, gets=0)], "no gets"),
        ([replace(ROW, misses=2e6)], "more misses than gets"),
    ],
)
def test_counters_that_cannot_carry_a_model_are_refused(rows: list[LatchCounts], why: str) -> None:
    with pytest.raises(NotPredictable, match=why):
        calibrate(rows)


def test_hold_and_think_make_the_counted_gets() -> None:
    model = calibrate([ROW], ROW)
    assert model.processes / model.gets_per_second == pytest.approx(model.think + 1.2 * model.hold.hold, rel=0.02)


def test_processors_cap_the_processes() -> None:
    assert capped(ROW, 4).processes == 4 and capped(ROW, 16) is ROW and capped(ROW, None) is ROW


def test_stalled_sleeps_are_no_thinking() -> None:
    slept = replace(ROW, sleeps=5e4, wait_seconds=5.0)
    assert calibrate([slept], slept).think < calibrate([ROW], ROW).think
    assert calibrate([slept], slept).sleep_cost == pytest.approx(1e-4 + 33e-6, rel=0.02)
