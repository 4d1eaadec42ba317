"""One line of a scaling table: ratios of its counters, and hold, utilisation and spinning by the closed latch model."""

from rules.contention.queueing import LatchTimes, invert, mean_wait, most_missed
from rules.frozen import Frozen
from rules.statistics import ratio
from rules.studies.table import StudyColumn, SuppliedRow

COLUMNS = (
    StudyColumn("processes", ("procs", "sessions", "n"), least=1, most=10_000),
    StudyColumn("throughput", ("result_cache_lookups_per_s", "lookups_per_s", "works_per_s", "tps"), least=1e-9),
    StudyColumn("gets", ("rc_latch_gets", "latch_gets"), least=1),
    StudyColumn("misses", ("rc_latch_misses", "latch_misses")),
    StudyColumn("sleeps", ("rc_latch_sleeps", "latch_sleeps")),
    StudyColumn("wait_us", ("rc_latch_wait_us", "latch_wait_us", "wait_time"), optional=True),
    StudyColumn("spin_gets", ("rc_latch_spin_gets", "latch_spin_gets"), optional=True),
    StudyColumn("seconds", ("elapsed_seconds", "elapsed_s"), least=1e-9, optional=True),
    StudyColumn("work_per_process", ("lookups_per_process",), least=1e-9, optional=True),
    StudyColumn("reference", ("reference_throughput", "buffer_cache_lookups_per_s"), least=1e-9, optional=True),
    StudyColumn("published_linear", ("result_cache_pct_linear", "pct_linear"), optional=True),
    StudyColumn("published_reference_linear", ("buffer_cache_pct_linear",), optional=True),
    StudyColumn("hardware_threads", ("cpus", "threads"), least=1, optional=True),
)
FEWEST_MISSES = 200
"""With fewer misses neither a ratio of sleeps nor a hold time means anything."""
LITTLE = 0.1
"""If sleeps are at most this share of the modelled wait, the rest counts as spinning."""


class ScalingRow(Frozen):
    """One number of processes. Ratios are 0..1. None if the table cannot show a value."""

    processes: int
    throughput: float
    linear: float | None
    """Throughput over that of one process times the processes."""
    reference_linear: float | None
    against_reference: float | None
    """`linear` over `reference_linear`: the latch's cost without the machine's own loss."""
    gets: float
    misses: float
    sleeps: float
    wait_us: float | None
    seconds: float | None
    miss_ratio: float
    sleep_ratio: float | None
    spin_efficiency: float | None
    """Share of the misses that spinning served."""
    utilisation: float | None
    hold_us: float | None
    saturation: float | None
    """Processes at which this latch, held as long, would be busy all the time: 1 + think time over hold time."""
    asleep: float | None
    """Share of the processes' time asleep on the latch."""
    spinning: float | None
    """Share of the processes' time waiting for the latch awake, by the model. No wait event counts it. None if many sleep."""


def scaling_row(row: SuppliedRow, single: SuppliedRow | None) -> ScalingRow:
    """The result of a line. `single` is the line of one process on the same machine, if there is one."""
    processes, throughput, gets, misses, sleeps = (
        row.need(field) for field in ("processes", "throughput", "gets", "misses", "sleeps")
    )
    seconds, spun = _seconds(row), row.numbers["spin_gets"]
    linear, reference = (share_of_linear(row, single, field) for field in ("throughput", "reference"))
    wait = row.numbers["wait_us"]
    miss_ratio, sleep_ratio = misses / gets, ratio(sleeps, misses)
    asleep = None if wait is None or seconds is None else wait / 1e6 / (processes * seconds)
    latch = _times(int(processes), ratio(gets, seconds), misses, miss_ratio)
    return ScalingRow(
        processes=int(processes),
        throughput=throughput,
        linear=linear,
        reference_linear=reference,
        against_reference=ratio(linear, reference),
        gets=gets,
        misses=misses,
        sleeps=sleeps,
        wait_us=wait,
        seconds=seconds,
        miss_ratio=miss_ratio,
        sleep_ratio=sleep_ratio,
        spin_efficiency=ratio(spun, misses) if spun is not None else _rest(sleep_ratio),
        utilisation=latch.hold * gets / seconds if latch and seconds else None,
        hold_us=latch.hold * 1e6 if latch else None,
        saturation=1 + latch.think / latch.hold if latch else None,
        asleep=asleep,
        spinning=_spinning(int(processes), latch, ratio(gets, seconds), asleep or 0.0),
    )


def _times(processes: int, rate: float | None, misses: float, miss_ratio: float) -> LatchTimes | None:
    """Hold and think time. None if too little was counted, or if more gets miss than one latch can explain."""
    if rate is None or misses < FEWEST_MISSES or processes < 2 or miss_ratio >= most_missed(processes):
        return None
    return invert(processes, rate, miss_ratio)


def _spinning(processes: int, latch: LatchTimes | None, rate: float | None, asleep: float) -> float | None:
    """Wait per get times gets per second and process, minus the time asleep. None if a notable part of it is asleep.

    The model has no sleepers. With them there are fewer waiters, and each has spun in vain before.
    """
    if latch is None or rate is None:
        return None
    waited = mean_wait(processes, latch.hold / latch.think) * latch.hold * rate / processes
    return waited - asleep if asleep <= LITTLE * waited else None


def _rest(sleep_ratio: float | None) -> float | None:
    """The share of misses without a sleep, at least. One miss may sleep more than once."""
    return None if sleep_ratio is None else max(0.0, 1 - sleep_ratio)


def _seconds(row: SuppliedRow) -> float | None:
    """How long the row was measured, from the table or from the work of a process and the throughput."""
    work = row.numbers["work_per_process"]
    if row.numbers["seconds"] is not None:
        return row.numbers["seconds"]
    return None if work is None else row.need("processes") * work / row.need("throughput")


def share_of_linear(row: SuppliedRow, single: SuppliedRow | None, field: str) -> float | None:
    """The share of linear. None without a row of one process."""
    value, alone = row.numbers[field], single.numbers[field] if single else None
    return None if value is None or not alone else value / (row.need("processes") * alone)
