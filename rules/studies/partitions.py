"""A structure split into partitions and refilled in batches: what a few measured settings say about the others.

The model is that of rules/contention/partitions: a closed network of N processes. It is fitted to the four corners of the table
and checked against every other cell, then to two columns of cells, then to all. The last fit gives the recommendation.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from statistics import fmean, median, stdev
from typing import Literal

import numpy as np

from rules.base import Frozen
from rules.contention.queue import LEAST_CELLS, PartitionFit, TableCell, fit_partitions
from rules.studies.table import BadStudy, StudyColumn, rows

COLUMNS = (
    StudyColumn("partitions", ("global_partitions", "children", "p", "pn"), least=1, most=1e6),
    StudyColumn("batch", ("items_per_refill", "items", "an"), least=1, most=1e6),
    StudyColumn("throughput", ("tps", "works_per_s"), least=1e-9),
)
PROCESSES = 60
"""Used if the number of processes is not given. Predictions between measured settings hardly depend on it."""
AS_GOOD = 0.97
"""A setting whose measured and predicted throughput are both this share of the best is as good as the best."""
TWO_SIGMA = 1.96
UNKNOWN_ERROR = 0.04
"""Spread of ln(predicted/measured) if the table has only as many cells as the model has terms."""
FARTHEST = 5
"""Partitions are predicted up to this many times the most measured."""


class PartitionCell(Frozen):
    """One setting as measured and as predicted. Errors are shares of the measured value."""

    partitions: int
    batch: int
    throughput: float
    spread: float | None
    """Standard deviation of its repeats over their mean. None without repeats."""
    from_corners: float
    from_columns: float | None
    """Predicted from two columns of cells. None if the table has too few batches."""
    from_all: float
    corner: bool
    column: bool

    @property
    def error(self) -> float:
        """Error of the prediction from the corners."""
        return self.from_corners / self.throughput - 1


class PartitionErrors(Frozen):
    """How far predictions lie from cells they were not fitted to, without sign."""

    fitted: tuple[tuple[int, int], ...]
    """(partitions, batch) of the cells that were fitted."""
    predicted: int
    form: str
    median: float | None
    p90: float | None
    most: float | None


class PartitionSetting(Frozen):
    """A setting with its throughput and the interval that contains it in about 19 of 20 cases."""

    partitions: int
    batch: int
    throughput: float
    low: float
    high: float
    measured: float | None


class RefusedSetting(Frozen):
    """A setting that is not predicted, and why."""

    partitions: int
    batch: int
    why: str


class PartitionStudy(Frozen):
    """The table, how well few cells predict the others, and the recommended setting."""

    study: Literal["partitions"] = "partitions"
    source: str
    processes: int
    processes_told: bool
    cells: tuple[PartitionCell, ...]
    corners: PartitionErrors
    columns: PartitionErrors | None
    form: str
    """Terms of the latch's demand, fitted to all cells."""
    error: float
    """Spread of ln(predicted/measured) that intervals use."""
    recommended: PartitionSetting
    best: PartitionSetting
    asked: tuple[PartitionSetting | RefusedSetting, ...]
    least_batch: int
    most_batch: int
    most_partitions: int


Setting = tuple[int, int]
MeasuredCells = Mapping[Setting, TableCell]


def partition_study(
    text: str,
    name: str,
    chosen: Mapping[str, str] | None = None,
    processes: int | None = None,
    asked: Sequence[Setting] = (),
) -> PartitionStudy:
    """The study of a table, and the throughput of the requested settings (partitions, batch). Raises BadStudy."""
    repeats = _repeats(text, name, chosen)
    cells = {key: TableCell(*key, fmean(values)) for key, values in repeats.items()}
    population = processes or PROCESSES
    corner_keys, column_keys = _corners(cells, name), _columns(cells)
    corner_fit, fit = _fit(cells, corner_keys, population), _fit(cells, list(cells), population)
    column_fit = _fit(cells, column_keys, population) if column_keys else None
    error = fit.error if len(cells) > LEAST_CELLS else UNKNOWN_ERROR
    settings = {key: _setting(fit, key, error, cells) for key in cells}
    return PartitionStudy(
        source=name,
        processes=population,
        processes_told=processes is not None,
        cells=tuple(
            PartitionCell(
                partitions=key[0],
                batch=key[1],
                throughput=cells[key].throughput,
                spread=stdev(values) / fmean(values) if len(values) > 1 else None,
                from_corners=corner_fit.throughput(*key),
                from_columns=column_fit.throughput(*key) if column_fit else None,
                from_all=settings[key].throughput,
                corner=key in corner_keys,
                column=key in column_keys,
            )
            for key, values in sorted(repeats.items())
        ),
        corners=_errors(corner_fit, cells, corner_keys),
        columns=_errors(column_fit, cells, column_keys) if column_fit else None,
        form=fit.form,
        error=error,
        recommended=settings[_cheapest(settings)],
        best=max(settings.values(), key=lambda setting: setting.throughput),
        asked=tuple(_asked(fit, key, error, cells) for key in asked),
        least_batch=min(batch for _, batch in cells),
        most_batch=max(batch for _, batch in cells),
        most_partitions=max(partitions for partitions, _ in cells),
    )


