"""Sleeps: the two regimes on published and emulated latches, and the spin budget derived from counters."""

from collections.abc import Iterator

import pytest

from rules.contention.draws import truncated
from rules.contention.sleeping import (
    MOST_POWER,
    POWER,
    POWER_SPREAD,
    SleepRegime,
    fit_sleeps,
    implied_budget,
    spin_budget,
)
from tests.rules.contention import acceptance
from tests.rules.contention.acceptance import Judged
from tests.rules.contention.seeds import result_cache


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
