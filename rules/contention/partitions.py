"""Tables of partitions × batch: a structure split into PN latches, AN items moved per get.

Each of N workers thinks Z = A + B/AN per unit of work (B is what a refill costs besides the latch) and needs D seconds of latch
per unit, spread over PN latches. So the throughput is that of a closed network with demands D/PN. A get holds s0 + s1·AN, which
makes D = s + c/AN per unit. If a larger batch costs more per item than it saves, D = c/AN + e·AN; with both, all three terms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from rules.contention.least_squares import fit_positive
from rules.contention.queueing import Array, latch_state

LEAST_CELLS = 4
MOST_WORTH = 0.9
"""Another term is kept only if it reduces the squared error by this share."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """One measured setting."""

    partitions: int
    batch: int
    throughput: float
    """Units of work per second."""


@dataclass(frozen=True, slots=True)
class DemandTerms:
    """Seconds per unit of work. An absent term is 0."""

    think: float
    """A."""
    think_per_batch: float
    """B."""
    per_item: float
    """s."""
    per_batch: float
    """c."""
    growing: float
    """e."""

    def think_seconds(self, batch: int) -> float:
        """Z = A + B/AN."""
        return self.think + self.think_per_batch / batch

    def latch_seconds(self, batch: int) -> float:
        """D = s + c/AN + e·AN."""
        return self.per_item + self.per_batch / batch + self.growing * batch


@dataclass(frozen=True, slots=True)
class PartitionFit:
    """Terms that explain a table, and how well."""

    terms: DemandTerms
    processes: int
    error: float
    """Root mean square of ln(predicted/measured) over the fitted cells, per degree of freedom; 0 where cells equal terms."""
    cells: int
    most_batch: int
    """Largest batch measured. There is no prediction beyond it."""
    form: str
    """The terms of D in words: `s + c/AN`, `c/AN + e·AN` or `s + c/AN + e·AN`."""

    def throughput(self, partitions: int, batch: int) -> float:
        """Units of work per second. ValueError for a batch larger than any measured."""
        if batch > self.most_batch:
            raise ValueError(
                f"batch {batch} is beyond {self.most_batch}, the largest that was measured: measure it instead"
            )
        return table_throughput(self.terms, self.processes, partitions, batch)


def table_throughput(terms: DemandTerms, processes: int, partitions: int, batch: int) -> float:
    """Units of work per second of a closed network with these terms."""
    demand = terms.latch_seconds(batch)
    state = latch_state(processes, demand / terms.think_seconds(batch), partitions)
    return float(state.held[0]) / demand


FORMS: Mapping[str, tuple[bool, bool]] = {
    "s + c/AN": (True, False),
    "c/AN + e·AN": (False, True),
    "s + c/AN + e·AN": (True, True),
}
"""Form of D → whether it has the terms s and e."""


def fit_partitions(cells: Sequence[TableCell], processes: int, form: str | None = None) -> PartitionFit:
    """The terms of a table. Without `form` the data choose. ValueError with fewer than LEAST_CELLS cells.

    Four cells fit both two-term forms equally. Then s + c/AN is used, unless it makes the part per item longer than the part
    per batch: the fixed part of a critical section is the longer one, so a cost that grows with the batch explains it better.
    """
    if len(cells) < LEAST_CELLS:
        raise ValueError(
            f"{len(cells)} cells cannot tell four terms: measure at least {LEAST_CELLS}, two batches × two partitions"
        )
    if len({cell.batch for cell in cells}) < 2 or len({cell.partitions for cell in cells}) < 2:
        raise ValueError("the table varies only one of partitions and batch: measure at least two of each")
    if form is not None:
        return _fit(cells, processes, form)
    plain, grown = _fit(cells, processes, "s + c/AN"), _fit(cells, processes, "c/AN + e·AN")
    if len(cells) == LEAST_CELLS:
        return grown if plain.terms.per_item > plain.terms.per_batch else plain
    best = min((plain, grown), key=lambda fit: fit.error)
    if len(cells) > LEAST_CELLS + 1:
        full = _fit(cells, processes, "s + c/AN + e·AN")
        best = min((best, full), key=lambda fit: fit.error)
    return plain if plain.error * MOST_WORTH <= best.error else best


def _fit(cells: Sequence[TableCell], processes: int, form: str) -> PartitionFit:
    with_item, with_growth = FORMS[form]
    partitions = np.array([float(cell.partitions) for cell in cells])
    measured = np.log([cell.throughput for cell in cells])

    def terms(values: Array) -> DemandTerms:
        think, refill, fixed, *rest = (float(value) for value in values)
        return DemandTerms(think, refill, rest.pop(0) if with_item else 0.0, fixed, rest.pop(0) if with_growth else 0.0)

    def residuals(values: Array) -> Array:
        own = terms(values)
        demand = np.array([own.latch_seconds(cell.batch) for cell in cells])
        think = np.array([own.think_seconds(cell.batch) for cell in cells])
        apart: Array = np.log(latch_state(processes, demand / think, partitions).held / demand) - measured
        return apart

    best = max(cells, key=lambda cell: cell.throughput).throughput
    worst = min(cells, key=lambda cell: cell.throughput).throughput
    start = [processes / best, processes / best, 1 / worst]
    start += [0.3 / best] * with_item + [0.03 / best] * with_growth
    values, left = fit_positive(residuals, start)
    freedom = len(cells) - len(start)
    error = sqrt(float(left @ left) / freedom) if freedom > 0 else 0.0
    return PartitionFit(terms(values), processes, error, len(cells), max(cell.batch for cell in cells), form)
