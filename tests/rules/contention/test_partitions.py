"""Tables of partitions × batch: the published one and the emulated one, from few cells to the rest."""

import pytest

from rules.contention.partitions import TableCell, fit_partitions
from tests.rules.contention import acceptance
from tests.rules.contention.seeds import emulated_cells, freelist_cells


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
