"""The study of partitions and batches as a page."""

from collections.abc import Callable, Iterator

from rules.studies.partitions import (
    AS_GOOD,
    FARTHEST,
    PartitionCell,
    PartitionErrors,
    PartitionSetting,
    PartitionStudy,
    RefusedSetting,
)
from service.render.study.page import StudyCurve, StudyLines, StudyPage, StudyTable, share

HEADINGS = ("partitions", "batch", "measured", "repeats ±", "from 4 corners", "error", "from all cells", "fitted")


def partitions_page(study: PartitionStudy) -> StudyPage:
    chosen = study.recommended
    return StudyPage(
        "Partitions and batches",
        f"Take {_named(chosen)}: {_interval(chosen)} per second, as good as any measured setting (within "
        f"{(1 - AS_GOOD) * 100:.0f} %) with the fewest items kept aside.",
        tuple(_findings(study)),
        (
            StudyTable("Throughput per second", HEADINGS, tuple(_cells(study.cells)), words=0),
            StudyLines("Measured throughput", "batch", tuple(_curves(study, lambda cell: cell.throughput)), log_x=True),
            StudyLines(
                "Predicted from the four corners",
                "batch",
                tuple(_curves(study, lambda cell: cell.from_corners)),
                log_x=True,
            ),
        ),
        tuple(_limits(study)),
    )


def _named(setting: PartitionSetting | RefusedSetting) -> str:
    return f"{setting.partitions} partitions with a batch of {setting.batch}"


def _interval(setting: PartitionSetting) -> str:
    return f"{setting.throughput:,.0f} [{setting.low:,.0f} to {setting.high:,.0f}]"


def _findings(study: PartitionStudy) -> Iterator[str]:
    for asked in study.asked:
        if isinstance(asked, RefusedSetting):
            yield f"Refused: {_named(asked)}: {asked.why}."
        else:
            yield f"Asked: {_named(asked)}: {_interval(asked)} per second."
    for errors in (study.corners, study.columns):
        if errors is not None and errors.predicted:
            yield _told(errors)
    chosen, best = study.recommended, study.best
    if chosen.measured is not None:
        yield f"Measured there: {chosen.measured:,.0f} per second."
    if (best.partitions, best.batch) != (chosen.partitions, chosen.batch):
        yield f"The highest prediction is for {_named(best)}: {_interval(best)} per second."
    spreads = [cell.spread for cell in study.cells if cell.spread is not None]
    if spreads:
        yield f"Repeats of a setting scatter by up to {share(max(spreads))} (standard deviation); no prediction beats that."


def _told(errors: PartitionErrors) -> str:
    return (
        f"Fitted on {len(errors.fitted)} cells ({', '.join(f'{p}x{b}' for p, b in errors.fitted)}) the other {errors.predicted} "
        f"are predicted with a median error of {share(errors.median)}, 90 % of them within {share(errors.p90)}, at most "
        f"{share(errors.most)}; the demand on the latch is D = {errors.form.replace('·', ' x ')} per unit of work."
    )


def _cells(cells: tuple[PartitionCell, ...]) -> Iterator[tuple[str, ...]]:
    for cell in cells:
        fitted = "corner" if cell.corner else "column" if cell.column else ""
        yield (
            f"{cell.partitions}",
            f"{cell.batch}",
            f"{cell.throughput:,.0f}",
            share(cell.spread),
            f"{cell.from_corners:,.0f}",
            "–" if cell.corner else f"{cell.error * 100:+.1f} %",
            f"{cell.from_all:,.0f}",
            fitted,
        )


def _curves(study: PartitionStudy, value: Callable[[PartitionCell], float]) -> Iterator[StudyCurve]:
    for partitions in sorted({cell.partitions for cell in study.cells}):
        own = [cell for cell in study.cells if cell.partitions == partitions]
        name = f"{partitions} partition{'' if partitions == 1 else 's'}"
        yield StudyCurve(name, tuple((float(cell.batch), value(cell)) for cell in own))


def _limits(study: PartitionStudy) -> Iterator[str]:
    yield (
        f"No batch outside {study.least_batch} to {study.most_batch} is predicted: the cost of a longer refill was not measured. "
        f"Partitions are predicted up to {study.most_partitions * FARTHEST}."
    )
    if not study.processes_told:
        yield (
            f"The table does not give the number of processes; the study assumes {study.processes} (--processes N). "
            "Between measured settings it matters little; there is no prediction for other numbers of processes."
        )
    yield (
        "The interval is the scatter of the cells about the model, ±2 standard deviations. It holds for this machine and this "
        "load; neither the terms nor the best setting carry over."
    )
    if len(study.cells) <= 4:
        yield "Four cells cannot show their own error; the interval comes from other tables."
