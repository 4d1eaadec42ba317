"""A scripted database as a function of time: a loop of phases with steady rates, and the load model that links them.

A counter at time t is the integral of its rate. So any polls, at any moment and by any process, agree. The load
model: a parent get takes the child latch three times and a subordinate get once. Every miss ends in a spin get or a
sleep, so sleeps + spin gets ≥ misses.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, ROW_CACHE_MUTEX_EVENT, NamedRow, Row
from collectors.release import at_least
from collectors.views.session import MOST_WAITS

# Sessions of a script: those that wait, those that hold a latch, and a hang with its holder.


@dataclass(frozen=True, slots=True)
class ScriptedWaiters:
    """Sessions that wait on average, all alike: for which cache or latch, by which event, with which statement."""

    event: str
    sessions: float
    cache: str | None = None
    """Cache name. A latch event leads to it through its child."""
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    p2: int = 0
    p3: int = 0
    blocker: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptedHolder:
    """A session that holds a child latch for a share of the time."""

    sid: int
    child: int
    share: float
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    microseconds: float = 400.0
    """How long each of its holds lasts."""


@dataclass(frozen=True, slots=True)
class ScriptedBlocker:
    """The session that holds what others wait for."""

    sid: int
    serial: int
    username: str | None
    program: str
    module: str | None = None
    sql_id: str | None = None
    background: bool = False
    machine: str | None = None
    instance: int | None = None
    """Number of its instance, if that is another one."""
    waits_for: str = "db file sequential read"
    waits_micro: int = 4100
    undo_blocks: int = 3


@dataclass(frozen=True, slots=True)
class ScriptedHang:
    """A session that holds an entry of a cache from `begin` to `end`, in seconds of the loop. Sessions that want it wait.

    The sessions arrive one after the other within `arriving` seconds, and all their waits end with the hang.
    """

    begin: float
    end: float
    event: str
    cache: str
    sessions: int
    arriving: float
    holder: ScriptedBlocker
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    username: str = "APP"
    p2: int = 0
    p3: int = 3
    key: str = ""
    """The entry, in hex, as v$rowcache_parent.key has it."""
    in_library_cache: int = 0
    """Sessions that wait meanwhile for a library cache lock of the same holder."""

    def waited(self, session: int, into: float) -> float:
        """Seconds that a session has waited at a moment of the loop, from its arrival to the end of the hang."""
        arrived = self.begin + self.arriving * session / self.sessions
        return min(max(into - arrived, 0.0), self.end - arrived)


@dataclass(frozen=True, slots=True)
class ScriptedChange:
    """Something that changes at a second of each loop, or once at a second before it (negative), as a row of a view says it.

    In a value of v$parameter, {} is the number of times that it has changed, and one more.
    """

    at: float
    view: str
    cells: Row

    def times(self, now: float, length: float) -> list[float]:
        """Every time until now, in seconds since the first loop began."""
        if self.at < 0:
            return [self.at] if self.at <= now else []
        return [self.at + loop * length for loop in range(math.ceil((now - self.at) / length + 1e-9))]


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


Phase = tuple[float, ScriptedLoad]
"""Seconds, and the load meanwhile."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scripted database: its description, and the loop it runs through."""

    name: str
    release: str
    about: str
    caches: tuple[Cache, ...]
    ordinary: ScriptedLoad
    """The load of the days before the script starts."""
    loop: tuple[Phase, ...]
    past: tuple[Phase, ...] = ()
    """The phases right before the loop, each once. They are the last part of the uptime."""
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
    hangs: tuple[ScriptedHang, ...] = ()
    """The hangs of the loop. Their waits and their DB time are added to the loads."""
    marks: tuple[tuple[float, str], ...] = ()
    """Seconds into the loop, and what somebody changes then, in their own words."""
    past_marks: tuple[tuple[float, str], ...] = ()
    """The same for the past, in seconds before the loop."""
    changes: tuple[ScriptedChange, ...] = ()
    """What changes, whether it matters or not."""

    @property
    def length(self) -> float:
        """Seconds of one loop."""
        return sum(seconds for seconds, _ in self.loop)

    @property
    def past_length(self) -> float:
        """Seconds of the phases before the loop."""
        return sum(seconds for seconds, _ in self.past)


def ramp(start: ScriptedLoad, end: ScriptedLoad, seconds: float, steps: int = 5) -> tuple[Phase, ...]:
    """Phases that lead from one load to another. A value that has no middle (shares, usage) is that of the end."""
    return tuple((seconds / steps, _mixed(start, end, (step + 0.5) / steps)) for step in range(steps))


