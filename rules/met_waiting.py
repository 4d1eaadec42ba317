"""What samples of v$session met, as time: sessions that are met again and again lose time, whatever the finished waits say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from collectors.model import Basis, Value
from rules.samples import Samples, of_a_background_process

MINIMUM_SAMPLES = 10
"""Fewer samples do not show how many wait on average."""
SURE = 2.0
"""Standard errors within which an average lies in 19 of 20 cases."""


@dataclass(frozen=True, slots=True)
class MetWaiting:
    """The waiting sessions that samples found in one event, background processes left out."""

    samples: int
    average: float
    """Sessions in a sample,"""
    doubt: float
    """and how far the true average may be from it, in 19 of 20 cases."""
    event: str
    seconds: float
    """Length of the interval."""
    among: Samples

    @property
    def least(self) -> float:
        """The fewest sessions that wait on average, but for chance."""
        return max(0.0, self.average - self.doubt)

    @property
    def lasting(self) -> float:
        """Seconds of the interval that the waits met had lasted, the longest of each session: lost for certain."""
        return self.among.lasting(self.event, self.seconds)


def met_waiting(samples: Samples, basis: Basis, events: Iterable[str]) -> Mapping[str, MetWaiting]:
    """Event → what the samples of an interval met. Empty without an interval, and with too few samples for an average."""
    looks, seconds = samples.looks, basis.seconds
    if len(looks) < MINIMUM_SAMPLES or basis.kind != "interval" or not seconds:
        return {}
    met: dict[str, Counter[Value]] = {event: Counter() for event in events}
    for (event, program, sample), times in samples.per_sample.items():
        if event in met and not of_a_background_process(program):
            met[str(event)][sample] += times
    return {
        event: _average([counted[sample] for sample in looks], event, seconds, samples)
        for event, counted in met.items()
        if counted
    }


def _average(sizes: Sequence[int], event: str, seconds: float, among: Samples) -> MetWaiting:
    average = sum(sizes) / len(sizes)
    spread = max(sum((size - average) ** 2 for size in sizes) / (len(sizes) - 1), average)
    return MetWaiting(len(sizes), average, SURE * sqrt(spread / len(sizes)), event, seconds, among)
