"""The study of processor counters as a page."""

from collections.abc import Iterator

from rules.studies.cpu import CpuStudy
from service.render.study.page import StudyBars, StudyPage, StudyTable, figure, share


def cpu_page(study: CpuStudy) -> StudyPage:
    stalled = (
        "" if study.stalled_per_instruction is None else f", {study.stalled_per_instruction:.2f} stalled cycles each"
    )
    answer = (
        f"{study.ipc:.2f} instructions per cycle{stalled}: an instruction takes {study.cycles_per_instruction:.2f} cycles, "
        f"and the same code holds a latch {study.cycles_per_instruction:.1f} times as long as at one per cycle."
    )
    bars = [
        (name, value * 100)
        for name, value in (
            ("frontend idle", study.frontend_idle),
            ("backend idle", study.backend_idle),
            ("cache references that miss", study.cache_miss_ratio),
        )
        if value is not None
    ]
    chart = (StudyBars("Idle cycles and cache misses", "%", tuple(bars)),) if bars else ()
    return StudyPage(
        "Processor counters",
        answer,
        tuple(_findings(study)),
        (StudyTable("Counters and results", ("figure", "value"), tuple(_rows(study))), *chart),
        tuple(_limits(study)),
    )


def _rows(study: CpuStudy) -> Iterator[tuple[str, str]]:
    yield from ((name, f"{value:,.0f}") for name, value in study.counters.items())
    yield from (
        row
        for row in (
            ("instructions per cycle", f"{study.ipc:.2f}"),
            ("cycles per instruction", f"{study.cycles_per_instruction:.2f}"),
            ("stalled cycles per instruction", _two(study.stalled_per_instruction)),
            ("frontend cycles idle", share(study.frontend_idle)),
            ("backend cycles idle", share(study.backend_idle)),
            ("cache references that miss", share(study.cache_miss_ratio)),
            ("cache misses per 1,000 instructions", _two(study.misses_per_thousand)),
            ("backend stalls per cache miss, cycles", figure(study.cycles_per_miss)),
            ("backend stalls per cache miss, ns", figure(study.nanoseconds_per_miss)),
            ("frequency, GHz", _two(study.gigahertz)),
            ("CPUs used", _two(study.cpus_used)),
            ("1,000 instructions take, ns", figure(study.nanoseconds_per_thousand)),
        )
        if row[1] != "–"
    )


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _findings(study: CpuStudy) -> Iterator[str]:
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


def _limits(study: CpuStudy) -> Iterator[str]:
    if study.counted_share is not None and study.counted_share < 1:
        yield (
            f"The counters took turns, on for {study.counted_share * 100:.0f} % of the time at least: each count is an "
            "estimate, and a ratio of two rests on different moments."
        )
    front, back = study.frontend_idle, study.backend_idle
    if front is not None and back is not None and front + back > 1:
        yield "Frontend and backend idle add up to more than 100 %: a cycle can be idle in both, so do not add them."
    yield "Stalls of a process that waits off the processor are not in these counters."
