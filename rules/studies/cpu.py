"""Processor counters of `perf stat` as text: instructions per cycle, stalls, and their effect on the time a latch is held.

A hold of I instructions lasts I · CPI / f: the same code holds longer if the processor stalls. This applies to the hold
only if the counters were taken in the code of the holder.
"""

import re
from collections.abc import Iterator
from typing import Literal

from rules.base import Frozen
from rules.contention.holds import hold_seconds
from rules.studies.table import BadStudy

_LINE = re.compile(
    r"^\s*(?P<value>[\d.,'\u202f\u00a0]+|<not (?:counted|supported)>)\s+(?:msec\s+)?(?P<event>[a-zA-Z][\w/.:-]*)"
)
_ELAPSED = re.compile(r"^[ \t]*([\d.,]+)\s+seconds time elapsed", re.M)
_RUNNING = re.compile(r"[\[(]\s*([\d.]+)%\s*[\])]\s*$")
_PRINTED = (
    ("ipc", re.compile(r"#\s+([\d.]+)\s+ins[nst]*s?\s+per\s+cycle")),
    ("stalled_per_instruction", re.compile(r"#\s+([\d.]+)\s+stalled cycles per insn")),
    ("frontend_idle", re.compile(r"#\s+([\d.]+)%\s+frontend cycles idle")),
    ("backend_idle", re.compile(r"#\s+([\d.]+)%\s+backend\s+cycles idle")),
    ("cache_miss_ratio", re.compile(r"#\s+([\d.]+)\s*%\s+of all cache refs")),
    ("gigahertz", re.compile(r"#\s+([\d.]+)\s+GHz")),
    ("cpus_used", re.compile(r"#\s+([\d.]+)\s+CPUs utilized")),
)
"""What perf prints beside its counters, to check against them."""
SHARES = ("frontend_idle", "backend_idle", "cache_miss_ratio")
NAMES = {
    "instructions": "instructions",
    "cycles": "cycles",
    "cpu-cycles": "cycles",
    "stalled-cycles-frontend": "stalled-cycles-frontend",
    "idle-cycles-frontend": "stalled-cycles-frontend",
    "stalled-cycles-backend": "stalled-cycles-backend",
    "idle-cycles-backend": "stalled-cycles-backend",
    "cache-references": "cache-references",
    "cache-misses": "cache-misses",
    "task-clock": "task-clock",
}


class CpuSlip(Frozen):
    """A figure that perf printed and its own counters contradict."""

    figure: str
    printed: float
    computed: float


class CpuStudy(Frozen):
    """The result of the counters. None if a counter was not taken. Ratios are 0..1."""

    study: Literal["cpu"] = "cpu"
    source: str
    counters: dict[str, float]
    seconds: float | None
    ipc: float
    cycles_per_instruction: float
    gigahertz: float | None
    cpus_used: float | None
    stalled_per_instruction: float | None
    """Stalled cycles per instruction, of the frontend or backend: of the one that stalled more."""
    frontend_idle: float | None
    backend_idle: float | None
    cache_miss_ratio: float | None
    misses_per_thousand: float | None
    """Cache misses per 1,000 instructions."""
    cycles_per_miss: float | None
    """Backend stalls per cache miss: the most that a miss can cost, if every stall were one of memory."""
    nanoseconds_per_miss: float | None
    nanoseconds_per_thousand: float | None
    """How long 1,000 instructions take, and so how long a hold of that length lasts."""
    hold_factor: float | None
    """Length of the same hold with the other counters. None without others."""
    in_holder: bool
    """Whether the person says that the counters are those of the holder's code."""
    counted_share: float | None
    """Least share of the time a counter was on. Below 1 the counts are estimates."""
    slips: tuple[CpuSlip, ...]
    checked: int
    """Printed figures checked against the counters."""