def _mixed(start: ScriptedLoad, end: ScriptedLoad, share: float) -> ScriptedLoad:
    def mix(a: float, b: float) -> float:
        return a + (b - a) * share

    def mix_all(member: str) -> dict[str, float]:
        a, b = getattr(start, member), getattr(end, member)
        return {name: mix(a.get(name, 0.0), b.get(name, 0.0)) for name in {**a, **b}}

    mixed: dict[str, Any] = {member: mix_all(member) for member in ("gets", "fastgets", "seconds", "statistics")}
    children = {
        which: Child(*map(mix, astuple(start.children.get(which, Child())), astuple(child)))
        for which, child in end.children.items()
    }
    return replace(end, **mixed, children=children, busy=mix(start.busy, end.busy))


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

    def total(self, rate: Callable[..., float], *of: object) -> int:
        """A counter whose rate is `rate(load, *of)` per second, from instance start until now."""
        return math.floor(self.amount(rate, *of))

    def amount(self, rate: Callable[..., float], *of: object) -> float:
        """The same before it is rounded down."""
        key = (rate, *[id(part) if type(part) in (Cache, Scenario) else part for part in of])
        rates = self._known.get(key)
        if rates is None:
            phases = (*self.scenario.past, *self.scenario.loop)
            loads = (self.scenario.ordinary, *(load for _, load in phases))
            rates = self._known[key] = [rate(load, *of) for load in loads]
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


def counted(load: ScriptedLoad, member: str, name: str, part: int | None = None, unit: float = 1.0) -> float:
    """A rate in a map of the load by its name, or that part of it; 0 if it is not there."""
    found = getattr(load, member).get(name)
    return 0.0 if found is None else (found if part is None else found[part]) * unit


def _gets(load: ScriptedLoad, cache: Cache, scenario: Scenario) -> float:
    return load.gets.get(cache.name, 0.0) * share(cache, scenario) + cache.extra_gets


def _child_sleeps(load: ScriptedLoad, child: int) -> float:
    return load.children.get(child, Child()).sleeps


def _misses(load: ScriptedLoad, child: int, scenario: Scenario) -> float:
    gets = sum(cache.latch_gets * _gets(load, cache, scenario) for cache in scenario.caches if cache.child == child)
    rates = load.children.get(child, Child())
    return max(gets * rates.miss_ratio, rates.sleeps * (1 - RESLEEPS))


def _spin_gets(load: ScriptedLoad, child: int, scenario: Scenario) -> float:
    sleeps = load.children.get(child, Child()).sleeps
    return max(_misses(load, child, scenario) - sleeps, 0.0) + sleeps * RESLEEPS


def _wait_us(load: ScriptedLoad, child: int) -> float:
    rates = load.children.get(child, Child())
    return rates.sleeps * rates.sleep_us


def share(cache: Cache, scenario: Scenario) -> float:
    """A name's gets are shared by its rows: parents take most, each further row half of the one before."""
    rows = [row for row in scenario.caches if row.name == cache.name]
    weights = [0.5**rank for rank in range(len(rows))]
    return weights[rows.index(cache)] / sum(weights)


# The hangs of a scripted database: who waits at a moment, and what the counters show, which is nothing until the end.


def loops(now: ScenarioState) -> tuple[int, float]:
    """Completed loops, and seconds into the current one."""
    passed, into = divmod(max(now.at, 0.0), now.scenario.length)
    return int(passed), into


def finished(now: ScenarioState, event: str) -> tuple[int, int]:
    """Waits for an event that hangs have ended so far, and microseconds waited in them."""
    passed, into = loops(now)
    waits, waited = 0, 0.0
    for hang in now.scenario.hangs:
        over = passed + (into >= hang.end)
        if hang.event == event:
            waits += over * hang.sessions
            waited += over * sum(hang.waited(session, hang.end) for session in range(hang.sessions))
    return waits, round(waited * 1e6)


def database_seconds(now: ScenarioState) -> float:
    """DB time of the sessions that hang or hung: it grows while they wait."""
    passed, into = loops(now)
    return sum(
        passed * hang.waited(session, hang.end) + hang.waited(session, into)
        for hang in now.scenario.hangs
        for session in range(hang.sessions)
    )


