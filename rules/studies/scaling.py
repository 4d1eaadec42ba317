"""How work scales with processes that share one latch: the latch's cost, the machine's cost, whether spinning is enough.

A closed system: N processes that think and then take the latch. The hold time follows from the rate of gets and from the share
of gets that find a holder (rules/contention). A reference column, of work without the latch, shows the machine's part.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

from rules.base import Frozen
from rules.contention.holds import LatchCounts, NotPredictable
from rules.contention.prediction import LatchModel, LoadChange, calibrate, predict
from rules.contention.queue import LatchTimes, invert, mean_wait
from rules.latch import ratio
from rules.studies.table import BadStudy, StudyColumn, SuppliedRow, rows

# Published claims about a scaling table, checked against it: a figure must be that of the row it names.

_CLAIM = re.compile(r"(\d+):(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class ScalingClaim:
    """A published pair of figures: its number of processes, the percentages as printed, and the source."""

    processes: int
    miss_percent: str
    sleep_percent: str
    release: str | None = None
    """None: any group of the table."""
    source: str = ""

    def fits(self, miss_ratio: float | None, sleep_ratio: float | None) -> bool:
        """Whether two ratios (0..1), rounded as the claim is printed, equal its figures."""
        return _same(self.miss_percent, miss_ratio) and _same(self.sleep_percent, sleep_ratio)


PUBLISHED = (
    ScalingClaim(
        8, "50.33", "0.04", "11.2", "https://afatkulin.blogspot.com/2010/06/11gr2-result-cache-scalability.html"
    ),
)
"""Claims that are checked whenever a table has their figures."""


class MixedClaim(Frozen):
    """A claim whose figures belong to another row than it names."""

    claimed_processes: int
    miss_percent: str
    sleep_percent: str
    group: str
    found_processes: int
    """Where the table has these figures."""
    actual_miss_ratio: float | None
    actual_sleep_ratio: float | None
    """What the table has for the claimed number of processes."""
    source: str


def claim_of(words: str) -> ScalingClaim:
    """`8:50.33:0.04`: processes, misses per get and sleeps per miss in percent. Raises BadStudy."""
    found = _CLAIM.fullmatch(words.strip())
    if found is None:
        raise BadStudy(f"{words!r} is not a claim; write PROCESSES:MISSES:SLEEPS in percent, such as 8:50.33:0.04")
    return ScalingClaim(int(found[1]), found[2], found[3])


def _same(percent: str, ratio: float | None) -> bool:
    if ratio is None:
        return False
    half: float = 0.5 / 10 ** len(percent.partition(".")[2])
    return abs(ratio * 100 - float(percent)) <= half


# One line of a scaling table: ratios of its counters, and hold, utilisation and spinning by the closed latch model.

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
    if rate is None or misses < FEWEST_MISSES or processes < 2 or miss_ratio >= 1:
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


# Checks the model on the table itself: the first half of its rows predicts the others. The reference is the machine.

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


MACHINE = ("machine", "system", "host")
RELEASE = ("oracle", "release", "version")
SPUN = 0.01
"""Up to this many sleeps per miss, spinning absorbs the collisions."""
CHEAP = 0.005
"""Up to this share of the processes' time asleep, the latch costs next to nothing."""
BENT = 0.9
"""Below this share of linear, or of the reference, a curve has bent."""
MOST_ROUNDING = 0.0051
"""Tolerance of a published share of linear, in percentage points: it has two decimals."""

Verdict = Literal["spin absorbs", "sleeps", "cheap sleeps", "cannot tell"]


class LinearSlip(Frozen):
    """A published share of linear, in percent, that contradicts the throughputs."""

    group: str
    processes: int
    published: float
    computed: float


class ScalingGroup(Frozen):
    """The rows of one machine and release, by number of processes, and the result at the highest."""

    name: str
    machine: str
    release: str
    hardware_threads: int | None
    rows: tuple[ScalingRow, ...]
    verdict: Verdict
    latch_bends_at: int | None
    """Fewest processes at which less than 90 % of the reference (of linear without one) is left."""
    machine_bends_at: int | None
    """The same for the reference, which does not use the latch."""
    held_out: HeldOut | None
    """How well the rows of few processes predict those of many. None if the table cannot show it."""

    def at(self, processes: int) -> ScalingRow | None:
        """The row with this many processes. None without first."""
        return next((row for row in self.rows if row.processes == processes), None)


class LikeForLike(Frozen):
    """Two releases at the same number of processes, the highest measured with both."""

    processes: int
    groups: tuple[str, str]
    miss_ratios: tuple[float, float]
    sleep_ratios: tuple[float | None, float | None]
    same_machine: bool


class ScalingStudy(Frozen):
    """Every group, the releases compared at equal numbers, and the claims that contradict the table."""

    study: Literal["scaling"] = "scaling"
    source: str
    groups: tuple[ScalingGroup, ...]
    comparisons: tuple[LikeForLike, ...]
    mixed: tuple[MixedClaim, ...]
    slips: tuple[LinearSlip, ...]
    checked: int
    """Published shares of linear that were recomputed."""