def setting_of(words: str) -> Setting:
    """`8x64` or `8:64`: partitions and batch. Raises BadStudy."""
    left, _, right = words.replace("x", ":").partition(":")
    if not (left.isdecimal() and right.isdecimal() and int(left) and int(right)):
        raise BadStudy(f"{words!r} is not a setting; write PARTITIONS:BATCH, such as 8:16")
    return int(left), int(right)


def _repeats(text: str, name: str, chosen: Mapping[str, str] | None) -> dict[Setting, list[float]]:
    """What was measured, by setting."""
    found: dict[Setting, list[float]] = {}
    for row in rows(text, name, COLUMNS, chosen):
        key = []
        for field in ("partitions", "batch"):
            value = row.need(field)
            if value != int(value):
                raise BadStudy(f"{name} line {row.line}, {field}: {value:g} is not a whole number; correct the line")
            key.append(int(value))
        found.setdefault((key[0], key[1]), []).append(row.need("throughput"))
    return found


def _corners(cells: MeasuredCells, name: str) -> list[Setting]:
    """Least and most of both, which every table must have."""
    ends = [(min(values), max(values)) for values in zip(*cells, strict=True)]
    for (low, high), what in zip(ends, ("partitions", "batch"), strict=True):
        if low == high:
            raise BadStudy(f"{name} measures {what} {low} only; the model needs at least two: measure another")
    corners = [(partitions, batch) for partitions in ends[0] for batch in ends[1]]
    for partitions, batch in corners:
        if (partitions, batch) not in cells:
            raise BadStudy(
                f"{name} lacks {partitions} partitions with a batch of {batch}; the model needs the four corners: measure it"
            )
    return corners


def _columns(cells: MeasuredCells) -> list[Setting]:
    """Every second batch and the largest, with the least and the most partitions. Empty if that adds nothing."""
    batches = sorted({batch for _, batch in cells})
    taken = sorted({*batches[::2], batches[-1]})
    least, most = (end(partitions for partitions, _ in cells) for end in (min, max))
    keys = [(partitions, batch) for partitions in (least, most) for batch in taken]
    enough = len(taken) > 2 and len(keys) < len(cells)
    return keys if enough and all(key in cells for key in keys) else []


def _fit(cells: MeasuredCells, keys: Sequence[Setting], processes: int) -> PartitionFit:
    return fit_partitions([cells[key] for key in keys], processes)


def _errors(fit: PartitionFit, cells: MeasuredCells, fitted: Sequence[Setting]) -> PartitionErrors:
    apart = [abs(fit.throughput(*key) / cell.throughput - 1) for key, cell in cells.items() if key not in fitted]
    return PartitionErrors(
        fitted=tuple(fitted),
        predicted=len(apart),
        form=fit.form,
        median=median(apart) if apart else None,
        p90=float(np.quantile(apart, 0.9)) if apart else None,
        most=max(apart, default=None),
    )


def _setting(fit: PartitionFit, key: Setting, error: float, cells: MeasuredCells) -> PartitionSetting:
    middle, factor = fit.throughput(*key), exp(TWO_SIGMA * error)
    measured = cells[key].throughput if key in cells else None
    return PartitionSetting(
        partitions=key[0],
        batch=key[1],
        throughput=middle,
        low=middle / factor,
        high=middle * factor,
        measured=measured,
    )


def _cheapest(settings: Mapping[Setting, PartitionSetting]) -> Setting:
    """Of the settings as good as the best, the one that keeps the fewest items aside (partitions × batch)."""
    best = max(setting.throughput for setting in settings.values())
    fastest = max(setting.measured or 0.0 for setting in settings.values())
    good = [
        key
        for key, setting in settings.items()
        if setting.throughput >= AS_GOOD * best and (setting.measured or 0.0) >= AS_GOOD * fastest
    ]
    top = max(settings, key=lambda key: settings[key].measured or 0.0)
    return min(good, key=lambda key: (key[0] * key[1], key), default=top)


def _asked(fit: PartitionFit, key: Setting, error: float, cells: MeasuredCells) -> PartitionSetting | RefusedSetting:
    why = next(_refusals(key, cells), None)
    if why is not None:
        return RefusedSetting(partitions=key[0], batch=key[1], why=why)
    return _setting(fit, key, error, cells)


def _refusals(key: Setting, cells: MeasuredCells) -> Iterator[str]:
    """Why there is no prediction for a setting."""
    batches, partitions = [batch for _, batch in cells], [partition for partition, _ in cells]
    if not min(batches) <= key[1] <= max(batches):
        yield (
            f"a batch of {key[1]} was not measured ({min(batches)} to {max(batches)} were), and larger refills "
            "are not in the table; measure it instead"
        )
    if key[0] > FARTHEST * max(partitions):
        yield f"{key[0]} partitions are more than {FARTHEST} times the measured {max(partitions)}; measure nearer to them"