def hanging(now: ScenarioState) -> list[tuple[ScriptedHang, list[float]]]:
    """The hangs of this moment, each with the seconds that its sessions have waited, in the order in which they came."""
    _, into = loops(now)
    begun = [hang for hang in now.scenario.hangs if hang.begin <= into < hang.end]
    waits = [[hang.waited(session, into) for session in range(hang.sessions)] for hang in begun]
    every = [(hang, [seconds for seconds in each if seconds > 0]) for hang, each in zip(begun, waits, strict=True)]
    return [(hang, waited) for hang, waited in every if waited]


def blockers(now: ScenarioState) -> list[Row]:
    """Rows of v$rowcache_parent joined with their holders, for the hangs of this moment."""
    return [
        {
            "cache#": next(row.cache for row in now.scenario.caches if row.name == hang.cache),
            "cache_name": hang.cache,
            "key": hang.key,
            "lock_request": hang.p3,
            "waiters": len(waited),
            "lock_mode": 5,
            **_session_of(now, hang),
        }
        for hang, waited in hanging(now)
        if hang.holder.instance is None
    ]


def chain_sessions(now: ScenarioState) -> list[Row]:
    """The holders of the current hangs that are sessions of this instance, none of which waits for another session."""
    held = [hang for hang, _ in hanging(now) if hang.holder.instance is None]
    return [{**_session_of(now, hang), **blocked_by(now, None)} for hang in held]


def transactions(now: ScenarioState) -> list[Row]:
    """Undo blocks of the same holders."""
    holders = [hang.holder for hang, _ in hanging(now) if hang.holder.instance is None]
    return [{"sid": each.sid, "serial#": each.serial, "used_ublk": each.undo_blocks} for each in holders]


def _session_of(now: ScenarioState, hang: ScriptedHang) -> Row:
    """The holder as v$session shows it, on its own instance."""
    holder = hang.holder
    return {
        "instance": holder.instance or now.scenario.instance,
        "sid": holder.sid,
        "serial#": holder.serial,
        "type": "BACKGROUND" if holder.background else "USER",
        "machine": holder.machine,
        **_at_work(holder),
        "status": "ACTIVE",
        "state": "WAITING",
        "event": holder.waits_for,
        "wait_time_micro": holder.waits_micro,
        "last_call_et": int(now.at % now.scenario.length - hang.begin),
    }


def _at_work(who: ScriptedWaiters | ScriptedHolder | ScriptedBlocker | ScriptedHang) -> Row:
    """Whose session it is, and what it runs."""
    return {name: getattr(who, name) for name in ("sql_id", "module", "program", "username")}


def elsewhere(now: ScenarioState, instance: object, sid: object) -> list[Row]:
    """A session of another instance as gv$session has it: the holder of a hang, if it is one."""
    hangs = now.scenario.hangs
    return [_session_of(now, hang) for hang in hangs if (hang.holder.instance, hang.holder.sid) == (instance, sid)]


def blocked_by(now: ScenarioState, sid: int | None, elsewhere: int | None = None) -> Row:
    """The columns of v$session that name the blocker of a session. `elsewhere`: on another instance."""
    instance = None if sid is None else elsewhere or now.scenario.instance
    both = {"instance": instance, "session": sid}
    return {f"{which}blocking_{name}": value for which in ("", "final_") for name, value in both.items()}


def library_cache_waiters(now: ScenarioState) -> list[Row]:
    """Who waits in the library cache for the holders of the current hangs."""
    return [
        {
            "event": "library cache lock",
            "p3": LIBRARY_CACHE_P3,
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "sessions": hang.in_library_cache,
            "wait_time_micro": round(max(waited) * 1e6),
        }
        for hang, waited in hanging(now)
        if hang.in_library_cache
    ]


LIBRARY_CACHE_P3 = 4 << 16 | 2
"""An index, asked for in share mode."""


def library_cache_sessions(now: ScenarioState) -> list[Row]:
    """The same, each session in a row of its own, as the look of every poll has them."""
    waiting = [(hang, max(waited)) for hang, waited in hanging(now) for _ in range(hang.in_library_cache)]
    return [
        {
            "sid": 1400 + place,
            "serial#": 2400 + place,
            "event": "library cache lock",
            "p1raw": f"{0x8C2A4F58:016X}",
            "p3": LIBRARY_CACHE_P3,
            "action": None,
            "machine": "app01",
            "type": "USER",
            **_at_work(hang),
            **of_container(now),
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "wait_time_micro": round(waited * 1e6),
            "met": len(waiting),
        }
        for place, (hang, waited) in enumerate(waiting[:MOST_WAITS])
    ]


def of_container(now: ScenarioState) -> Row:
    """The column that tells containers apart, on releases that have it. No scripted session is in one."""
    return {"con_id": 0} if at_least(now.scenario.release, "12.1") else {}