def cpu_study(text: str, name: str, in_holder: bool = False, other: tuple[str, str] | None = None) -> CpuStudy:
    """The study of a `perf stat` text, compared with another (text, name) if given. Raises BadStudy."""
    found = _study(text, name, in_holder)
    if other is None:
        return found
    before = _study(*other, in_holder)
    if found.nanoseconds_per_thousand is None or before.nanoseconds_per_thousand is None:
        lacks = found.source if found.nanoseconds_per_thousand is None else before.source
        raise BadStudy(f"{lacks} has no task-clock, so no frequency; count task-clock too: perf stat -e task-clock,…")
    factor = found.nanoseconds_per_thousand / before.nanoseconds_per_thousand
    return found.model_copy(update={"hold_factor": factor})


def _study(text: str, name: str, in_holder: bool) -> CpuStudy:
    counters, on = _counters(text, name)
    for needed in ("instructions", "cycles"):
        if not counters.get(needed):
            raise BadStudy(f"{name} counts no {needed}; take perf stat -e cycles,instructions,task-clock and more")
    elapsed = _ELAPSED.search(text)
    seconds = float(elapsed[1].replace(",", "")) if elapsed else None
    cycles, instructions = counters["cycles"], counters["instructions"]
    front, back = counters.get("stalled-cycles-frontend"), counters.get("stalled-cycles-backend")
    references, misses = counters.get("cache-references"), counters.get("cache-misses")
    clock = counters.get("task-clock")
    gigahertz = cycles / clock / 1e6 if clock else None
    per_miss = back / misses if back is not None and misses else None
    stalls = max((each for each in (front, back) if each is not None), default=None)
    cpi = cycles / instructions
    made = CpuStudy(
        source=name,
        counters=counters,
        seconds=seconds,
        ipc=instructions / cycles,
        cycles_per_instruction=cpi,
        gigahertz=gigahertz,
        cpus_used=clock / 1000 / seconds if clock and seconds else None,
        stalled_per_instruction=None if stalls is None else stalls / instructions,
        frontend_idle=None if front is None else front / cycles,
        backend_idle=None if back is None else back / cycles,
        cache_miss_ratio=misses / references if misses is not None and references else None,
        misses_per_thousand=None if misses is None else misses / instructions * 1000,
        cycles_per_miss=per_miss,
        nanoseconds_per_miss=per_miss / gigahertz if per_miss is not None and gigahertz else None,
        nanoseconds_per_thousand=hold_seconds(1000, cpi, gigahertz * 1e9) * 1e9 if gigahertz else None,
        hold_factor=None,
        in_holder=in_holder,
        counted_share=min(on, default=None),
        slips=(),
        checked=0,
    )
    printed = list(_printed(text))
    slips = [
        CpuSlip(figure=figure, printed=stated, computed=value)
        for figure, stated, half in printed
        if (value := getattr(made, figure)) is not None and abs(value - stated) > half * 1.01
    ]
    return made.model_copy(update={"slips": tuple(slips), "checked": len(printed)})


def _counters(text: str, name: str) -> tuple[dict[str, float], list[float]]:
    """Counters by their plain names, and the shares of the time they were on. Kernel and user counts stay as they are."""
    counters: dict[str, float] = {}
    on = [float(running[1]) / 100 for running in map(_RUNNING.search, text.splitlines()) if running]
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        event = found["event"].removesuffix(":").rstrip("/").rpartition("/")[2]
        plain = NAMES.get(event.partition(":")[0])
        if plain is None or found["value"].startswith("<"):
            continue
        if plain in counters:
            raise BadStudy(f"{name} line {number} counts {plain} a second time; give the output of one perf stat")
        counters[plain] = float(re.sub(r"[^\d.]", "", found["value"]))
    if not counters:
        raise BadStudy(f"{name} holds no counters of perf stat; give what `perf stat -p PID sleep 30` printed")
    return counters, on


def _printed(text: str) -> Iterator[tuple[str, float, float]]:
    """Figure, its value as printed, and half a unit of its last digit; shares as 0..1."""
    for figure, pattern in _PRINTED:
        found = pattern.search(text)
        if found:
            scale = 100 if figure in SHARES else 1
            digits = len(found[1].partition(".")[2])
            yield figure, float(found[1]) / scale, 0.5 * 10**-digits / scale
