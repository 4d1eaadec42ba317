"""Tables of partitions × batch: the published one and the emulated one, from few cells to the rest."""

import pytest

from rules.contention.partitions import PartitionFit, TableCell, fit_partitions
from tests.rules.contention.seeds import emulated, freelist_cells

CORNERS = {(1, 1), (1, 32), (16, 1), (16, 32)}
EIGHT = {(partitions, batch) for partitions in (1, 16) for batch in (1, 4, 16, 32)}


def errors(fit: PartitionFit, cells: list[TableCell], fitted: set[tuple[int, int]]) -> list[float]:
    left = [cell for cell in cells if (cell.partitions, cell.batch) not in fitted]
    return sorted(abs(fit.throughput(cell.partitions, cell.batch) / cell.throughput - 1) for cell in left)


def chosen(cells: list[TableCell], keys: set[tuple[int, int]]) -> list[TableCell]:
    return [cell for cell in cells if (cell.partitions, cell.batch) in keys]


def test_published_table_from_its_corners() -> None:
    cells = freelist_cells()
    fit = fit_partitions(chosen(cells, CORNERS), 60)
    off = errors(fit, cells, CORNERS)
    assert fit.form == "c/AN + e·AN" and len(off) == 26
    assert (off[13] <= 0.03, off[23] <= 0.08, off[25] <= 0.25) == (True, True, True), off


def test_published_table_from_eight_cells() -> None:
    cells = freelist_cells()
    off = errors(fit_partitions(chosen(cells, EIGHT), 60), cells, EIGHT)
    assert off[11] <= 0.03 and off[-1] <= 0.08, off


def test_emulated_table_from_its_corners_judged_on_the_other_repeat() -> None:
    first, second = ([_cell(*run) for run in emulated("batch", repeat)] for repeat in (1, 2))
    for known, judged in ((first, second), (second, first)):
        fit = fit_partitions(chosen(known, CORNERS), 15)
        off = errors(fit, judged, CORNERS)
        assert fit.form == "s + c/AN"
        assert off[13] <= 0.03 and off[23] <= 0.06 and off[-1] <= 0.09, off


def _cell(settings: dict[str, str], counts: object) -> TableCell:
    return TableCell(int(settings["p"]), int(settings["batch"]), float(settings["works"]) / float(settings["seconds"]))


def test_table_that_cannot_carry_a_fit_is_refused_with_the_way_out() -> None:
    cells = freelist_cells()
    with pytest.raises(ValueError, match="measure at least 4"):
        fit_partitions(cells[:3], 60)
    with pytest.raises(ValueError, match="at least two of each"):
        fit_partitions([cell for cell in cells if cell.partitions == 1], 60)
    with pytest.raises(ValueError, match="beyond 32"):
        fit_partitions(chosen(cells, CORNERS), 60).throughput(4, 64)
