"""The rows of v$session that samples of an interval met, counted in one pass, however many questions there are.

A burst meets thousands of sessions that differ in little.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from operator import itemgetter

from collectors.model import Basis, Row, Value, number
from rules.base import remembered

PLACE = ("event", "p1", "p1raw", "p2", "p3")
WHO = ("sql_id", "module", "program", "con_id")
BEHIND = ("blocking_instance", "blocking_session", "final_blocking_instance", "final_blocking_session")
TELLING = (*PLACE, *WHO, *BEHIND)
"""Columns of v$session that tell waiters apart. Samples and sessions do not."""
PER_SAMPLE = ("event", "program", "sample")
OWN_PROCESS = re.compile(r"\((?!P[0-9A-Z]{3}\))[A-Z][0-9A-Z]{3}\)\s*$")
"""The end of the program of a background process, such as (SMON). Parallel servers work for a session."""

Cells = tuple[Value, ...]


def counted(rows: Sequence[Row], columns: Sequence[str]) -> Counter[Cells]:
    """How many rows have the same cells in some columns; None where a row lacks one."""
    try:
        return Counter(map(itemgetter(*columns), rows))
    except KeyError:
        return Counter(tuple(map(row.get, columns)) for row in rows)


@lru_cache(4096)
def of_a_background_process(program: Value) -> bool:
    """Whether a session is that of a background process, by its program."""
    return program is not None and OWN_PROCESS.search(str(program)) is not None


@dataclass(frozen=True)
class Samples:
    """Sampled sessions, by what they have in common."""

    rows: Sequence[Row]
    """Every row with an event, each once."""
    looks: Set[Value]
    """The samples, those that found no session as well."""
    alike: Counter[Cells]
    """The cells of TELLING → rows."""
    per_sample: Counter[Cells]
    """The cells of PER_SAMPLE → rows."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Samples":
        """The counts of some rows."""
        met = [row for row in rows if row.get("event") is not None]
        looks = {row.get("sample") for row in rows}
        return cls(met, looks, counted(met, TELLING), counted(met, PER_SAMPLE))

    def lasting(self, event: str, seconds: float) -> float:
        """Seconds that the longest wait of each session in an event had lasted within an interval of so many.

        Background processes are left out.
        """
        return sum(self._longest(seconds).get(event, {}).values())

    @remembered
    def _longest(self, seconds: float) -> Mapping[Value, Mapping[Value, float]]:
        """Event → session → seconds of its longest wait."""
        ordered = sorted(self.looks, key=lambda sample: number(sample) or 0.0)
        # A wait may have begun before the interval. Samples are a second apart, or evenly spread over less.
        since_begin = {sample: place * min(1.0, seconds / len(ordered)) for place, sample in enumerate(ordered, 1)}
        longest: defaultdict[Value, dict[Value, float]] = defaultdict(dict)
        for row in self.rows:
            micro = row.get("wait_time_micro")
            if not isinstance(micro, int | float) or of_a_background_process(row.get("program")):
                continue
            own, sid = longest[row.get("event")], row.get("sid")
            lasted, most = micro / 1e6, since_begin[row.get("sample")]
            if lasted > most:
                lasted = most
            if lasted > own.setdefault(sid, 0.0):
                own[sid] = lasted
        return longest

    @cached_property
    def _by_event(self) -> Counter[Value]:
        met: Counter[Value] = Counter()
        for (event, *_), times in self.per_sample.items():
            met[event] += times
        return met

    def met(self, event: str) -> int:
        """How many sessions waited in an event."""
        return self._by_event[event]

    def shorter(self, event: str, micro: float) -> int:
        """Rows in an event that had waited for less than so many microseconds, each counted once."""
        waits = (number(row.get("wait_time_micro")) for row in self.rows if row.get("event") == event)
        return sum(1 for wait in waits if wait is not None and wait < micro)

    def most_at_once(self, events: Iterable[str]) -> int:
        """Most sessions that one sample met in some events together."""
        wanted, met = set(events), Counter[Value]()
        for (event, _, sample), times in self.per_sample.items():
            if event in wanted:
                met[sample] += times
        return max(met.values(), default=0)

    def by_cell(self, event: str, column: str) -> Counter[Value]:
        """The rows in an event by their cell of a column of TELLING."""
        first, place, found = TELLING.index("event"), TELLING.index(column), Counter[Value]()
        for cells, times in self.alike.items():
            if cells[first] == event:
                found[cells[place]] += times
        return found

    @remembered
    def lack(self, event: str, column: str) -> bool:
        """Whether a column was not captured of a session that waited in an event."""
        return any(column not in row for row in self.rows if row.get("event") == event)


# What samples met, as time: sessions that are met again and again lose time, whatever the finished waits say.

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
