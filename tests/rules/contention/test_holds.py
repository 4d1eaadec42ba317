"""From views to the input of the model, and what remains unknown."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log

import pytest

from collectors.model import Basis, Changes, Delta
from rules.contention.holds import (
    MOST_POWER,
    POWER,
    POWER_SPREAD,
    NotPredictable,
    SleepRegime,
    counts_of,
    fit_sleeps,
    hold_factor,
    hold_seconds,
    implied_budget,
    middle,
    ordinary_hold,
    processors,
    spin_budget,
    timed_poll_seconds,
    truncated,
)
from rules.context import SignalContext
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged
from tests.rules.contention.seeds import result_cache
from tests.rules.contention.test_prediction import demo

STORM = demo("undo-storm", 60, 90)


def test_counters_of_a_child_with_the_sessions_that_use_it() -> None:
    counts = counts_of(SignalContext(STORM), 1)
    assert counts.processes == pytest.approx(31, abs=0.5) and counts.seconds == 30
    assert counts.miss_ratio == pytest.approx(0.21, rel=1e-3) and counts.sleeps == pytest.approx(156_000, rel=1e-3)
    assert counts.wait_seconds / counts.sleeps == pytest.approx(1.9e-3, rel=1e-3)
    assert processors(SignalContext(STORM)) == 16


def without(delta: Delta, view: str) -> Delta:
    return replace(delta, readings={**delta.readings, view: Changes(view, ())})


def test_totals_and_missing_figures_are_refused_with_the_reason() -> None:
    with pytest.raises(NotPredictable, match="take an interval"):
        counts_of(SignalContext(replace(STORM, basis=Basis("totals", None, None, None))), 1)
    with pytest.raises(NotPredictable, match="v\\$sys_time_model"):
        counts_of(SignalContext(without(STORM, "v$sys_time_model")), 1)
    with pytest.raises(NotPredictable, match="no child 99"):
        counts_of(SignalContext(STORM), 99)


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


def test_hold_follows_from_counters_of_the_processor() -> None:
    assert hold_seconds(3157, 1.0, 3.157e9) == pytest.approx(1e-6)
    assert hold_factor(2.7, 1.35) == 0.5


def test_poll_of_a_need_of_a_millisecond_takes_ten_or_1_6() -> None:
    assert timed_poll_seconds(10e-3, 1e-3) == pytest.approx(10e-3, rel=1e-3)
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1e-3 / (1 - exp(-1)))
    assert timed_poll_seconds(1e-3, 1e-3) == pytest.approx(1.582e-3, rel=1e-3)
