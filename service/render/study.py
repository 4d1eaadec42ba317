"""Studies for people: the result of each as a page of sentences and tables, and that page as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap as wrapped
from typing import Any

from rules.formatting import number, rough
from rules.studies.cpu import CpuStudy
from rules.studies.parallel import NOTHING, ParallelStudy, TimerStudy
from rules.studies.partitions import (
    AS_GOOD,
    FARTHEST,
    PartitionErrors,
    PartitionSetting,
    PartitionStudy,
    RefusedSetting,
)
from rules.studies.scaling import BENT, HeldOut, LikeForLike, ScalingGroup, ScalingStudy

# The common form of every study: an answer, sentences and tables.

HUGE = 1e8
"""From here on a number is written with its power of ten."""


@dataclass(frozen=True, slots=True)
class StudyTable:
    """A table. The first `words` columns are words, the others numbers."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


Columns = Mapping[str, Callable[[Any], str]]
"""Heading → what stands below it for a row."""


def table_of(title: str, columns: Columns, rows: Sequence[object], words: int = 1) -> StudyTable:
    """A table with a line for each row."""
    return StudyTable(
        title, tuple(columns), tuple(tuple(cell(row) for cell in columns.values()) for row in rows), words
    )


@dataclass(frozen=True, slots=True)
class StudyPage:
    """One study: the answer first, then its basis."""

    title: str
    answer: str
    findings: tuple[str, ...]
    tables: tuple[StudyTable, ...]
    limits: tuple[str, ...]
    """What the figures do not say."""


def share(value: float | None) -> str:
    """A share in percent: two decimals, or three digits below one percent. A dash if unknown."""
    if value is None:
        return "–"
    percent = value * 100
    if abs(percent) >= HUGE:
        return f"{percent:.3g} %"
    return "0 %" if percent == 0 else f"{percent:.2f} %" if abs(percent) >= 1 else f"{percent:.3g} %"


def figure(value: float | None) -> str:
    """A number to three digits. A dash if unknown."""
    return "–" if value is None else rough(value) if abs(value) < HUGE else f"{value:.3g}"


def two(value: float | None) -> str:
    """A number with two decimals. A dash if unknown."""
    return "–" if value is None else f"{value:.2f}"


