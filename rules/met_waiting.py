"""What samples of v$session met, as time: sessions that are met again and again lose time, whatever the finished waits say."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt

from collectors.model import Delta, Value, number, text

MINIMUM_SAMPLES = 10
"""Fewer samples do not show how many wait on average."""
SURE = 2.0
"""Standard errors within which an average lies in 19 of 20 cases."""
OWN_PROCESS = re.compile(r"\((?!P[0-9A-Z]{3}\))[A-Z][0-9A-Z]{3}\)\s*$")
"""The end of the program of a background process, such as (SMON). Parallel servers work for a session."""


@dataclass(frozen=True, slots=True)
class MetWaiting:
    """The waiting sessions that samples found in one event, background processes left out."""

    samples: int
    average: float
    """Sessions in a sample,"""
    doubt: float
    """and how far the true average may be from it, in 19 of 20 cases."""
    lasting: float
    """Seconds of the interval that the waits met had lasted, the longest of each session: lost for certain."""

    @property
    def least(self) -> float:
        """The fewest sessions that wait on average, but for chance."""
        return max(0.0, self.average - self.doubt)


def met_waiting(delta: Delta, events: Iterable[str]) -> Mapping[str, MetWaiting]:
    """Event → what the samples of an interval met. Empty without an interval, and with too few samples for an average."""
    rows, seconds = delta.rows("v$session"), delta.basis.seconds
    samples = {row.get("sample") for row in rows}
    if len(samples) < MINIMUM_SAMPLES or delta.basis.kind != "interval" or not seconds:
        return {}
    ordered = sorted(samples, key=lambda sample: number(sample) or 0.0)
    # A wait may have begun before the interval. Samples are a second apart, or evenly spread over less.
    since_begin = {sample: place * min(1.0, seconds / len(ordered)) for place, sample in enumerate(ordered, 1)}
    met: dict[str, Counter[Value]] = {event: Counter() for event in events}
    longest: dict[str, dict[Value, float]] = {event: {} for event in met}
    for row in rows:
        event = row.get("event")
        if event not in met or _of_a_background_process(text(row.get("program"))):
            continue
        met[str(event)][row.get("sample")] += 1
        waited, sid = number(row.get("wait_time_micro")), row.get("sid")
        if waited is not None:
            known = longest[str(event)].get(sid, 0.0)
            longest[str(event)][sid] = max(known, min(waited / 1e6, since_begin[row.get("sample")]))
    return {
        event: _average([counted[sample] for sample in samples], sum(longest[event].values()))
        for event, counted in met.items()
        if counted
    }


@cache
def _of_a_background_process(program: str | None) -> bool:
    return program is not None and OWN_PROCESS.search(program) is not None


def _average(sizes: Sequence[int], lasting: float) -> MetWaiting:
    average = sum(sizes) / len(sizes)
    spread = max(sum((size - average) ** 2 for size in sizes) / (len(sizes) - 1), average)
    return MetWaiting(len(sizes), average, SURE * sqrt(spread / len(sizes)), lasting)
