"""A small model of an instance: load, queues before latches, mutexes and locks, and the counters that Oracle keeps of them.

A latch or mutex is a server with one place. A request that finds it taken spins, and sleeps if the queue outlasts the spin. A
few holders lose the processor while they hold; on a starved host many do. Everything is a rate a second until `tick` turns
it into counts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import exp, log
from random import Random
from typing import Any

from tests.second.causes import LATCH, Cause

PARENT, SUBORDINATE = "PARENT", "SUBORDINATE"
UNITS = ("executes", "parses", "hard", "failures", "logons", "commits", "calls", "recursive")
CPU = {"executes": 1.5e-4, "parses": 6e-5, "hard": 4e-3, "failures": 8e-4, "logons": 9e-3, "commits": 4e-5}
"""Seconds of processor for each."""
_CACHES: tuple[tuple[str, int, str, int | None, dict[str, float]], ...] = (
    ("dc_tablespaces", 0, PARENT, None, {"executes": 0.15, "commits": 0.05}),
    ("dc_free_extents", 1, PARENT, None, {}),
    ("dc_segments", 2, PARENT, None, {"hard": 3, "parses": 0.02}),
    ("dc_rollback_segments", 3, PARENT, None, {"commits": 0.6, "": 0.2}),
    ("dc_used_extents", 4, PARENT, None, {}),
    ("dc_tablespace_quotas", 5, PARENT, None, {"": 0.01}),
    ("dc_files", 6, PARENT, None, {"": 0.3}),
    ("dc_users", 10, PARENT, None, {"parses": 0.5, "logons": 12, "executes": 0.1}),
    ("dc_users", 7, SUBORDINATE, 0, {"parses": 0.1, "logons": 4}),
    ("dc_users", 7, SUBORDINATE, 1, {"parses": 0.02}),
    ("dc_users", 7, SUBORDINATE, 2, {}),
    ("dc_objects", 8, PARENT, None, {"hard": 8, "parses": 0.1, "logons": 2}),
    ("dc_object_grants", 8, SUBORDINATE, 0, {"hard": 2, "parses": 0.02}),
    ("dc_constraints", 12, PARENT, None, {"": 0.02}),
    ("dc_sequences", 13, PARENT, None, {"commits": 0.02, "logons": 0.05}),
    ("dc_profiles", 14, PARENT, None, {"logons": 3}),
    ("dc_props", 15, PARENT, None, {"logons": 4, "": 0.5}),
    ("dc_histogram_defs", 16, PARENT, None, {"hard": 25}),
    ("dc_histogram_data", 16, SUBORDINATE, 0, {"hard": 14}),
    ("dc_histogram_data", 16, SUBORDINATE, 1, {"hard": 5}),
    ("dc_global_oids", 17, PARENT, None, {"hard": 0.3, "": 0.1}),
    ("dc_table_scns", 19, PARENT, None, {"": 0.01}),
    ("rule_info", 20, PARENT, None, {}),
    ("dc_awr_control", 22, PARENT, None, {"": 0.05}),
    ("outstanding_alerts", 24, PARENT, None, {"": 0.03}),
    ("kqlsubheap_object", 32, PARENT, None, {"": 0.02}),
    ("sch_lj_objs", 40, PARENT, None, {"": 0.02}),
    ("realm cache", 47, PARENT, None, {}),
    ("dc_cdbservices", 56, PARENT, None, {"logons": 1}),
)  # name, cache#, type, subordinate#, gets for each unit ("": a second)
TINY = ("outstanding_alerts", "dc_awr_control")
"""Caches of which nearly every get misses, at rates that mean nothing."""
LATCH_SHAPES = {  # location → weight on the side of the holder, and of the waiter
    "normal": {"kqrpre: find obj": (12, 80), "kqreqd: reget": (75, 5), "kqreqd": (8, 13), "kqrso": (3, 1)},
    "chain": {"kqrpre: find obj": (84, 60), "kqreqd: reget": (10, 20), "kqreqd": (5, 19), "kqrso": (0.2, 0.2)},
    "volume": {"kqrpre: find obj": (40, 34), "kqreqd: reget": (31, 33), "kqreqd": (29, 33), "kqrso": (1, 1)},
    "subordinate": {"kqrso": (42, 38), "kqreqd: reget": (38, 10), "kqrpre: find obj": (15, 42), "kqreqd": (5, 10)},
    "change": {
        "kqrpup": (22, 8),
        "kqrcmt: while loop": (12, 4),
        "kqrpre: find obj": (16, 70),
        "kqreqd: reget": (50, 18),
    },
}
RESULT_SHAPE = {"Result Cache: Serialization12": (70, 65), "Result Cache: Serialization01": (30, 35)}
OTHER_LATCHES = ("shared pool", "cache buffers chains", "redo allocation", "session allocation", "enqueue hash chains",
                 "undo global data", "messages")  # fmt: skip
QUIET_EVENTS = ("latch free", "library cache: mutex X", "library cache lock", "library cache pin", "latch: shared pool",
                "cursor: pin S wait on X", "latch: cache buffers chains", "enq: TX - row lock contention",
                "row cache lock", "enq: HW - contention", "cursor: mutex X", "cursor: pin S")  # fmt: skip
RC_LATCH, RC_ADDRESS = 417, "00000000600A51C0"
ROW_LATCH = "row cache objects"


def solve(of: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a rising function reaches a target, between two bounds above zero."""
    low, high = log(low), log(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if of(exp(middle)) < target else (low, middle)
    return exp(high)


@dataclass(frozen=True)
class Queue:
    """What happens before one latch or mutex, a second."""

    misses: float
    sleeps: float
    wait: float
    """Seconds slept."""


@dataclass
class Lock:
    """Waits for locks on entries of one cache, a second."""

    cache: str
    waits: float
    wait: float
    mode: int
    requests: float
    mods: float
    conflicts: float = 0.0
    timeouts: float = 0.0


@dataclass
class Load:
    """What causes add to the normal load of an instance."""

    units: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    gets: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Cache → gets a second; a `+` after the name: of its subordinates."""
    missed: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    hold: dict[str, float] = field(default_factory=dict)
    """Cache → microseconds of one hold, in place of the normal ones."""
    shapes: dict[str, str] = field(default_factory=dict)
    locks: list[Lock] = field(default_factory=list)
    events: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Event → waits, and seconds waited, a second."""
    result: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Gets, misses, sleeps and seconds slept of the latch of the result cache."""
    idle_share: float = 1.0
    """How much of the normal load there is."""
    preempt: float = 0.0
    """Share of holders that lose the processor, 0 for what is ordinary on the machine."""
    nap: float = 5e-3
    """For how many seconds."""
    spoilt: bool = False
    """Whether other latches are as slow."""
    ordinary: float = 0.0
    """Sessions on average in waits that no poll reads: reads of files, commits."""
    processor: float = 0.0
    in_parse: float = 0.0
    """Sessions on average that wait for the row cache while they parse."""


class Machine:
    """One instance: its sizes, its map of caches, and its counters."""

    def __init__(self, rng: Random, family: str, release: str, *, cluster: bool) -> None:
        self.rng, self.family, self.release, self.cluster = rng, family, release, cluster
        self.latch = family in LATCH
        self.cpus = rng.choice((4, 8, 16, 24, 32, 64))
        self.busy = self.cpus * rng.uniform(0.08, 0.35)
        """Sessions on average at normal work, on the processor or in ordinary waits."""
        executes = self.busy * rng.uniform(60, 500)
        parses = executes * rng.uniform(0.15, 0.5)
        self.normal = {
            "executes": executes, "parses": parses, "hard": min(parses * rng.uniform(0.001, 0.01), 12.0),
            "failures": rng.uniform(0, 0.3), "logons": rng.uniform(0.05, 2.5), "commits": executes * rng.uniform(0.02, 0.15),
            "calls": executes * rng.uniform(0.5, 1.1), "recursive": executes * rng.uniform(0.3, 0.9),
        }  # fmt: skip
        self.base_hold = rng.uniform(1.2, 5.0) if self.latch else rng.uniform(0.5, 2.2)
        self.spin = rng.uniform(35, 65) if self.latch else rng.uniform(6, 12)
        self.wake = rng.uniform(1.5e-4, 9e-4) if self.latch else rng.uniform(5e-4, 7e-3)
        self.preempt = exp(rng.uniform(log(3e-4), log(3e-3)))
        shift = rng.randint(0, 6)
        self.caches = [
            ("global database name" if family == "11.2" and name == "dc_props" else name, number + shift * (number > 50),
             kind, sub, units)
            for name, number, kind, sub, units in _CACHES
            if family != "11.2" or name != "dc_cdbservices"
        ]  # fmt: skip
        self.groups: dict[str, list[int]] = defaultdict(list)
        """Name of the parent → places in `caches` that one latch guards."""
        for place, (name, _, kind, _, _) in enumerate(self.caches):
            guard = {"dc_object_grants": "dc_objects", "dc_histogram_data": "dc_histogram_defs"}.get(name, name)
            self.groups[name if kind == PARENT else guard].append(place)
        self.children = rng.sample(range(1, len(self.groups) + 20), len(self.groups))
        self.child = dict(zip(self.groups, self.children, strict=True))
        self.latch_number = rng.randint(250, 330) if self.latch else rng.randint(340, 410)
        block = rng.randrange(1 << 20, 1 << 28) << 8
        self.address = {number: f"{block + number * 0xC8:016X}" for number in self.children}
        self.entries = [rng.randint(20, 4000) for _ in self.caches]
        self.levels: dict[str, float] = {"segments": rng.randint(22, 480), "together": rng.randint(4, 60),
                                         "retention": rng.randint(900, 5400)}  # fmt: skip
        """segments and together: undo segments, and transactions at one time. retention: of undo, tuned, in seconds. floor:
        _rollback_segment_count. clones: bytes of row cache objects. entries: of histograms. sampling: the parameter. shrinks: of
        the shared pool. force: the mode of the result cache. blocker: whether SMON is named."""
        self.totals: dict[str, dict[Any, dict[str, float]]] = defaultdict(dict)
        self.lost: dict[str, float] = defaultdict(float)
        """What was waited for → seconds waited since the first poll."""
        self.average: dict[str, float] = {}
        """What is waited for → microseconds of one wait."""
        self.db_seconds = 0.0

    def known(self, cache: str) -> str:
        """The name that a cache has on this release."""
        return "global database name" if cache == "dc_props" and self.family == "11.2" else cache

    def guard(self, cache: str) -> str:
        """The parent whose latch guards a cache."""
        name = self.known(cache.rstrip("+"))
        return next(g for g, places in self.groups.items() if any(self.caches[p][0] == name for p in places))

    def number(self, cache: str) -> int:
        """cache# of a cache; of one with a parent, that of the parent."""
        return next(number for name, number, *_ in self.caches if name == self.known(cache))

    # Rates.

    def units(self, load: Load) -> dict[str, float]:
        """How often each thing is done, a second."""
        return {unit: self.normal[unit] * load.idle_share + load.units[unit] for unit in UNITS}

    def gets(self, load: Load) -> list[float]:
        """Gets a second of each row of v$rowcache."""
        units, found = self.units(load), []
        for name, _, kind, sub, per in self.caches:
            normal = sum(units.get(unit, 1.0) * times for unit, times in per.items())
            inherits = name in ("dc_object_grants", "dc_histogram_data")
            asked = load.gets[name] if kind == PARENT or inherits else load.gets[f"{name}+"]
            found.append(normal + asked * (1.0 if kind == PARENT else (0.7, 0.3, 0.0)[sub or 0]))
        return found

    def requests(self, group: str, gets: list[float]) -> float:
        """Requests for the latch or mutex of a group, a second."""
        parent, subordinate = (3.0, 1.0) if self.latch else (2.0, 1.0)
        return sum(gets[p] * (parent if self.caches[p][2] == PARENT else subordinate) for p in self.groups[group])

    def queue(self, group: str, load: Load, gets: list[float]) -> Queue:
        """What happens before the latch or mutex of a group."""
        return self.before(self.requests(group, gets), load.hold.get(group, self.base_hold), load)

    def before(self, rate: float, hold: float, load: Load) -> Queue:
        """A server with one place, by the rate of requests and the microseconds of a hold."""
        busy = min(rate * hold * 1e-6, 0.995)
        delay = hold * (1 + busy * busy / (1 - busy))
        misses, outlasts = rate * busy * (self.cpus - 1) / self.cpus, exp(-self.spin / delay)
        caught = (1 - outlasts) * (load.preempt or self.preempt)
        return Queue(
            misses, misses * (outlasts + caught), misses * (outlasts * (delay * 1e-6 + self.wake) + caught * load.nap)
        )

    def waited(self, groups: Iterable[str], load: Load) -> float:
        """Seconds slept before some latches or mutexes, a second."""
        gets = self.gets(load)
        return sum(self.queue(group, load, gets).wait for group in groups)

    def working(self, load: Load) -> float:
        """Sessions on average that do not wait for what is modelled here."""
        units = self.units(load)
        cpu = sum((units[unit] - self.normal[unit] * load.idle_share) * cost for unit, cost in CPU.items())
        return self.busy * load.idle_share + cpu + load.processor + load.ordinary

    # Counters.

    def add(self, view: str, key: Any, **counts: float) -> None:
        """Counters grow."""
        row = self.totals[view].setdefault(key, dict.fromkeys(counts, 0))
        for name, count in counts.items():
            row[name] = row.get(name, 0) + max(0, round(count))

    def tick(self, seconds: float, load: Load) -> None:
        """Some time passes."""
        rng = self.rng

        def shaken(spread: float) -> float:
            return rng.uniform(1 - spread, 1 + spread)

        gets = [rate * shaken(0.004) for rate in self.gets(load)]
        mods: dict[str, float] = defaultdict(float, {"dc_sequences": gets[self.place("dc_sequences")]})
        conflicts: dict[str, float] = defaultdict(float)
        for lock in load.locks:
            gets[self.place(lock.cache)] += lock.requests * 2
            mods[self.known(lock.cache)] += lock.mods
            conflicts[self.known(lock.cache)] += lock.conflicts
        for place, (name, number, kind, sub, _) in enumerate(self.caches):
            count = gets[place] * seconds * shaken(0.003)
            own = load.missed[name] if kind == PARENT else 0.0
            missed = count * (0.9 if name in TINY else 0.0006) + own * seconds
            modified = min(mods[name] * seconds, count) if kind == PARENT else 0.0
            global_ = count * 0.02 + mods[name] * seconds if self.cluster and self.latch and kind == PARENT else 0.0
            fast = count * rng.uniform(0.0, 0.05)
            self.add("rowcache", (number, kind, sub), gets=count, getmisses=min(missed, count), scans=count * 0.1 * (sub == 0),
                     scanmisses=0, scancompletes=count * 0.1 * (sub == 0), modifications=modified, flushes=modified,
                     dlm_requests=global_, dlm_conflicts=min(conflicts[name] * seconds, global_), dlm_releases=global_ * 0.1,
                     fastgets=0 if self.family == "11.2" else fast)  # fmt: skip
        waited = self._structures(seconds, load, gets)
        waited += self._others(seconds, load)
        self._time(seconds, load, waited)

    def place(self, cache: str) -> int:
        return next(place for place, row in enumerate(self.caches) if row[0] == self.known(cache))

    def _structures(self, seconds: float, load: Load, gets: list[float]) -> float:
        """Latches or mutexes, and the sessions on average that slept for them."""
        rng, all_waits, all_time, whole = self.rng, 0.0, 0.0, defaultdict(float)
        for group in self.groups:
            rate, queue = self.requests(group, gets), self.queue(group, load, gets)
            noise = rng.uniform(0.94, 1.06)
            misses = queue.misses * seconds * rng.uniform(0.97, 1.03)
            sleeps = min(queue.sleeps * seconds * noise, misses)
            time = round(queue.wait * seconds * noise * 1e6) if round(sleeps) else 0
            self.lost[group] += time / 1e6
            self.average[group] = queue.wait / queue.sleeps * 1e6 if queue.sleeps else 100.0
            all_waits, all_time = all_waits + sleeps, all_time + time
            spun = max(0.0, misses - sleeps * rng.uniform(0.95, 1.0))
            counts = {"gets": max(rate * seconds, misses), "misses": misses, "sleeps": sleeps, "spin_gets": spun}
            if self.latch:
                self.add("children", self.child[group], **counts, immediate_gets=rng.randint(0, 3), immediate_misses=0,
                         wait_time=time)  # fmt: skip
                for name, count in (*counts.items(), ("wait_time", time)):
                    whole[name] += max(0, round(count))
                self._places(ROW_LATCH, LATCH_SHAPES[load.shapes.get(group, "normal")], sleeps)
            else:
                self._mutex_places(group, gets, sleeps, time)
        if self.latch:
            self.add("latch", ROW_LATCH, **whole)
        elif self.family in ("12.2", "18c", "19c"):
            self.add("latch", ROW_LATCH, gets=rng.random() < 0.1, misses=0, sleeps=0, spin_gets=0, wait_time=0)
        event = "latch: row cache objects" if self.latch else "row cache mutex"
        self.event(event, all_waits * rng.uniform(0.97, 1.0), all_time / 1e6)
        return all_time / 1e6 / seconds

    def _places(self, name: str, shape: dict[str, tuple[float, float]], sleeps: float) -> None:
        """Sleeps by miss location: once where it was held, once where somebody waited."""
        if round(sleeps) < 1:
            return
        sides = []
        for side in (0, 1):
            weights = [pair[side] * self.rng.uniform(0.85, 1.15) for pair in shape.values()]
            sides.append([weight / sum(weights) * sleeps for weight in weights])
        for location, held, slept in zip(shape, *sides, strict=True):
            self.add("misses", (name, location), nwfail_count=0, sleep_count=held, wtr_slp_count=slept,
                     longhold_count=held * 0.02)  # fmt: skip

    def _mutex_places(self, group: str, gets: list[float], sleeps: float, time: float) -> None:
        if round(sleeps) < 1:
            return
        parent = sum(gets[p] for p in self.groups[group] if self.caches[p][2] == PARENT) * 2
        below = self.requests(group, gets) - parent
        eqd = "[13] kqreqd" if self.family == "12.2" else "[10] kqreqd"
        weights = {"[19] kqrpre": parent * 0.75, eqd: parent * 0.22, "[06] kqrGetClusterLock": parent * 0.03,
                   "[32] kqrsfd": below * 0.9, "[34] kqrssc": below * 0.1}  # fmt: skip
        weights = {place: weight * self.rng.uniform(0.85, 1.15) for place, weight in weights.items()}
        for place, weight in weights.items():
            share = weight / sum(weights.values())
            self.add("mutex", place, sleeps=sleeps * share, wait_time=time * share)

    def _others(self, seconds: float, load: Load) -> float:
        """Other latches, locks on entries and other events; the sessions on average that waited so."""
        rng, waiting = self.rng, 0.0
        for lock in load.locks:
            noise = rng.uniform(0.93, 1.07)
            time = lock.wait * seconds * noise
            self.event("row cache lock", lock.waits * seconds * noise, time, lock.timeouts * seconds * noise)
            self.lost[f"lock {lock.cache}"] += time
            self.average[f"lock {lock.cache}"] = lock.wait / lock.waits * 1e6 if lock.waits else 3e6
            waiting += time / seconds
        gets, misses, sleeps, slept = load.result
        quiet = self.normal["executes"] * 0.001
        self.add("latch", "Result Cache: RC Latch", gets=(gets + quiet) * seconds, misses=misses * seconds,
                 sleeps=sleeps * seconds, spin_gets=(misses - sleeps) * seconds, wait_time=slept * seconds * 1e6)  # fmt: skip
        if sleeps:
            self.event("latch free", sleeps * seconds, slept * seconds)
            self._places("Result Cache: RC Latch", RESULT_SHAPE, sleeps * seconds)
            self.lost["result"] += slept * seconds
            self.average["result"] = slept / sleeps * 1e6
            waiting += slept
        for name in OTHER_LATCHES:
            rate = self.normal["executes"] * load.idle_share * (20 if name == "cache buffers chains" else 0.6)
            queue = self.before(rate * rng.uniform(0.5, 2.0), rng.uniform(0.2, 0.5), load)
            sleeps = round(queue.sleeps * seconds)
            self.add("latch", name, gets=rate * seconds * rng.uniform(2.0, 2.1), misses=queue.misses * seconds, sleeps=sleeps,
                     spin_gets=queue.misses * seconds - sleeps, wait_time=queue.wait * seconds * 1e6 * (sleeps > 0))  # fmt: skip
            waiting += queue.wait if load.spoilt else 0.0
        for event in QUIET_EVENTS:
            time = self.busy * load.idle_share * rng.uniform(0, 2e-4) * seconds
            self.event(event, time / rng.uniform(2e-4, 5e-3), time)
        for event, (waits, wait) in load.events.items():
            noise = rng.uniform(0.94, 1.06)
            self.event(event, waits * seconds * noise, wait * seconds * noise)
            waiting += wait * noise
        return waiting

    def event(self, event: str, waits: float, seconds: float, timeouts: float = 0.0) -> None:
        """Waits that ended. Those that never were have no row."""
        if round(waits) < 1:
            return
        front = self.rng.uniform(0.985, 1.0)
        self.add("event", event, total_waits=waits, total_timeouts=min(timeouts, waits), time_waited_micro=seconds * 1e6,
                 total_waits_fg=waits * front, time_waited_micro_fg=seconds * 1e6 * front)  # fmt: skip

    def _time(self, seconds: float, load: Load, waiting: float) -> None:
        """The time model, statistics and the host."""
        rng, units, working = self.rng, self.units(load), self.working(load)
        for unit, name in {
            "executes": "execute count", "parses": "parse count (total)", "hard": "parse count (hard)",
            "failures": "parse count (failures)", "logons": "logons cumulative", "commits": "user commits",
            "calls": "user calls", "recursive": "recursive calls",
        }.items():  # fmt: skip
            self.add("sysstat", name, value=units[unit] * seconds * rng.uniform(0.98, 1.02))
        self.add("sysstat", "user rollbacks", value=units["commits"] * seconds * 0.01)
        self.add("sysstat", "session cursor cache hits", value=max(0, units["parses"] - units["hard"]) * seconds * 0.6)
        average = (working + waiting) * rng.uniform(0.99, 1.01)
        self.db_seconds += average * seconds
        cpu = min(self.cpus * 0.98, (working - load.ordinary) * rng.uniform(0.55, 0.8))
        hard = units["hard"] * (CPU["hard"] * 1.2)
        failed = units["failures"] * CPU["failures"] * 1.2
        parse = min(average * 0.95, units["parses"] * CPU["parses"] * 1.5 + hard + failed + load.in_parse)
        hard = min(parse, hard + load.in_parse * (load.units["hard"] > 0))
        failed = min(parse, failed + load.in_parse * (load.units["failures"] > 0))
        connecting = units["logons"] * CPU["logons"] * 1.1
        locks = sum(lock.wait for lock in load.locks if lock.cache == "dc_sequences")
        for name, value in {
            "DB time": average, "DB CPU": cpu, "parse time elapsed": parse, "hard parse elapsed time": hard,
            "failed parse elapsed time": failed, "connection management call elapsed time": min(connecting, average),
            "sequence load elapsed time": locks + 0.001 * average,
        }.items():  # fmt: skip
            self.add("time", name, value=value * seconds * 1e6)
        whole, used = self.cpus * seconds * 100, min(self.cpus, cpu * 1.08 + 0.1) * seconds * 100
        queued = whole * (0.9 if load.spoilt else 0.01)
        paged = seconds * rng.uniform(2e6, 3e7) if load.spoilt else 0
        throttled = load.events.get("resmgr:cpu quantum", (0, 0))[1] * seconds * 100
        used = whole * rng.uniform(0.975, 0.998) if load.spoilt else used
        host = {"BUSY_TIME": used, "IDLE_TIME": whole - used, "OS_CPU_WAIT_TIME": queued,
                            "RSRC_MGR_CPU_WAIT_TIME": throttled, "VM_IN_BYTES": paged, "VM_OUT_BYTES": paged * 0.7}  # fmt: skip
        for name, value in host.items():
            self.add("os", name, value=value)
        self.levels["LOAD"] = round(self.cpus * rng.uniform(2, 6) if load.spoilt else used / seconds / 100 * 1.1, 2)

    # What a cause adds.

    def apply(self, cause: Cause, target: float, load: Load) -> None:
        """Let a cause begin that makes sessions wait, `target` of them on average."""
        rng = self.rng
        strength = rng.uniform(0.4, 1.0)
        for unit, (low, high) in cause.units.items():
            load.units[unit] += rng.uniform(low, high) * strength
        for level, (low, high) in cause.levels.items():
            self.levels[level] = round(exp(rng.uniform(log(low), log(high))))
        names = {
            self.known(cache.rstrip("+")) + "+" * cache.endswith("+"): share for cache, share in cause.caches.items()
        }
        groups = list(dict.fromkeys(map(self.guard, cause.caches)))
        before = self.waited(groups, load) if groups else 0.0
        if cause.way == "volume":
            for group in groups:
                load.hold[group] = self.base_hold * rng.uniform(1.0, 1.3)
            plain = dict(load.gets)

            def ask(rate: float) -> float:
                load.gets.update({name: plain.get(name, 0.0) + rate * share for name, share in names.items()})
                return self.waited(groups, load)

            rate = solve(ask, target + before, 1.0, 3e6)
            ask(rate)
            for name, share in names.items():
                load.missed[name] += rate * share * cause.misses
        elif cause.way == "hold":
            for name, share in names.items():
                load.gets[name] += load.units[next(iter(cause.units))] * rng.uniform(4, 20) * share

            def keep(hold: float) -> float:
                load.hold.update(dict.fromkeys(groups, hold))
                return self.waited(groups, load)

            keep(solve(keep, target + before, self.base_hold, 2e5))
        elif cause.way == "lock":
            for name, share in cause.caches.items():
                wait = target * share / sum(cause.caches.values())
                each = min(max(exp(rng.uniform(log(4e-3), log(0.6))), wait / 1500), 2.5)
                waits = wait / each
                asked = load.units[next(iter(cause.units))] * rng.uniform(0.2, 1.0) * share
                requests = max(waits / rng.uniform(0.15, 0.9), asked)
                load.locks.append(Lock(name, waits, wait, cause.mode, requests, requests * cause.mods,
                                       requests * cause.conflicts, waits * 0.03))  # fmt: skip
        else:
            each = rng.uniform(2e-4, 4e-3)
            sleeps = target / each
            misses = sleeps / rng.uniform(0.05, 0.4)
            load.result = (misses / rng.uniform(0.1, 0.5), misses, sleeps, target)
        if cause.way in ("volume", "hold"):
            shape = "change" if cause.mods > 0.3 else cause.shape
            load.shapes.update(dict.fromkeys(groups, shape))
        for event, (low, high) in cause.events.items():
            wait = target * rng.uniform(low, high)
            waits, already = load.events.get(event, (0.0, 0.0))
            load.events[event] = waits + wait / rng.uniform(1e-3, 2e-2), already + wait
        load.in_parse += target * cause.in_parse * 0.9
