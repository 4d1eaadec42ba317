"""The study of parallel work as a page."""

from collections.abc import Iterator

from rules.formatting import number
from rules.studies.parallel import ParallelStudy
from service.render.study.page import StudyBars, StudyPage, StudyTable, share

HEADINGS = ("row", "workers", "before", "after", "speed-up", "published", "per worker", "serial share")


def parallel_page(study: ParallelStudy) -> StudyPage:
    least, most = (end(row.speed_up for row in study.rows) for end in (min, max))
    workers = "processors" if study.workers_are_cpus else "workers"
    answer = (
        f"Speed-ups of {least:.2f} to {most:.2f}, {study.mean_speed_up:.2f} on average: "
        f"{_bound(study)} is serial, so more {workers} bring little."
        if all(row.serial_share and row.serial_share > 0.01 for row in study.rows)
        else f"Speed-ups of {least:.2f} to {most:.2f}, {study.mean_speed_up:.2f} on average."
    )
    return StudyPage(
        "Parallel work",
        answer,
        tuple(_findings(study)),
        (
            StudyTable(
                "By Amdahl's law",
                HEADINGS,
                tuple(
                    (
                        row.name,
                        f"{row.workers:,.0f}",
                        number(row.before),
                        number(row.after),
                        f"{row.speed_up:.2f}",
                        _published(row.published, row.agrees),
                        share(row.efficiency),
                        share(row.serial_share),
                    )
                    for row in study.rows
                ),
            ),
            StudyBars("Speed-up", "times", tuple((row.name, row.speed_up) for row in study.rows)),
        ),
        tuple(_limits(study)),
    )


def _published(published: float | None, agrees: bool | None) -> str:
    return "–" if published is None else f"{published:g} {'yes' if agrees else 'NO'}"


def _bound(study: ParallelStudy) -> str:
    shares = [row.serial_share for row in study.rows if row.serial_share is not None]
    most = "at most " if study.workers_are_cpus else ""
    return f"{most}{share(min(shares))} to {share(max(shares))} of the work"


def _findings(study: ParallelStudy) -> Iterator[str]:
    judged = [row for row in study.rows if row.agrees is not None]
    wrong = [row for row in judged if not row.agrees]
    if judged and not wrong:
        yield f"All {len(judged)} published speed-ups follow from the times, rounded as published."
    for row in wrong:
        yield f"{row.name}: {row.published:g} times is published, the times give {row.speed_up:.2f}."
    for each in study.sums:
        yield (
            f"{each.whole} is {' and '.join(each.parts)} added, before and after: the same measurement twice: count it once."
        )
    few, many = (end(study.rows, key=lambda row: row.workers) for end in (min, max))
    if many.workers > few.workers and many.speed_up < few.speed_up * many.workers / few.workers / 2:
        yield (
            f"More workers do not explain the speed-ups: {many.name} has {many.workers / few.workers:.3g} times those of "
            f"{few.name} and {many.speed_up / few.speed_up:.2f} times its speed-up."
        )


def _limits(study: ParallelStudy) -> Iterator[str]:
    if study.workers_are_cpus:
        yield (
            "The table has processors, not workers. With fewer workers the speed-up per worker is more, and the serial "
            "share less, than printed."
        )
    yield "A serial share from two points is what Amdahl's law would need; memory bandwidth or a lock looks the same."
    yield "Rows of different machines are not one curve; nothing is predicted from one machine for another."