# The waits of a scripted database: sleeps on mutexes, and the sessions that wait at one moment.


def address(child: int) -> str:
    """The address of a child latch, as RAWTOHEX prints it."""
    return f"{0x7000000A0 + child * 0xC8:016X}"


def mutex_sleep(now: ScenarioState) -> list[Row]:
    places = sorted({mutex for _, load in now.scenario.loop for mutex in load.mutexes})
    return [
        {
            "mutex_type": "Row Cache",
            "location": location,
            "sleeps": now.total(counted, "mutexes", location, 0),
            "wait_time": now.total(counted, "mutexes", location, 1, 1e6),
        }
        for location in places
    ]


SECONDS_PER_LOOK = 20e-6
"""Seconds per look of a holder profile."""


def holders(now: ScenarioState, looks: int) -> list[Row]:
    """What this many looks at v$latchholder show: who held a child latch, how often, and in how many holds."""
    met = [(holder, round(looks * holder.share)) for holder in now.load.holding]
    return [
        {
            "sid": holder.sid,
            "laddr": address(holder.child),
            **_at_work(holder),
            "met": many,
            "holds": max(1, round(many * SECONDS_PER_LOOK * 1e6 / holder.microseconds)),
        }
        for holder, many in sorted(met, key=lambda each: -each[1])
        if many
    ]


FIRST_WAITING, FIRST_HANGING = 100, 600
"""SIDs of the first session that waits and of the first one of a hang."""
WAITED_SECONDS = 0.0021
"""How long a session has waited that does not hang."""


def session(now: ScenarioState) -> list[Row]:
    """Rows of v$session: who waits at this moment."""
    return [row for _, _, row in _waiting(now)]


def waiting_sessions(now: ScenarioState) -> list[Row]:
    """Rows of the look of every poll: the same sessions, the longest wait first, with the further columns of that look."""
    waiting = sorted(_waiting(now), key=lambda each: -each[1])
    # A wait has the same number for as long as it lasts.
    return [
        {**row, "serial#": 1000 + sid, "seq#": round(10 * (now.at - micros / 1e6)), "type": "USER", "met": len(waiting)}
        for sid, micros, row in waiting[:MOST_WAITS]
    ]


def _waiting(now: ScenarioState) -> list[tuple[int, int, Row]]:
    """SID, microseconds waited, and row of each session that waits at this moment."""
    alike = [waiters for waiters in now.load.waiting for _ in range(_sessions_now(waiters, now.at))]
    waiting: list[tuple[int, ScriptedWaiters | ScriptedHang, float, Row]] = [
        (sid, waiters, WAITED_SECONDS, blocked_by(now, waiters.blocker))
        for sid, waiters in enumerate(alike, FIRST_WAITING)
    ]
    waiting += [
        (sid, hang, seconds, blocked_by(now, hang.holder.sid, hang.holder.instance))
        for hang, waited in hanging(now)
        for sid, seconds in enumerate(waited, FIRST_HANGING)
    ]
    return [
        (sid, micros := round(seconds * 1e6), {"sid": sid, **_wait(now, of), **blocked, "wait_time_micro": micros})
        for sid, of, seconds, blocked in waiting
    ]


def _sessions_now(waiters: ScriptedWaiters, at: float) -> int:
    """A whole number with this average over time: the fraction appears as one more from time to time."""
    whole, part = divmod(waiters.sessions, 1)
    return int(whole) + (1 if (at * 0.618) % 1 < part else 0)


def _wait(now: ScenarioState, of: ScriptedWaiters | ScriptedHang) -> Row:
    """What v$session says of a wait, and of who waits."""
    cache = next((row for row in now.scenario.caches if row.name == of.cache), None)
    by_address = of.event.startswith("latch")
    p1 = cache.cache if cache and not by_address else 0
    p1raw = address(cache.child) if cache and by_address else None
    parameters = {"p1": p1, "p1raw": p1raw, "p2": of.p2, "p3": of.p3}
    return {"event": of.event, **parameters, **_at_work(of), **of_container(now)}


# The latches of a scripted database, their miss locations, and the waits that result.


def latch_children(now: ScenarioState) -> list[Row]:
    """Rows of v$latch_children. Empty where mutexes guard the row cache."""
    if now.scenario.mutexes:
        return []
    return [
        {
            "latch#": now.scenario.latch,
            "child#": child,
            "addr": address(child),
            "gets": sum(row.latch_gets * now.gets(row) for row in now.scenario.caches if row.child == child),
            "misses": now.total(_misses, child, now.scenario),
            "sleeps": now.total(_child_sleeps, child),
            "immediate_gets": 0,
            "immediate_misses": 0,
            # Rounded up, as sleeps are rounded down: a miss is one of the two.
            "spin_gets": math.ceil(now.amount(_spin_gets, child, now.scenario)),
            "wait_time": now.total(_wait_us, child),
        }
        for child in sorted({cache.child for cache in now.scenario.caches})
    ]


