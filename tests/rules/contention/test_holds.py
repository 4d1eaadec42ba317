"""From views to the input of the model, and what remains unknown."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log

import pytest

from collectors.model import Basis, Changes, Delta, Missing
from rules.contention.holds import (
    MOST_POWER,
    POWER,
    POWER_SPREAD,
    LatchCounts,
    NotPredictable,
    SleepRegime,
    child_named,
    counts_of,
    fit_sleeps,
    fit_timed,
    hidden_spin_seconds,
    hidden_spin_share,
    hold_factor,
    hold_seconds,
    implied_budget,
    middle,
    ordinary_hold,
    processors,
    spin_budget,
    timed_latch,
    timed_poll_seconds,
    times_of,
    truncated,
)
from rules.contention.queue import mean_wait
from rules.context import SignalContext
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged
from tests.rules.contention.seeds import emulated, result_cache
from tests.rules.contention.test_prediction import demo

STORM = demo("undo-storm", 60, 90)


def test_counters_of_a_child_with_the_sessions_that_use_it() -> None:
    counts = counts_of(SignalContext(STORM), 1)
    assert counts.processes == pytest.approx(31, abs=0.5) and counts.seconds == 30
    assert counts.miss_ratio == pytest.approx(0.21, rel=1e-3) and counts.sleeps == pytest.approx(156_000, rel=1e-3)
    assert counts.wait_per_sleep == pytest.approx(1.9e-3, rel=1e-3)
    assert processors(SignalContext(STORM)) == 16


def test_child_is_the_one_that_guards_the_cache_or_sleeps_most() -> None:
    context = SignalContext(STORM)
    assert (child_named(context, None), child_named(context, "dc_tablespaces")) == (1, 5)
    with pytest.raises(
        NotPredictable, match=r"no child latch is known to guard dc_nothing; the caches are: .*dc_users"
    ):
        child_named(context, "dc_nothing")


def test_mutexes_say_what_cannot_be_predicted() -> None:
    with pytest.raises(NotPredictable, match="no gets and no misses"):
        child_named(SignalContext(demo("users-mutex", 30, 60)), None)


def test_latch_rows_of_a_release_with_mutexes_are_not_predicted_from() -> None:
    mutexes = demo("users-mutex", 30, 60)
    both = replace(mutexes, readings={**mutexes.readings, "v$latch_children": STORM.readings["v$latch_children"]})
    with pytest.raises(NotPredictable, match="no gets and no misses"):
        child_named(SignalContext(both), None)


def test_child_that_cannot_be_told_is_not_passed_over_for_another() -> None:
    view = STORM.readings["v$latch_children"]
    assert isinstance(view, Changes)
    rows = tuple(
        {name: value for name, value in row.items() if name != "sleeps"} if row["child#"] == 1 else row
        for row in view.rows
    )
    context = SignalContext(replace(STORM, readings={**STORM.readings, view.view: replace(view, rows=rows)}))
    with pytest.raises(NotPredictable, match="the sleeps of child 1 are missing: name a cache"):
        child_named(context, None)
    assert child_named(context, "dc_tablespaces") == 5


def test_source_without_children_is_told_what_helps_it() -> None:
    refused = Missing("v$latch_children", "refused", "ORA-00942", "GRANT SELECT ON SYS.V_$LATCH_CHILDREN TO LATCHSCOPE")
    views = replace(STORM, readings={**STORM.readings, "v$latch_children": refused})
    for delta, way_out in ((views, "GRANT SELECT"), (replace(views, source="report"), "take a capture with")):
        with pytest.raises(NotPredictable, match=way_out):
            child_named(SignalContext(delta), None)


def without(delta: Delta, view: str) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, ())})


def test_totals_and_missing_figures_are_refused_with_the_reason() -> None:
    with pytest.raises(NotPredictable, match="take an interval"):
        counts_of(SignalContext(replace(STORM, basis=Basis("totals", None, None, None))), 1)
    with pytest.raises(NotPredictable, match="v\\$sys_time_model"):
        counts_of(SignalContext(without(STORM, "v$sys_time_model")), 1)
    with pytest.raises(NotPredictable, match="no child 99"):
        counts_of(SignalContext(STORM), 99)
    with pytest.raises(NotPredictable, match="v\\$latch_children has no row"):
        child_named(SignalContext(without(STORM, "v$latch_children")), None)


def test_ordinary_hold_is_that_of_the_other_children() -> None:
    hold, scatter = ordinary_hold(SignalContext(STORM), 1)
    assert hold == pytest.approx(1.0e-7, rel=0.1)  # 0.002 misses per get at 20,769 gets a second
    assert 0.1 < scatter < 0.4
    quiet = tuple({**row, "misses": 0} for row in STORM.rows("v$latch_children"))
    calm = replace(STORM, readings={**STORM.readings, "v$latch_children": Changes("v$latch_children", quiet)})
    with pytest.raises(NotPredictable, match="hardly any misses"):
        ordinary_hold(SignalContext(calm), 1)


def test_middle_of_a_range_is_that_of_its_logarithms() -> None:
    assert middle(0.25, 1.0) == (pytest.approx(0.5), pytest.approx(log(4) / 12**0.5))
    assert middle(1.0, 1.0) == (1.0, 0.0)


@pytest.mark.parametrize(
    "figures",
    [acceptance.emulated_sleeps(), acceptance.itanium_sleeps(9), acceptance.spun_sleeps(62)],
    ids=["emulated", "Itanium", "T2 and i7"],
)
def test_figures_hold_their_bounds(figures: Iterator[Judged]) -> None:
    judged = list(figures)
    assert judged and [figure for figure in judged if not figure.holds] == []


def test_counters_give_back_the_spin_of_the_processor() -> None:
    budget = implied_budget(result_cache("UltraSPARC")[-1])
    assert budget == pytest.approx(1.01e-4, rel=0.03)
    assert 1 < budget / spin_budget(acceptance.CLOCKS["UltraSPARC"]) < 2


def test_regime_is_told_by_the_implied_spin() -> None:
    t2, itanium = result_cache("UltraSPARC")[9:], result_cache("Itanium")[3:]
    assert fit_sleeps(t2, spin_budget(1.4e9)).regime is SleepRegime.SPINS
    told = fit_sleeps(itanium, spin_budget(1.6e9))
    assert told.regime is SleepRegime.STALLS and told.point
    assert 1.5 < told.power < 2.5  # the published rows rise with the square of the miss ratio


def test_row_with_few_sleeps_tells_no_spin() -> None:
    assert implied_budget(result_cache("UltraSPARC")[3]) is None


def test_power_is_drawn_between_its_bounds_and_piles_up_at_none() -> None:
    drawn = truncated(6, POWER, POWER_SPREAD, 0.0, MOST_POWER)
    assert drawn[0] == POWER and drawn.min() > 0 and drawn.max() < MOST_POWER
    assert len(set(drawn[1:])) == len(drawn) - 1


def test_figures_hold_their_bounds_timer() -> None:
    judged = list(acceptance.finer_timer())
    assert judged and [figure for figure in judged if not figure.holds] == []


def test_hold_and_think_are_read_back_near_the_emulated_ones() -> None:
    (settings, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    latch = fit_timed(row, 1e-3)
    assert latch.hold == pytest.approx(float(settings["mean_hold_ns"]) / 1e9, rel=0.2)
    assert latch.think == pytest.approx(3e-6, rel=0.2)
    assert latch.work() == pytest.approx(row.gets_per_second, rel=1e-6)


def test_sleepers_of_no_end_leave_one_process_at_work() -> None:
    rate, missed = timed_latch(8, 1e-6, 3e-6, 0.5, 10.0)
    assert rate == pytest.approx(1 / 4e-6, rel=1e-3) and missed < 1e-4


def test_posted_latch_is_refused() -> None:
    (_, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    with pytest.raises(ValueError, match="no waiter slept twice"):
        fit_timed(replace(row, sleeps=row.misses - (row.spin_gets or 0.0)), 1e-3)
    with pytest.raises(ValueError, match="needs sleeps"):
        fit_timed(replace(row, sleeps=0), 1e-3)


def test_sleeps_shorter_than_the_grain_do_not_end_on_it() -> None:
    (_, row) = next(run for run in emulated("timer-3000", 1) if run[0]["gran_us"] == "1000")
    with pytest.raises(ValueError, match="less than a grain of 10 ms"):
        fit_timed(row, 1e-2)


def test_hold_follows_from_counters_of_the_processor() -> None:
    assert hold_seconds(3157, 1.0, 3.157e9) == pytest.approx(1e-6)
    assert hold_factor(2.7, 1.35) == 0.5


def test_spins_cost_what_wait_time_does_not_hold() -> None:
    row = LatchCounts(8, 10, gets=1e6, misses=1e5, sleeps=100, spin_gets=99_900, wait_seconds=0.5)
    assert hidden_spin_seconds(row, 2e-6, 33e-6) == pytest.approx(99_900 * 2e-6 + 100 * 33e-6)


def test_poll_of_a_need_of_a_millisecond_takes_ten_or_1_6() -> None:
    assert timed_poll_seconds(10e-3, 1e-3) == pytest.approx(10e-3, rel=1e-3)
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1e-3 / (1 - exp(-1)))
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1.582e-3, rel=1e-3)


def test_hidden_spin_of_an_interval_rests_on_the_wait_of_the_queue() -> None:
    row = LatchCounts(8, 10, gets=1e6, misses=2e5, sleeps=1e3, spin_gets=1.99e5)
    low, high = hidden_spin_share(row, (1e-5, 1e-1))
    assert high - low >= 1e3 * (1e-1 - 1e-5) / 10  # each sleep had a full spin before it
    times = times_of(row)
    assert 0 < low < 8 and low <= 1.99e4 * 1e-5 + 1e-3 + 1e-9
    assert mean_wait(8, times.hold / times.think) * times.hold * 1e5 < 8  # a process that waits does no work
