"""The closed latch against its closed form, exact mean value analysis, and a simulation that shares no code with it."""

import numpy as np
import pytest

from rules.contention.queue import (
    HoldDraws,
    TableCell,
    budget_for,
    exact_mva,
    fit_partitions,
    invert,
    latch_state,
    light_load_hold,
    mean_wait,
    settle,
    stacked,
    state_chances,
    unstacked,
    wait_beyond,
    waits_beyond,
)
from tests.rules.contention import acceptance
from tests.rules.contention.seeds import emulated_cells, freelist_cells
from tests.rules.contention.simulation import simulate


@pytest.mark.parametrize("ratio", [1e-4, 0.05, 1.0, 30.0])
@pytest.mark.parametrize("processes", [2, 8, 64])
def test_closed_form_and_mean_value_analysis_agree_to_the_ninth_digit(processes: int, ratio: float) -> None:
    state = latch_state(processes, ratio)
    (chances,), (met,) = (state_chances(count, np.array([ratio])) for count in (processes, processes - 1))
    exact = exact_mva(processes, 1.0, [ratio])
    assert state.held[0] == pytest.approx(1 - chances[0], rel=1e-9)
    assert state.held[0] == pytest.approx(exact.utilisation[0], rel=1e-9)
    assert state.miss_ratio[0] == pytest.approx(1 - met[0], rel=1e-9)
    queue = float((np.arange(processes + 1) * chances).sum())
    assert state.queue[0] == pytest.approx(queue, rel=1e-9) == pytest.approx(exact.queue[0], rel=1e-9)


def test_loads_that_are_solved_together_settle_as_each_by_itself() -> None:
    """The second load needs more rounds than the first."""
    draws = np.linspace(0.8, 1.2, 7)
    holds = [HoldDraws(1e-6 * draws, used, np.full(7, power), 0.3 * draws) for used, power in ((0.1, 0.0), (0.02, 0.6))]
    thinks = [1e-4 * draws, 1e-6 * draws]
    together = unstacked(settle(40, np.stack(thinks), stacked(holds)))
    alone = [settle(40, think, hold) for think, hold in zip(thinks, holds, strict=True)]
    for first, second in zip(together, alone, strict=True):
        assert first.hold == pytest.approx(second.hold, rel=1e-12)
        assert first.miss_ratio == pytest.approx(second.miss_ratio, rel=1e-12)
    assert not np.allclose(alone[0].hold, alone[1].hold)


@pytest.mark.parametrize("processes", [1, 2, 8, 300])
def test_waits_of_many_ratios_are_those_of_each(processes: int) -> None:
    """300 processes are solved in several parts."""
    ratios, budgets = np.geomspace(1e-3, 10, 15), np.linspace(0.5, 20, 15)
    alone = [wait_beyond(processes, ratio, budget) for ratio, budget in zip(ratios, budgets, strict=True)]
    assert waits_beyond(processes, ratios, budgets) == pytest.approx(alone, rel=1e-9, abs=1e-15)
    assert any(alone) == (processes > 1)


def test_split_latch_is_the_network_of_its_parts() -> None:
    state = latch_state(15, 0.4, 4)
    exact = exact_mva(15, 2.5, [0.25] * 4)
    assert state.held[0] == pytest.approx(exact.throughput, rel=1e-9)
    busy = float(exact.arrival_busy.mean())
    assert state.miss_ratio[0] == pytest.approx(busy, rel=1e-9)
    assert latch_state(15, 1e6, 4).miss_ratio[0] == pytest.approx(14 / 17, rel=1e-4)


@pytest.mark.parametrize(("processes", "ratio"), [(2, 0.01), (15, 0.07), (64, 0.02)])
def test_inversion_gives_back_hold_and_think(processes: int, ratio: float) -> None:
    state = latch_state(processes, ratio)
    times = invert(processes, float(state.held[0]) / 2e-6, float(state.miss_ratio[0]))
    assert times.hold == pytest.approx(2e-6, rel=1e-6)
    assert times.think == pytest.approx(2e-6 / ratio, rel=1e-6)


def test_light_load_formula_is_the_limit_of_the_inversion() -> None:
    state = latch_state(8, 1e-3)
    rate, missed = float(state.held[0]) / 1e-6, float(state.miss_ratio[0])
    assert light_load_hold(8, rate, missed) == pytest.approx(1e-6, rel=2e-2)


@pytest.mark.parametrize(
    ("processes", "hold", "think", "latches"), [(6, 1e-6, 1e-5, 1), (12, 1e-6, 1e-5, 1), (15, 1e-6, 3e-6, 4)]
)
def test_simulated_latch_is_what_the_formulas_say(processes: int, hold: float, think: float, latches: int) -> None:
    seen = simulate(processes, hold, think, latches, 0.05, 4e-6)
    state = latch_state(processes, hold / think, latches)
    assert seen.gets / seen.seconds == pytest.approx(float(state.held[0]) / hold, rel=0.03)
    assert seen.misses / seen.gets == pytest.approx(float(state.miss_ratio[0]), rel=0.05)
    if latches == 1:
        outlasted = wait_beyond(processes, hold / think, 4.0)
        assert seen.outlasted / seen.misses == pytest.approx(outlasted, rel=0.1)
        assert mean_wait(processes, hold / think) == pytest.approx(state.queue[0] / state.held[0] - 1)
        assert budget_for(processes, hold / think, outlasted) == pytest.approx(4.0, rel=1e-6)


def test_figures_hold_their_bounds() -> None:
    judged = list(acceptance.partition_tables())
    assert judged and [figure for figure in judged if not figure.holds] == []


def test_form_of_the_demand_is_the_one_the_cells_ask_for() -> None:
    published, corners = freelist_cells(), acceptance.CORNERS
    assert fit_partitions(chosen(published, corners), 60).form == "c/AN + e·AN"
    assert fit_partitions(chosen(published, acceptance.EIGHT), 60).form == "s + c/AN + e·AN"
    assert fit_partitions(chosen(emulated_cells(1), corners), 15).form == "s + c/AN"


def chosen(cells: list[TableCell], keys: set[tuple[int, int]]) -> list[TableCell]:
    return [cell for cell in cells if (cell.partitions, cell.batch) in keys]


def test_table_that_cannot_carry_a_fit_is_refused_with_the_way_out() -> None:
    cells = freelist_cells()
    with pytest.raises(ValueError, match="measure at least 4"):
        fit_partitions(cells[:3], 60)
    with pytest.raises(ValueError, match="at least two of each"):
        fit_partitions([cell for cell in cells if cell.partitions == 1], 60)
    with pytest.raises(ValueError, match="beyond 32"):
        fit_partitions(chosen(cells, acceptance.CORNERS), 60).throughput(4, 64)