def latch(now: ScenarioState) -> list[Row]:
    """Rows of v$latch: the row cache latch as the sum of its children, and its neighbours."""
    sums: dict[str, int] = defaultdict(int)
    for row in latch_children(now):
        for name in ("gets", "misses", "sleeps", "spin_gets", "wait_time"):
            value = row[name]
            sums[name] += value if isinstance(value, int) else 0
    if now.scenario.mutexes:  # the name still exists, with one get an hour
        sums |= {"gets": 41, "misses": 0, "sleeps": 0, "spin_gets": 0, "wait_time": 0}
    rows: list[Row] = [{"latch#": now.scenario.latch, "name": ROW_CACHE_LATCH, **sums}]
    for index, latch in enumerate(sorted({name for _, load in now.scenario.loop for name in load.latches})):
        sleeps = now.total(counted, "latches", latch, 1)
        rows.append(
            {
                "latch#": 100 + index,
                "name": latch,
                "gets": now.total(counted, "latches", latch, 0),
                "misses": sleeps * 20,
                "sleeps": sleeps,
                "spin_gets": sleeps * 19,
                "wait_time": now.total(counted, "latches", latch, 2, 1e6),
            }
        )
    return rows


def latch_misses(now: ScenarioState) -> list[Row]:
    """Rows of v$latch_misses, of the row cache and of the result cache latch."""
    scripts = [load for _, load in now.scenario.loop]

    def at(latch: str, location: str, *slept: int) -> Row:
        counts = {"nwfail_count": 0, "sleep_count": slept[0], "wtr_slp_count": slept[-1], "longhold_count": 0}
        return {"parent_name": latch, "location": location, **counts}

    own = sorted({location for load in scripts for location in {**load.holders, **load.waiters}})
    others = sorted({location for load in scripts for location in load.result_cache_places})
    return [
        *(
            at(ROW_CACHE_LATCH, each, *(now.total(_slept_at, side, each) for side in ("holders", "waiters")))
            for each in own
        ),
        *(at(RESULT_CACHE_LATCH, each, now.total(_result_cache_slept, each)) for each in others),
    ]


def _slept_at(load: ScriptedLoad, side: str, location: str) -> float:
    return _sleeps(load) * counted(load, side, location)


def _result_cache_slept(load: ScriptedLoad, location: str) -> float:
    return counted(load, "latches", RESULT_CACHE_LATCH, 1) * counted(load, "result_cache_places", location)


def _sleeps(load: ScriptedLoad) -> float:
    return sum(child.sleeps for child in load.children.values())


def system_event(now: ScenarioState) -> list[Row]:
    """Rows of v$system_event: the latch or mutex waits that follow from the script, and the other events.

    Scripted databases have no background work, so foreground waits are all waits.
    """
    own = ROW_CACHE_MUTEX_EVENT if now.scenario.mutexes else "latch: row cache objects"
    events = {own, *(event for _, load in now.scenario.loop for event in load.events)}
    events |= {hang.event for hang in now.scenario.hangs}
    return [_event(now, event) for event in sorted(events)]


def _event(now: ScenarioState, event: str) -> Row:
    hung, hung_us = finished(now, event)
    waits, waited = now.total(_waits, event) + hung, now.total(_waited_us, event) + hung_us
    return {
        "event": event,
        "total_waits": waits,
        "total_timeouts": 0,
        "time_waited_micro": waited,
        "total_waits_fg": waits,
        "time_waited_micro_fg": waited,
    }


def _waits(load: ScriptedLoad, event: str) -> float:
    if event == ROW_CACHE_MUTEX_EVENT:
        return sum(sleeps for sleeps, _ in load.mutexes.values())
    return _sleeps(load) if event == "latch: row cache objects" else counted(load, "events", event, 0)


def _waited_us(load: ScriptedLoad, event: str) -> float:
    if event == "latch: row cache objects":
        return sum(child.sleeps * child.sleep_us for child in load.children.values())
    if event == ROW_CACHE_MUTEX_EVENT:
        return sum(waited for _, waited in load.mutexes.values()) * 1e6
    return counted(load, "events", event, 1, 1e6)