def duration(seconds: float) -> str:
    """A time in the unit that reads best: 0.0015820 → 1.6 ms."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size * 0.9995:
            value = f"{seconds / size:.1f}"
            return f"{value.removesuffix('.0')} {unit}"
    return f"{seconds * 1e9:.3g} ns"


# The study of processor counters as a page.


CPU: Columns = {
    "instructions per cycle": lambda study: two(study.ipc),
    "cycles per instruction": lambda study: two(study.cycles_per_instruction),
    "stalled cycles per instruction": lambda study: two(study.stalled_per_instruction),
    "frontend cycles idle": lambda study: share(study.frontend_idle),
    "backend cycles idle": lambda study: share(study.backend_idle),
    "cache references that miss": lambda study: share(study.cache_miss_ratio),
    "cache misses per 1,000 instructions": lambda study: two(study.misses_per_thousand),
    "backend stalls per cache miss, cycles": lambda study: figure(study.cycles_per_miss),
    "backend stalls per cache miss, ns": lambda study: figure(study.nanoseconds_per_miss),
    "frequency, GHz": lambda study: two(study.gigahertz),
    "CPUs used": lambda study: two(study.cpus_used),
    "1,000 instructions take, ns": lambda study: figure(study.nanoseconds_per_thousand),
}


def cpu_page(study: CpuStudy) -> StudyPage:
    stalled = (
        "" if study.stalled_per_instruction is None else f", {study.stalled_per_instruction:.2f} stalled cycles each"
    )
    answer = (
        f"{study.ipc:.2f} instructions per cycle{stalled}: an instruction takes {study.cycles_per_instruction:.2f} cycles, "
        f"and the same code holds a latch {study.cycles_per_instruction:.1f} times as long as at one per cycle."
    )
    counters = [(name, f"{value:,.0f}") for name, value in study.counters.items()]
    known = [(name, value) for name, cell in CPU.items() if (value := cell(study)) != "–"]
    return StudyPage(
        "Processor counters",
        answer,
        tuple(_cpu_findings(study)),
        (StudyTable("Counters and results", ("figure", "value"), (*counters, *known)),),
        tuple(_cpu_limits(study)),
    )


def _cpu_findings(study: CpuStudy) -> Iterator[str]:
    if study.hold_factor is not None:
        what = "The hold is" if study.in_holder else "Were these the holder's counters, the hold would be"
        yield f"{what} {study.hold_factor:.2f} times that of the other counters, by cycles per instruction and frequency."
    if study.nanoseconds_per_thousand is not None:
        yield f"Hold = instructions x CPI / f: 1,000 instructions under a latch take {study.nanoseconds_per_thousand:,.0f} ns."
    if study.nanoseconds_per_miss is not None and study.cycles_per_miss is not None:
        yield (
            f"Were every backend stall a wait for memory, a cache miss would cost {study.cycles_per_miss:,.0f} cycles, "
            f"{study.nanoseconds_per_miss:,.0f} ns; that is the most it can cost."
        )
    if not study.in_holder:
        yield (
            "Warning: these counters may not be the holder's. They cover the whole process; how long a latch is "
            "held follows only from counters taken in the code that holds it (then use --holder)."
        )
    if study.checked and not study.slips:
        yield f"All {study.checked} ratios that perf printed follow from its counters."
    for slip in study.slips:
        yield f"perf printed {slip.printed:g} as {slip.figure.replace('_', ' ')}; its counters give {slip.computed:.4g}."


def _cpu_limits(study: CpuStudy) -> Iterator[str]:
    if study.counted_share is not None and study.counted_share < 1:
        yield (
            f"The counters took turns, on for {study.counted_share * 100:.0f} % of the time at least: each count is an "
            "estimate, and a ratio of two rests on different moments."
        )
    front, back = study.frontend_idle, study.backend_idle
    if front is not None and back is not None and front + back > 1:
        yield "Frontend and backend idle add up to more than 100 %: a cycle can be idle in both, so do not add them."
    yield "Stalls of a process that waits off the processor are not in these counters."


# The study of parallel work as a page.

PARALLEL: Columns = {
    "row": lambda row: str(row.name),
    "workers": lambda row: f"{row.workers:,.0f}",
    "before": lambda row: number(row.before),
    "after": lambda row: number(row.after),
    "speed-up": lambda row: two(row.speed_up),
    "published": lambda row: "–" if row.published is None else f"{row.published:g} {'yes' if row.agrees else 'NO'}",
    "per worker": lambda row: share(row.efficiency),
    "serial share": lambda row: share(row.serial_share),
}


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
        tuple(_parallel_findings(study)),
        (table_of("By Amdahl's law", PARALLEL, study.rows),),
        tuple(_parallel_limits(study)),
    )


def _bound(study: ParallelStudy) -> str:
    shares = [row.serial_share for row in study.rows if row.serial_share is not None]
    most = "at most " if study.workers_are_cpus else ""
    return f"{most}{share(min(shares))} to {share(max(shares))} of the work"


def _parallel_findings(study: ParallelStudy) -> Iterator[str]:
    judged = [row for row in study.rows if row.agrees is not None]
    wrong = [row for row in judged if not row.agrees]
    if judged and not wrong:
        yield f"All {len(judged)} published speed-ups follow from the times, rounded as published."
    for row in wrong:
        yield f"{row.name}: {row.published:g} times is published, the times give {row.speed_up:.2f}."
    for total in study.sums:
        yield (
            f"{total.whole} is {' and '.join(total.parts)} added, before and after: the same measurement twice: count it once."
        )
    few, many = (end(study.rows, key=lambda row: row.workers) for end in (min, max))
    if many.workers > few.workers and many.speed_up < few.speed_up * many.workers / few.workers / 2:
        yield (
            f"More workers do not explain the speed-ups: {many.name} has {many.workers / few.workers:.3g} times those of "
            f"{few.name} and {many.speed_up / few.speed_up:.2f} times its speed-up."
        )


def _parallel_limits(study: ParallelStudy) -> Iterator[str]:
    if study.workers_are_cpus:
        yield (
            "The table has processors, not workers. With fewer workers the speed-up per worker is more, and the serial "
            "share less, than printed."
        )
    yield "A serial share from two points is what Amdahl's law would need; memory bandwidth or a lock looks the same."
    yield "Rows of different machines are not one curve; nothing is predicted from one machine for another."


# The study of partitions and batches as a page.

PARTITIONS: Columns = {
    "partitions": lambda cell: str(cell.partitions),
    "batch": lambda cell: str(cell.batch),
    "measured": lambda cell: f"{cell.throughput:,.0f}",
    "repeats ±": lambda cell: share(cell.spread),
    "from 4 corners": lambda cell: f"{cell.from_corners:,.0f}",
    "error": lambda cell: "–" if cell.corner else f"{cell.error * 100:+.1f} %",
    "from all cells": lambda cell: f"{cell.from_all:,.0f}",
    "fitted": lambda cell: "corner" if cell.corner else "column" if cell.column else "",
}


def partitions_page(study: PartitionStudy) -> StudyPage:
    chosen = study.recommended
    return StudyPage(
        "Partitions and batches",
        f"Take {_named(chosen)}: {_interval(chosen)} per second, as good as any measured setting (within "
        f"{(1 - AS_GOOD) * 100:.0f} %) with the fewest items kept aside.",
        tuple(_partition_findings(study)),
        (table_of("Throughput per second", PARTITIONS, study.cells, words=0),),
        tuple(_partition_limits(study)),
    )


def _named(setting: PartitionSetting | RefusedSetting) -> str:
    return f"{setting.partitions} partitions with a batch of {setting.batch}"


def _interval(setting: PartitionSetting) -> str:
    return f"{setting.throughput:,.0f} [{setting.low:,.0f} to {setting.high:,.0f}]"


def _partition_findings(study: PartitionStudy) -> Iterator[str]:
    for asked in study.asked:
        if isinstance(asked, RefusedSetting):
            yield f"Refused: {_named(asked)}: {asked.why}."
        else:
            yield f"Asked: {_named(asked)}: {_interval(asked)} per second."
    for errors in (study.corners, study.columns):
        if errors is not None and errors.predicted:
            yield _errors(errors)
    chosen, best = study.recommended, study.best
    if chosen.measured is not None:
        yield f"Measured there: {chosen.measured:,.0f} per second."
    if (best.partitions, best.batch) != (chosen.partitions, chosen.batch):
        yield f"The highest prediction is for {_named(best)}: {_interval(best)} per second."
    spreads = [cell.spread for cell in study.cells if cell.spread is not None]
    if spreads:
        yield f"Repeats of a setting scatter by up to {share(max(spreads))} (standard deviation); no prediction beats that."


def _errors(errors: PartitionErrors) -> str:
    return (
        f"Fitted on {len(errors.fitted)} cells ({', '.join(f'{p}x{b}' for p, b in errors.fitted)}) the other {errors.predicted} "
        f"are predicted with a median error of {share(errors.median)}, 90 % of them within {share(errors.p90)}, at most "
        f"{share(errors.most)}; the demand on the latch is D = {errors.form.replace('·', ' x ')} per unit of work."
    )


def _partition_limits(study: PartitionStudy) -> Iterator[str]:
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


# The scaling study as a page.

SAID = {
    "spin absorbs": "spin absorbs the collisions; misses are not the problem",
    "sleeps": "spin does not absorb the collisions; misses turn into sleeps, and the latch is the problem",
    "cheap sleeps": "some misses turn into sleeps, which cost little so far",
    "cannot tell": "too few misses to tell",
}
SCALING: Columns = {
    "N": lambda row: str(row.processes),
    "per s": lambda row: f"{row.throughput:,.0f}",
    "linear": lambda row: share(row.linear),
    "referen.": lambda row: share(row.reference_linear),
    "miss/get": lambda row: share(row.miss_ratio),
    "sleep/miss": lambda row: share(row.sleep_ratio),
    "spin eff": lambda row: share(row.spin_efficiency),
    "hold µs": lambda row: two(row.hold_us),
    "held": lambda row: share(row.utilisation),
    "spinning": lambda row: share(row.spinning),
    "asleep": lambda row: "< 0.01 %" if row.asleep and row.asleep < 1e-4 else share(row.asleep),
}


def scaling_page(study: ScalingStudy) -> StudyPage:
    return StudyPage(
        "Scaling on one latch",
        " ".join(_answers(study)),
        tuple(_scaling_findings(study)),
        tuple(table_of(group.name, SCALING, group.rows, words=0) for group in study.groups),
        tuple(_scaling_limits(study)),
    )


def _answers(study: ScalingStudy) -> Iterator[str]:
    """A sentence for each release and verdict, with its machines."""
    said: dict[tuple[str, str], list[str]] = {}
    for group in study.groups:
        said.setdefault((group.release, group.verdict), []).append(group.machine)
    for (release, verdict), machines in said.items():
        where = ", ".join(machine for machine in machines if machine)
        whose = f"{release} ({where})" if release and where else release or where
        yield f"{whose}: {SAID[verdict]}." if whose else f"{SAID[verdict].capitalize()}."


def _scaling_findings(study: ScalingStudy) -> Iterator[str]:
    for claim in study.mixed:
        source = f" ({claim.source})" if claim.source else ""
        yield (
            f"The published comparison{source} mixed two rows: the {claim.miss_percent} % and {claim.sleep_percent} % given for "
            f"{claim.claimed_processes} processes are those of {claim.found_processes} ({claim.group}); with "
            f"{claim.claimed_processes} it is {share(claim.actual_miss_ratio)} misses per get and "
            f"{share(claim.actual_sleep_ratio)} sleeps per miss."
        )
    yield from (_compared(comparison) for comparison in study.comparisons)
    for slip in study.slips:
        yield (
            f"{slip.group}, {slip.processes} processes: {slip.published:g} % of linear is published, the throughputs give "
            f"{slip.computed:.2f} %."
        )
    if study.checked and not study.slips:
        yield f"All {study.checked} published shares of linear follow from the throughputs."
    for group in study.groups:
        yield _bends(group)
    for group in study.groups:
        if group.held_out is not None:
            yield _held_out(group.name, group.held_out)


def _compared(pair: LikeForLike) -> str:
    (here, there), (left, right) = pair.groups, pair.miss_ratios
    asleep, awake = pair.sleep_ratios
    ratio = f", {figure(max(asleep, awake) / min(asleep, awake))} times apart" if asleep and awake else ""
    machines = "" if pair.same_machine else "; other machines, so compare these ratios and nothing else"
    return (
        f"Like for like, {pair.processes} processes: {here} has {share(left)} misses per get and "
        f"{share(asleep)} sleeps per miss, {there} {share(right)} and {share(awake)}{ratio}{machines}."
    )


def _bends(group: ScalingGroup) -> str:
    last = group.rows[-1]
    parts = [f"{group.name}: with {last.processes} processes {share(last.miss_ratio)} of the gets miss"]
    parts.append(f"{share(last.sleep_ratio)} of the misses sleep" if last.sleep_ratio is not None else "none sleeps")
    if last.asleep is not None:
        parts.append(f"{share(last.asleep)} of the processes' time is slept on the latch")
    if last.spinning is not None:
        parts.append(f"about {share(last.spinning)} spun for it")
    bent = [
        f"{what} bends at {at}"
        for what, at in (("the machine itself", group.machine_bends_at), ("the latch", group.latch_bends_at))
        if at is not None
    ]
    if bent:
        parts.append(f"{' and '.join(bent)} processes (below {BENT * 100:.0f} % of straight)")
    else:
        parts.append(f"no bend up to {last.processes} processes")
    words = ", ".join(parts)
    return words if last.saturation is None else f"{words}; {_full(group, last.saturation)}."


def _held_out(name: str, check: HeldOut) -> str:
    few, many = check.fitted, [row.processes for row in check.rows]
    return (
        f"Check of the model, {name}: fitted on {few[0]} to {few[-1]} processes and the reference, throughput with {many[0]} to "
        f"{many[-1]} is predicted with a median error of {share(check.median_error)}, at most {share(check.most_error)}, "
        f"{check.inside} of {len(many)} within their intervals; misses per get are {share(abs(check.median_miss_error))} too "
        f"{'low' if check.median_miss_error < 0 else 'high'} in the median."
    )


def _full(group: ScalingGroup, saturation: float) -> str:
    beyond = group.hardware_threads is not None and saturation > group.hardware_threads
    threads = f", more than the {group.hardware_threads} hardware threads" if beyond else ""
    return (
        f"with today's hold time the latch is full at about {saturation:.0f}{threads}, an upper limit, not a forecast"
    )


def _scaling_limits(study: ScalingStudy) -> Iterator[str]:
    yield "Nothing is predicted beyond the measured processes: the table does not show how the machine scales there."
    if any(row.hold_us is not None for group in study.groups for row in group.rows):
        yield (
            "The hold time is the time the latch is taken, including its way to the next processor: the code itself holds it up "
            "to 22 % shorter. Rows with fewer than 200 misses have none."
        )
    if any(row.reference_linear is None for group in study.groups for row in group.rows):
        yield "Without a reference column (work that does not touch the latch) the machine's own loss is part of the latch's."
    yield (
        "Spinning is processor time that no wait counts: a latch without sleeps is not free. Its share comes from the model, "
        "from how often a get finds the latch held."
    )


# The timer study as a page.


POSTED = ("is posted", "any", "no change", "no change")


def timer_page(study: TimerStudy) -> StudyPage:
    before, after, need = study.before, study.after, duration(study.need_seconds)
    changed = abs(study.factor - 1) > NOTHING
    times, way = (study.factor, "longer") if study.factor > 1 else (1 / study.factor, "shorter")
    effect = f"{figure(times)} times {way}"
    then, now = (duration(each.mean_sleep_seconds) for each in (before, after))
    answer = (
        f"A waiter that sleeps on a timer sleeps {then} -> {now} for a need of {need}"
        f"{f', {effect}' if changed else ': no notable change'}; "
        "a waiter on a standard exclusive latch: no change."
    )
    timed = (
        (
            "sleeps on a timer",
            duration(each.granularity_seconds),
            duration(each.mean_sleep_seconds),
            duration(each.constant_need_seconds),
        )
        for each in (before, after)
    )
    return StudyPage(
        "Timer granularity",
        answer,
        (
            f"Timed waiter: E = g / (1 - exp(-g/m)) with a mean need m of {need}: "
            f"g = {duration(before.granularity_seconds)} gives {then}, g = {duration(after.granularity_seconds)} gives {now}.",
            "Standard exclusive latch: no change. Its holder posts the waiter (since 9.2), so no waiter needs a tick.",
        ),
        (StudyTable("Mean sleep", ("waiter", "granularity", "need varies", "need always the same"), (*timed, POSTED)),),
        (
            "Valid for waiters that sleep a fixed time and look again. The counters do not show which ones do: ask before you "
            "make a timer finer for them.",
            "A finer timer wakes more often; what that costs in processor time is not counted here.",
            "A need that varies counts as exponential; a constant one gives the other column. Real ones are near these two.",
        ),
    )


Study = ScalingStudy | PartitionStudy | ParallelStudy | CpuStudy | TimerStudy


def page_of(study: Study) -> StudyPage:
    """The page of a study, whichever it is."""
    pages: Mapping[str, Callable[[Any], StudyPage]] = {
        "scaling": scaling_page,
        "partitions": partitions_page,
        "parallel": parallel_page,
        "cpu": cpu_page,
        "timer": timer_page,
    }
    return pages[study.study](study)


# A study as text for a terminal: at most 100 columns, and only letters in a pipe.

WIDTH = 100
LONGEST_NAME = 44


def as_text(page: StudyPage) -> str:
    """The answer, its basis, and what the figures do not say."""
    said = [*wrap(page.answer), ""]
    said += [line for finding in page.findings for line in wrap(finding, "- ", "  ")]
    said += [line for part in page.tables for line in ("", *table(part))]
    if page.limits:
        said += ["", "Limits", *(line for limit in page.limits for line in wrap(limit, "- ", "  "))]
    return "\n".join(line.rstrip() for line in said)


def table(part: StudyTable) -> list[str]:
    names = [[_short(name) for name in row[: part.words]] for row in (part.headings, *part.rows)]
    rows = [(*name, *row[part.words :]) for name, row in zip(names, (part.headings, *part.rows), strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    between = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    laid = (
        between.join(f"{cell:{'<' if i < part.words else '>'}{widths[i]}}" for i, cell in enumerate(row))
        for row in rows
    )
    return [*wrap(part.title), *(line[:WIDTH] for line in laid)]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def wrap(words: str, indent: str = "", further: str = "") -> list[str]:
    """The words in lines of at most WIDTH. An address is broken only if it is longer than a line."""
    whole = words.replace(" %", "\u00a0%")  # a number stays with its sign
    laid = wrapped(whole, WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in laid]