def scaling_study(
    text: str, name: str, chosen: Mapping[str, str] | None = None, claims: Sequence[ScalingClaim] = ()
) -> ScalingStudy:
    """The study of a table. Raises BadStudy."""
    grouped: dict[tuple[str, str], list[SuppliedRow]] = {}
    for row in rows(text, name, COLUMNS, chosen):
        grouped.setdefault((row.label(MACHINE), row.label(RELEASE)), []).append(row)
    checks = [check for (machine, release), own in grouped.items() for check in _published(machine, release, own)]
    groups = tuple(_group(name, machine, release, own) for (machine, release), own in grouped.items())
    return ScalingStudy(
        source=name,
        groups=groups,
        comparisons=tuple(_compared(groups)),
        mixed=tuple(_mixed(groups, (*PUBLISHED, *claims))),
        slips=tuple(each for each in checks if abs(each.published - each.computed) > MOST_ROUNDING),
        checked=len(checks),
    )


def _group(source: str, machine: str, release: str, own: Sequence[SuppliedRow]) -> ScalingGroup:
    name = ", ".join(each for each in (machine, release) if each) or source
    counts = [row.need("processes") for row in own]
    for row, count in zip(own, counts, strict=True):
        if count != int(count):
            raise BadStudy(f"{source} line {row.line}, processes: {count:g} is not a whole number; correct the line")
        if row.need("misses") > row.need("gets"):
            raise BadStudy(f"{source} line {row.line} has more misses than gets; its counters do not belong together")
        if counts.count(count) > 1:
            raise BadStudy(f"{source} has {count:g} processes twice for {name}; average repeats, or name a machine")
    if len(own) < 2:
        raise BadStudy(f"{source} has one row for {name}; measure at two numbers of processes or more")
    ordered = sorted(own, key=lambda row: row.need("processes"))
    single = ordered[0] if ordered[0].need("processes") == 1 else None
    found = tuple(scaling_row(row, single) for row in ordered)
    threads = ordered[-1].numbers["hardware_threads"]
    return ScalingGroup(
        name=name,
        machine=machine,
        release=release,
        hardware_threads=None if threads is None else int(threads),
        rows=found,
        verdict=_verdict(found),
        latch_bends_at=next((row.processes for row in found if _bent(row.against_reference, row.linear)), None),
        machine_bends_at=next((row.processes for row in found if _bent(row.reference_linear)), None),
        held_out=held_out(found),
    )


def _bent(*shares: float | None) -> bool:
    """Whether the first known share is below what still counts as straight."""
    return next((share < BENT for share in shares if share is not None), False)


def _verdict(found: Sequence[ScalingRow]) -> Verdict:
    last = found[-1]
    if last.misses < FEWEST_MISSES or last.sleep_ratio is None:
        return "cannot tell"
    if last.sleep_ratio < SPUN and (last.asleep or 0.0) < CHEAP:
        return "spin absorbs"
    return "sleeps" if last.asleep is None or last.asleep >= CHEAP else "cheap sleeps"


def _published(machine: str, release: str, own: Sequence[SuppliedRow]) -> Iterator[LinearSlip]:
    """Every published share of linear next to the one from the throughputs."""
    single = next((row for row in own if row.need("processes") == 1), None)
    for row in own:
        for field, column in (("throughput", "published_linear"), ("reference", "published_reference_linear")):
            computed, published = share_of_linear(row, single, field), row.numbers[column]
            if computed is not None and published is not None:
                yield LinearSlip(
                    group=", ".join(each for each in (machine, release) if each),
                    processes=int(row.need("processes")),
                    published=published,
                    computed=computed * 100,
                )


def _compared(groups: Sequence[ScalingGroup]) -> Iterator[LikeForLike]:
    for first, other in combinations(groups, 2):
        common = {row.processes for row in first.rows} & {row.processes for row in other.rows}
        if first.release == other.release or not common:
            continue
        left, right = first.at(max(common)), other.at(max(common))
        if left is not None and right is not None:
            yield LikeForLike(
                processes=left.processes,
                groups=(first.name, other.name),
                miss_ratios=(left.miss_ratio, right.miss_ratio),
                sleep_ratios=(left.sleep_ratio, right.sleep_ratio),
                same_machine=first.machine == other.machine,
            )


def _mixed(groups: Sequence[ScalingGroup], claims: Sequence[ScalingClaim]) -> Iterator[MixedClaim]:
    """Claims whose figures belong to another number of processes than they name."""
    for claim in dict.fromkeys(claims):
        for group in groups:
            if claim.release is not None and not group.release.startswith(claim.release):
                continue
            at = group.at(claim.processes)
            found = [row.processes for row in group.rows if claim.fits(row.miss_ratio, row.sleep_ratio)]
            if at is not None and found and claim.processes not in found:
                yield MixedClaim(
                    claimed_processes=claim.processes,
                    miss_percent=claim.miss_percent,
                    sleep_percent=claim.sleep_percent,
                    group=group.name,
                    found_processes=found[0],
                    actual_miss_ratio=at.miss_ratio,
                    actual_sleep_ratio=at.sleep_ratio,
                    source=claim.source,
                )
