"""The rows of v$session that samples of an interval met, counted in one pass, and the caches that those sessions wait for.

A burst meets thousands of sessions that differ in little.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from heapq import nsmallest
from math import sqrt
from operator import itemgetter
from typing import NamedTuple

from collectors.model import (
    RESULT_CACHE_LATCH,
    ROW_CACHE_LOCK_EVENT,
    ROW_CACHE_MUTEX_EVENT,
    Basis,
    Delta,
    Row,
    Value,
    number,
    text,
)
from rules.base import remembered
from rules.cache_map import CacheMap

LATCH_EVENT = "latch: row cache objects"
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


# Who waits and for which cache: the sampled sessions of an interval, grouped by what they have in common.
#
# A row cache mutex or lock names its cache in P1. A latch names the address of its child in P1RAW, which leads through
# v$latch_children and the map to the cache.

MINIMUM_WAITERS = 10
"""Fewer sampled waiters do not show which cache it is or who waits."""
AGREEING = 3
"""From so few waiters on it counts, with a doubt, that all of them say so."""
BY_CACHE_ID = (ROW_CACHE_MUTEX_EVENT, ROW_CACHE_LOCK_EVENT)
RESULT_CACHE = "result cache"
"""The name under which waiters of the result cache latch are counted, beside the dictionary caches."""
EXCLUSIVE = 5
NOT_LISTED = "not listed in v$rowcache"


class Waiter(NamedTuple):
    """What sampled sessions that wait alike have in common."""

    event: str
    cache: str
    """Cache name, or unknown."""
    sql_id: str
    module: str
    program: str
    container: str
    blocker: str
    """See `blocker_of`. Empty if Oracle does not say."""
    exclusive: bool
    """A row cache lock requested in exclusive mode."""


@dataclass(frozen=True)
class SampledWaiters:
    """Every waiter of the row cache in an interval, over a number of looks."""

    looks: int
    alike: Mapping[Waiter, int]
    """Waiters that are equal → how many. A crowd has thousands of waiters, and few that differ."""
    most_at_once: int = 0
    """Most of them in a single look, without those of the result cache."""

    def met(self, event: str | None = None) -> int:
        """How many wait for one event, or all."""
        return self.caches(event).total()

    def caches(self, event: str | None = None) -> Counter[str]:
        """Those of one event, or all, by cache."""
        return self._by_event[event]

    @cached_property
    def _by_event(self) -> defaultdict[str | None, Counter[str]]:
        """Event, or None for all → cache → how many. The order of names ranks caches with equally many waiters."""
        places: Counter[tuple[str, str]] = Counter()
        for waiter, times in self.alike.items():
            places[waiter.cache, waiter.event] += times
        found: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
        for (waited_for, event), times in sorted(places.items()):
            for asked in (event, None):
                found[asked][waited_for] += times
        return found

    def groups(self, most: int) -> list[tuple[Waiter, int]]:
        """The largest groups of equal waiters, the most first."""
        return nsmallest(most, self.alike.items(), key=lambda item: (-item[1], item[0]))


def crowd_of(samples: Samples, cache_of: Callable[[Row], str | None]) -> SampledWaiters | None:
    """The sampled waiters for the row cache. None without a look. `cache_of`: see `cache_namer`."""
    if not samples.looks:
        return None
    waiter_of = _waiter_maker(cache_of)
    waiters: Counter[Waiter] = Counter()
    for cells, times in samples.alike.items():
        waiter = waiter_of(cells)
        if waiter is not None:
            waiters[waiter] += times
    return SampledWaiters(len(samples.looks), waiters, samples.most_at_once((*BY_CACHE_ID, LATCH_EVENT)))


def _waiter_maker(cache_of: Callable[[Row], str | None]) -> Callable[[Cells], Waiter | None]:
    """From the cells of TELLING to the Waiter, None for other waits. Few places and blockers: each is worked out once."""

    @cache
    def place_of(cells: Cells) -> tuple[str, str, bool] | None:
        row = dict(zip(PLACE, cells, strict=True))
        event, waited_for = text(row["event"]), cache_of(row)
        if waited_for is None:
            return None
        return event or "", waited_for, event == ROW_CACHE_LOCK_EVENT and number(row["p3"]) == EXCLUSIVE

    @cache
    def behind(cells: Cells) -> str:
        return blocker_of(dict(zip(BEHIND, cells, strict=True))) or ""

    def waiter_of(cells: Cells) -> Waiter | None:
        place = place_of(cells[:who])
        if place is None:
            return None
        event, waited_for, exclusive = place
        sql_id, module, program, container = ("" if cell is None else str(cell) for cell in cells[who:last])
        return Waiter(event, waited_for, sql_id, module, program, container, behind(cells[last:]), exclusive)

    who, last = len(PLACE), len(PLACE) + len(WHO)
    return waiter_of


def blocker_of(row: Row) -> str | None:
    """The session at the end of the chain, `SID@INSTANCE`, or `SID` if its instance is unknown. None without a blocker."""
    for kind in ("final_blocking", "blocking"):
        session, instance = text(row.get(f"{kind}_session")), text(row.get(f"{kind}_instance"))
        if session is not None:
            return session if instance is None else f"{session}@{instance}"
    return None


def tells_blocker(row: Row) -> bool:
    """Whether Oracle's statement on a blocker was captured. NULL says that it names none."""
    for kind in ("final_blocking", "blocking"):
        if f"{kind}_session" not in row or f"{kind}_instance" not in row:
            return False
        if row[f"{kind}_session"] is not None:
            return True
    return True


def cache_namer(
    delta: Delta, caches: CacheMap, children: Mapping[str | None, float | None]
) -> Callable[[Row], str | None]:
    """The cache that a session waits for: its name, else its id, else unknown. None for other waits."""
    result_cache = delta.cell("v$latchname", "name", RESULT_CACHE_LATCH, "latch#")

    @cache
    def names() -> Mapping[float | None, str | None]:
        # Subordinates share their parent's id, so the id has the parent's name.
        parents_last = sorted(
            delta.rows("v$rowcache"), key=lambda row: (row.get("type") == "PARENT", str(row.get("parameter")))
        )
        return {number(row.get("cache#")): text(row.get("parameter")) for row in parents_last}

    def cache_of(row: Row) -> str | None:
        event = text(row.get("event"))
        if event in BY_CACHE_ID:
            cache_id = number(row.get("p1"))
            # Beside a view's columns, a trace file may say the name itself.
            return names().get(cache_id) or text(row.get("cache_name")) or unlisted(cache_id)
        if event == LATCH_EVENT:
            child = children.get(text(row.get("p1raw")))
            return "unknown" if child is None else _behind(caches, int(child))
        if event == "latch free" and result_cache is not None and number(row.get("p2")) == result_cache:
            return RESULT_CACHE
        return None

    return cache_of


def unlisted(cache: float | None) -> str:
    """The name of a cache that v$rowcache does not list. Only its id is known."""
    return "unknown" if cache is None else f"cache id {cache:g}, {NOT_LISTED}"


def within_cache(cache: str) -> str:
    """The name of a cache for the middle of a sentence."""
    return f"{cache}," if cache.endswith(NOT_LISTED) else "an unknown cache" if cache == "unknown" else cache


def _behind(caches: CacheMap, child: int) -> str:
    """The cache that a child guards."""
    guarded = caches.children.get(child)
    parents = [ref.cache_id for ref in guarded.caches if ref.type == "PARENT"] if guarded else []
    return unlisted(parents[0]) if guarded and guarded.name is None and len(parents) == 1 else caches.name(child)
