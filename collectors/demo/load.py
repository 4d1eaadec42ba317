"""A scripted database as a function of time: a loop of phases with steady rates, and the load model that links them.

A counter at time t is the integral of its rate. So any polls, at any moment and by any process, agree. The load
model: a parent get takes the child latch three times and a subordinate get once. Every miss ends in a spin get or a
sleep, so sleeps + spin gets ≥ misses.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Concatenate, Literal, ParamSpec

from collectors.confirmation import NamedRow
from collectors.simulator.sessions import ScriptedHang, ScriptedHolder, ScriptedWaiters

P = ParamSpec("P")

RESLEEPS = 0.04
"""Share of sleeps that are not the first of their miss, as ordinary systems show."""


@dataclass(frozen=True, slots=True)
class Cache:
    """One row of v$rowcache and the child latch that guards it."""

    child: int
    cache: int
    name: str
    type: Literal["PARENT", "SUBORDINATE"] = "PARENT"
    subordinate: int | None = None
    entries: int = 20
    extra_gets: float = 0.0
    """Gets per second in every phase, so that no two caches look alike."""

    @property
    def latch_gets(self) -> int:
        """Child latch gets per get of this cache."""
        return 3 if self.type == "PARENT" else 1


@dataclass(frozen=True, slots=True)
class Child:
    """How one child latch behaves: misses per get, sleeps per second, microseconds slept per sleep."""

    miss_ratio: float = 0.0005
    sleeps: float = 0.0
    sleep_us: float = 900.0


@dataclass(frozen=True, slots=True)
class ScriptedLoad:
    """Steady rates per second. Maps are by cache name (gets, fastgets, modifications), child, location, event, statistic."""

    gets: Mapping[str, float] = field(default_factory=dict)
    fastgets: Mapping[str, float] = field(default_factory=dict)
    """v$rowcache.fastgets, 12.1 and later: look-ups that are not in gets."""
    getmiss_ratio: float = 0.0004
    modifications: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    children: Mapping[int, Child] = field(default_factory=dict)
    holders: Mapping[str, float] = field(default_factory=dict)
    """Shares of the sleeps by the location that held the latch."""
    waiters: Mapping[str, float] = field(default_factory=dict)
    """Shares of the sleeps by the location that waited."""
    events: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Waits and seconds waited per second. Waits for the row cache latch follow from the children and are not among them."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """v$sys_time_model: seconds per second."""
    statistics: Mapping[str, float] = field(default_factory=dict)
    """v$sysstat: per second."""
    busy: float = 0.35
    """Share of the processors in use."""
    paging_bytes: float = 0.0
    latches: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Other latches: gets, sleeps and seconds slept per second."""
    max_concurrency: int = 60
    mutexes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """v$mutex_sleep: sleeps and seconds waited per second by location. The event follows from them."""
    cluster_locks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """DLM requests and conflicts per second by cache name."""
    result_cache_places: Mapping[str, float] = field(default_factory=dict)
    """Shares of the result cache latch's sleeps by location."""
    waiting: tuple[ScriptedWaiters, ...] = ()
    holding: tuple[ScriptedHolder, ...] = ()
    answers: Mapping[str, float] = field(default_factory=dict)
    """The answers to confirming queries, by their text."""
    names: Mapping[str, tuple[NamedRow, ...]] = field(default_factory=dict)
    """The answers to queries that name what was counted, by their text."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scripted database: its description, and the loop it runs through."""

    name: str
    release: str
    about: str
    caches: tuple[Cache, ...]
    ordinary: ScriptedLoad
    """The load of the days before the script starts."""
    loop: tuple[tuple[float, ScriptedLoad], ...]
    """Seconds and load of each phase."""
    past: tuple[tuple[float, ScriptedLoad], ...] = ()
    """Seconds and load of the phases right before the loop, each once. They are the last part of the uptime."""
    latch: int = 270
    cpus: int = 16
    parameters: Mapping[str, str] = field(default_factory=dict)
    events: tuple[str, ...] = ("latch: row cache objects", "row cache lock", "latch free")
    uptime_seconds: int = 9 * 86400
    cluster: str | None = None
    """Name of its cluster (RAC)."""
    instance: int = 1
    container: tuple[int, str] | None = None
    """Number and name of the container of the sessions. None without a CDB."""
    mutexes: bool = False
    """Mutexes, not child latches, guard the row cache (12.2 and later)."""
    interval_seconds: float = 2.0
    hangs: tuple[ScriptedHang, ...] = ()
    """The hangs of the loop. Their waits and their DB time are added to the loads."""
    marks: tuple[tuple[float, str], ...] = ()
    """Seconds into the loop, and what somebody changes then, in their own words."""
    past_marks: tuple[tuple[float, str], ...] = ()
    """The same for the past, in seconds before the loop."""

    @property
    def length(self) -> float:
        """Seconds of one loop."""
        return sum(seconds for seconds, _ in self.loop)

    @property
    def past_length(self) -> float:
        """Seconds of the phases before the loop."""
        return sum(seconds for seconds, _ in self.past)


def ramp(
    start: ScriptedLoad, end: ScriptedLoad, seconds: float, steps: int = 5
) -> tuple[tuple[float, ScriptedLoad], ...]:
    """Phases that lead from one load to another. A value that has no middle (shares, usage) is that of the end."""
    return tuple((seconds / steps, _mixed(start, end, (step + 0.5) / steps)) for step in range(steps))


