"""One worker against many, as with vmtasks: speed-ups, the serial part they imply, and whether rows agree.

Amdahl's law: speed-up n / (1 + s·(n − 1)) for n workers and a serial share s, solved for s (Karp and Flatt, 1990).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, exp, isclose, log
from statistics import fmean
from typing import Literal

from rules.base import Frozen
from rules.contention.holds import timed_poll_seconds
from rules.studies.table import BadStudy, StudyColumn, SuppliedRow, rows

COLUMNS = (
    StudyColumn("workers", ("cpus", "threads", "processes", "n"), least=1),
    StudyColumn("before", ("before_ms_per_gb", "before_ms", "before_s", "before_seconds", "serial"), least=1e-9),
    StudyColumn("after", ("after_ms_per_gb", "after_ms", "after_s", "after_seconds", "parallel"), least=1e-9),
    StudyColumn("published", ("published_speedup", "speedup"), least=1e-9, optional=True),
)
GROUPS = ("segment", "kind", "system", "machine", "host", "name")


class ParallelRow(Frozen):
    """One measurement. `before` and `after` are times in the same unit."""

    name: str
    workers: float
    before: float
    after: float
    speed_up: float
    efficiency: float
    """Speed-up per worker."""
    serial_share: float | None
    """Serial share of the work, by Amdahl's law. None with one worker."""
    limit: float | None
    """Speed-up of any number of workers with this serial share. None if the speed-up needs no serial share."""
    published: float | None
    agrees: bool | None
    """Whether the published speed-up equals this one, rounded as published. None if none is published."""


class ParallelSum(Frozen):
    """A row whose times are the sum of other rows of the same workers."""

    whole: str
    parts: tuple[str, ...]


class ParallelStudy(Frozen):
    """Every row, the mean speed-up (geometric, because speed-ups are ratios), and the oddities of the table."""

    study: Literal["parallel"] = "parallel"
    source: str
    rows: tuple[ParallelRow, ...]
    mean_speed_up: float
    sums: tuple[ParallelSum, ...]
    workers_are_cpus: bool
    """The table has processors, not workers. Then the printed efficiency is a lower bound and the serial share an upper bound."""


def parallel_study(text: str, name: str, chosen: Mapping[str, str] | None = None) -> ParallelStudy:
    """The study of a table. Raises BadStudy."""
    supplied = rows(text, name, COLUMNS, chosen)
    found = tuple(_row(each) for each in supplied)
    named = {*supplied[0].words, *(chosen or {}).values()}
    return ParallelStudy(
        source=name,
        rows=found,
        mean_speed_up=exp(fmean(log(each.speed_up) for each in found)),
        sums=tuple(_sums(found)),
        workers_are_cpus="cpus" in named and "workers" not in named,
    )


def _row(supplied: SuppliedRow) -> ParallelRow:
    workers, before, after = (supplied.need(field) for field in ("workers", "before", "after"))
    speed_up, published = before / after, supplied.numbers["published"]
    serial = (1 / speed_up - 1 / workers) / (1 - 1 / workers) if workers > 1 else None
    return ParallelRow(
        name=supplied.label(GROUPS) or f"line {supplied.line}",
        workers=workers,
        before=before,
        after=after,
        speed_up=speed_up,
        efficiency=speed_up / workers,
        serial_share=serial,
        limit=1 / serial if serial and serial > 0 else None,
        published=published,
        agrees=None if published is None else _rounds_to(speed_up, published),
    )


def _rounds_to(value: float, published: float) -> bool:
    """Whether a value, rounded to the digits of the table, equals the one in the table."""
    digits = len(f"{published:.6f}".rstrip("0").partition(".")[2])
    return isclose(round(value, digits), published) or abs(value - published) <= 0.5 * 10**-digits


def _sums(found: Sequence[ParallelRow]) -> Iterator[ParallelSum]:
    """Rows that are the sum of two others in both times. An average over all three counts the work twice."""
    for whole in found:
        others = [each for each in found if each is not whole and each.workers == whole.workers]
        for parts in combinations(others, 2):
            if all(
                isclose(sum(getattr(part, time) for part in parts), getattr(whole, time))
                for time in ("before", "after")
            ):
                yield ParallelSum(whole=whole.name, parts=tuple(part.name for part in parts))


# How long a waiter sleeps that polls on a timer: E = g / (1 − exp(−g/m)) for a granularity g and an exponential need m.
#
# A waiter that the holder posts does not poll, so the granularity of the timer does not matter to it. A standard
# exclusive latch has been posted since 9.2.

STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Granularities in addition to the requested ones, in milliseconds."""
NOTHING = 0.05
"""A smaller change than this share is negligible."""


class TimerPoint(Frozen):
    """One granularity: the mean sleep of a need that varies (exponential), and of a constant one."""

    granularity_seconds: float
    mean_sleep_seconds: float
    constant_need_seconds: float


class TimerStudy(Frozen):
    """The effect of another granularity on a waiter with a timer, and on one that is posted."""

    study: Literal["timer"] = "timer"
    need_seconds: float
    before: TimerPoint
    after: TimerPoint
    factor: float
    """Mean sleep after over before, for a waiter on a timer."""
    posted_factor: float = 1.0
    """The same for a waiter that is posted."""
    curve: tuple[TimerPoint, ...]


def timer_study(granularity: float, need: float, before: float) -> TimerStudy:
    """The sleep of both granularities, all in seconds. Raises BadStudy."""
    for name, value in (("granularity", granularity), ("need", need), ("before", before)):
        if not value > 0:
            raise BadStudy(f"the {name} must be more than 0; write it like 1ms")
    then, now = _point(before, need), _point(granularity, need)
    others = {step / 1000 for step in STEPS} | {granularity, before}
    return TimerStudy(
        need_seconds=need,
        before=then,
        after=now,
        factor=now.mean_sleep_seconds / then.mean_sleep_seconds,
        curve=tuple(_point(each, need) for each in sorted(others)),
    )


def _point(granularity: float, need: float) -> TimerPoint:
    return TimerPoint(
        granularity_seconds=granularity,
        mean_sleep_seconds=timed_poll_seconds(granularity, need),
        # Rounding of the quotient must not add a whole tick to a need that is a multiple of the granularity.
        constant_need_seconds=ceil(round(need / granularity, 9)) * granularity,
    )
