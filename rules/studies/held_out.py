"""Checks the model on the table itself: the first half of its rows predicts the others. The reference is the machine."""

from collections.abc import Sequence
from statistics import median

from rules.contention.calibration import LatchModel, calibrate
from rules.contention.change import LoadChange
from rules.contention.prediction import predict
from rules.contention.readings import LatchCounts, NotPredictable
from rules.frozen import Frozen
from rules.studies.scaling_row import FEWEST_MISSES, ScalingRow

FEWEST_FITTED = 3


class HeldOutRow(Frozen):
    """One row that was not fitted. Throughput per second, ratios 0..1."""

    processes: int
    throughput: float
    low: float
    high: float
    """The interval that should contain it 19 times in 20."""
    measured: float
    miss_ratio: float
    measured_miss_ratio: float


class HeldOut(Frozen):
    """What the rows of few processes predict for those of many, and the error."""

    fitted: tuple[int, ...]
    rows: tuple[HeldOutRow, ...]
    median_error: float
    """The error of the throughput, without sign, as a share of the measured value."""
    most_error: float
    inside: int
    """Rows whose interval contains the measured value."""
    median_miss_error: float
    """The error of the misses per get, with its sign."""


def held_out(rows: Sequence[ScalingRow]) -> HeldOut | None:
    """The first half against the rest. None without a reference, a duration, or enough rows with misses."""
    counts = {row.processes: _counts(row) for row in rows if row.processes > 1 and row.misses >= FEWEST_MISSES}
    known = {processes: count for processes, count in counts.items() if count is not None}
    fitted = [count for processes, count in known.items() if processes <= max(known) // 2]
    rest = [row for row in rows if row.processes in known and row.processes > max(known) // 2]
    if len(fitted) < FEWEST_FITTED or not rest:
        return None
    try:
        model = calibrate(fitted, now=fitted[-1])
        found = tuple(_predicted(row, fitted[-1], model) for row in rest)
    except NotPredictable:
        return None
    apart = [abs(row.throughput / row.measured - 1) for row in found]
    return HeldOut(
        fitted=tuple(count.population for count in fitted),
        rows=found,
        median_error=median(apart),
        most_error=max(apart),
        inside=sum(row.low <= row.measured <= row.high for row in found),
        median_miss_error=median(row.miss_ratio / row.measured_miss_ratio - 1 for row in found),
    )


def _counts(row: ScalingRow) -> LatchCounts | None:
    if row.seconds is None or row.reference_linear is None:
        return None
    return LatchCounts(
        row.processes,
        row.seconds,
        row.gets,
        row.misses,
        row.sleeps,
        wait_seconds=(row.wait_us or 0.0) / 1e6,
        speed=row.reference_linear,
        works=row.throughput * row.seconds,
    )


def _predicted(row: ScalingRow, now: LatchCounts, model: LatchModel) -> HeldOutRow:
    found = predict(model, LoadChange(processes=row.processes, speed=row.reference_linear))
    if found.work.value is None or found.miss_ratio.value is None or now.works is None:
        raise NotPredictable("only bounds are known")
    rate = now.works / now.seconds
    return HeldOutRow(
        processes=row.processes,
        throughput=rate * found.work.value,
        low=rate * found.work.low,
        high=rate * found.work.high,
        measured=row.throughput,
        miss_ratio=found.miss_ratio.value,
        measured_miss_ratio=row.miss_ratio,
    )