def _mixed(start: ScriptedLoad, end: ScriptedLoad, share: float) -> ScriptedLoad:
    def mix(a: float, b: float) -> float:
        return a + (b - a) * share

    def mix_all(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
        return {name: mix(a.get(name, 0.0), b.get(name, 0.0)) for name in {**a, **b}}

    children = {
        number: Child(
            mix(start.children.get(number, Child()).miss_ratio, child.miss_ratio),
            mix(start.children.get(number, Child()).sleeps, child.sleeps),
            mix(start.children.get(number, Child()).sleep_us, child.sleep_us),
        )
        for number, child in end.children.items()
    }
    return replace(
        end,
        gets=mix_all(start.gets, end.gets),
        fastgets=mix_all(start.fastgets, end.fastgets),
        seconds=mix_all(start.seconds, end.seconds),
        statistics=mix_all(start.statistics, end.statistics),
        children=children,
        busy=mix(start.busy, end.busy),
    )


_RATES: dict[int, tuple[Scenario, dict[object, list[float]]]] = {}
"""By scenario. The scenario is kept beside them so that its id stays unique."""


@dataclass(frozen=True)
class ScenarioState:
    """A scenario at one point of its time, with every counter summed up to there.

    `at`: seconds since its loop began, negative before that.
    """

    scenario: Scenario
    at: float
    began: datetime

    def total(self, rate: Callable[Concatenate[ScriptedLoad, P], float], *of: P.args, **named: P.kwargs) -> int:
        """A counter whose rate is `rate(load, *of)` per second, from instance start until now."""
        return math.floor(self._amount(rate, *of, **named))

    def _amount(self, rate: Callable[Concatenate[ScriptedLoad, P], float], *of: P.args, **named: P.kwargs) -> float:
        key = (rate, *[id(part) if type(part) in (Cache, Scenario) else part for part in of], *named.items())
        rates = self._known.get(key)
        if rates is None:
            phases = (*self.scenario.past, *self.scenario.loop)
            loads = (self.scenario.ordinary, *(load for _, load in phases))
            rates = self._known[key] = [rate(load, *of, **named) for load in loads]
        amount = 0.0
        for phase, seconds in self._lasted:
            amount += seconds * rates[phase]
        return amount

    @cached_property
    def _known(self) -> dict[object, list[float]]:
        """The rates of the days before and of each phase. A scenario never changes, so each rate is computed once."""
        return _RATES.setdefault(id(self.scenario), (self.scenario, {}))[1]

    @cached_property
    def _lasted(self) -> list[tuple[int, float]]:
        """Seconds that the days before (0) and each phase have lasted until now, without those that did not begin."""
        before = self.scenario.past_length
        passed = min(self.at, 0.0) + before
        lasted = [self.scenario.uptime_seconds - before + min(passed, 0.0)]
        for seconds, _ in self.scenario.past:
            lasted.append(min(max(passed, 0.0), seconds))
            passed -= seconds
        loops, into = divmod(max(self.at, 0.0), self.scenario.length)
        for seconds, _ in self.scenario.loop:
            lasted.append(loops * seconds + min(max(into, 0.0), seconds))
            into -= seconds
        return [(phase, seconds) for phase, seconds in enumerate(lasted) if seconds]

    @property
    def load(self) -> ScriptedLoad:
        """The load in force now."""
        if self.at < 0:
            into, phases = self.at + self.scenario.past_length, self.scenario.past
        else:
            into, phases = self.at % self.scenario.length, self.scenario.loop
        if into < 0:
            return self.scenario.ordinary
        for seconds, load in phases:
            if into < seconds:
                return load
            into -= seconds
        return phases[-1][1] if phases else self.scenario.ordinary

    def gets(self, cache: Cache) -> int:
        """v$rowcache.gets of one row."""
        return self.total(_gets, cache, self.scenario)

    def child_gets(self, child: int) -> int:
        """v$latch_children.gets by the load model: three per parent get, one per subordinate get."""
        return sum(cache.latch_gets * self.gets(cache) for cache in self.scenario.caches if cache.child == child)

    def sleeps(self, child: int) -> int:
        """v$latch_children.sleeps."""
        return self.total(_sleeps, child)

    def misses(self, child: int) -> int:
        """v$latch_children.misses: those of the miss ratio, and at least the sleeps that start one."""
        return self.total(_misses, child, self.scenario)

    def spin_gets(self, child: int) -> int:
        """v$latch_children.spin_gets: the misses that did not start with a sleep. Rounded up; sleeps are rounded down."""
        return math.ceil(self._amount(_spin_gets, child, self.scenario))

    def wait_us(self, child: int) -> int:
        """v$latch_children.wait_time."""
        return self.total(_wait_us, child)


def _gets(load: ScriptedLoad, cache: Cache, scenario: Scenario) -> float:
    return load.gets.get(cache.name, 0.0) * share(cache, scenario) + cache.extra_gets


def _sleeps(load: ScriptedLoad, child: int) -> float:
    return load.children.get(child, Child()).sleeps


def _misses(load: ScriptedLoad, child: int, scenario: Scenario) -> float:
    gets = sum(cache.latch_gets * _gets(load, cache, scenario) for cache in scenario.caches if cache.child == child)
    rates = load.children.get(child, Child())
    return max(gets * rates.miss_ratio, rates.sleeps * (1 - RESLEEPS))


def _spin_gets(load: ScriptedLoad, child: int, scenario: Scenario) -> float:
    sleeps = _sleeps(load, child)
    return max(_misses(load, child, scenario) - sleeps, 0.0) + sleeps * RESLEEPS


def _wait_us(load: ScriptedLoad, child: int) -> float:
    rates = load.children.get(child, Child())
    return rates.sleeps * rates.sleep_us


def share(cache: Cache, scenario: Scenario) -> float:
    """A name's gets are shared by its rows: parents take most, each further row half of the one before."""
    rows = [row for row in scenario.caches if row.name == cache.name]
    weights = [0.5**rank for rank in range(len(rows))]
    return weights[rows.index(cache)] / sum(weights)
