"""The counts of an interval: rates become whole events, and DB time is the sum of its parts."""

from collections import defaultdict
from dataclasses import dataclass

from tests.truth.background import add_ordinary_waits, child_gets, child_loads
from tests.truth.instance import Instance
from tests.truth.parts import During, Stream
from tests.truth.queueing import LatchLoad
from tests.truth.releases import Key
from tests.truth.workload import DRIVERS, OPTIMISTIC, named

ROW_CACHE_EVENTS = ("latch: row cache objects", "row cache mutex", "row cache lock")


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of one stream of waits. `sleeps` are those of the guard; times in microseconds."""

    stream: Stream
    waits: int
    micros: int
    waits_fg: int
    micros_fg: int
    sleeps: int
    first: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The interval. Times in microseconds, busy and idle in centiseconds."""

    instance: Instance
    gets: dict[Key, int]
    fast: dict[Key, int]
    child_gets: dict[int, int]
    child_misses: dict[int, int]
    child_spins: dict[int, int]
    counted: tuple[Counted, ...]
    times: dict[str, int]
    statistics: dict[str, int]
    busy: int
    idle: int
    run_queue: float

    def share(self, *causes: str | None) -> float:
        """Share of DB time that foreground sessions lost in row cache waits (or at the result cache latch) to these causes."""
        lost = sum(c.micros_fg for c in self.counted if c.stream.cause in causes and c.stream.surface is not None)
        return lost / max(self.times["DB time"], 1)


def come_out(it: Instance) -> Outcome:
    """Let the interval pass."""
    it.grow()
    gets, fast = _rates(it)
    loads = child_loads(it, gets) if it.release.guard == "latch" else {}
    add_ordinary_waits(it, loads)
    hung = {hang.event for hang in it.hangs}  # during a hang no wait ends
    it.streams = [stream for stream in it.streams if stream.event not in hung]
    counted = tuple(_counted(it, stream) for stream in it.streams)
    asked = {key: it.dice.count(rate * it.seconds) for key, rate in gets.items()}
    children, misses, spins = _children(it, asked, loads, counted)
    cpu, background, queue = _processors(it)
    times = _times(it, counted, cpu, queue)
    busy = it.cpus * it.dice.between(0.985, 1.0) if it.demand else min(cpu + background, float(it.cpus))
    return Outcome(
        instance=it,
        gets=asked,
        fast={key: it.dice.count(rate * it.seconds) for key, rate in fast.items()},
        child_gets=children,
        child_misses=misses,
        child_spins=spins,
        counted=counted,
        times=times,
        statistics=_statistics(it),
        busy=round(busy * it.seconds * 100),
        idle=round((it.cpus - busy) * it.seconds * 100),
        run_queue=queue + max(0.0, it.demand - it.cpus),
    )


def _rates(it: Instance) -> tuple[dict[Key, float], dict[Key, float]]:
    gets: dict[Key, float] = {cache.key: 0.0 for cache in it.release.caches}
    fast = dict.fromkeys(gets, 0.0)
    for driver, rate in it.work.rates.items():
        for key, per in DRIVERS[driver].gets.items():
            asked = rate * per * it.taste.get((driver, key), 1.0)
            key = named(it.release, key)
            slow = 1.0
            if it.release.fast and key[0] in OPTIMISTIC and key[1] is None:
                slow = it.dice.between(0.05, 0.4)
            gets[key] += asked * slow
            fast[key] += asked * (1.0 - slow)
        for key, per in DRIVERS[driver].modifications.items():
            it.modified[named(it.release, key)] += rate * per
    for key, rate in it.extra.items():
        gets[key] += rate
    for key, rate in it.extra_fast.items():
        fast[key] += rate
    return gets, fast


def _counted(it: Instance, stream: Stream) -> Counted:
    dice = it.dice
    waits = dice.count(stream.waits * it.seconds)
    micros = round(waits * stream.mean * 1e6 * dice.about(1.0, 0.4 / (waits + 1) ** 0.5))
    foreground = min(1.0, stream.foreground * dice.about(1.0, 0.01))
    sleeps = max(waits, round(waits * stream.sleeps_per_wait))
    first = round(waits * min(1.0, stream.first_sleeps))
    return Counted(stream, waits, micros, round(waits * foreground), round(micros * foreground), sleeps, first)


def _children(
    it: Instance, asked: dict[Key, int], loads: dict[int, LatchLoad], counted: tuple[Counted, ...]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Gets, misses and spin gets by child. Spinning absorbs a miss, or the session sleeps."""
    if not loads:
        return {}, {}, {}
    expected = child_gets(it, asked)
    totals, misses, spins = {}, {}, {}
    for child, load in loads.items():
        slept = sum(c.first for c in counted if c.stream.child == child)
        rate = load.misses + sum(hot.misses for number, hot in it.hot if number == child)
        missed = max(it.dice.count(rate * it.seconds), slept)
        totals[child] = max(round(expected[child] * it.dice.about(1.0, 0.004)), missed)
        misses[child], spins[child] = missed, missed - slept
    return totals, misses, spins


def _processors(it: Instance) -> tuple[float, float, float]:
    """Foreground and background processors used, and foreground sessions in the run queue, on average."""
    cpu, background = it.work.cpu + it.spinning, it.work.background_cpu
    if it.demand:
        got = min(1.0, 0.985 * it.cpus / (cpu + background + it.demand))
        return cpu * got, background * got, cpu * (1 / got - 1) * it.dice.between(0.5, 1.0)
    used = min((cpu + background) / it.cpus, 0.95)
    waiting = used ** ((2 * (it.cpus + 1)) ** 0.5) / (1 - used)
    return cpu, background, waiting * cpu / (cpu + background) * it.dice.between(0.3, 1.0)


def _times(it: Instance, counted: tuple[Counted, ...], cpu: float, queue: float) -> dict[str, int]:
    """The time model. Every foreground wait is part of DB time and of the elapsed time of what the session was doing.

    So is the wait for a processor, in proportion to the processor time of each.
    """
    during = waited_during(counted)
    hanging = sum(hang.sessions * min(hang.since, it.seconds) * 0.9 for hang in it.hangs) * 1e6
    work, million = it.work, it.seconds * 1e6
    db = (cpu + queue + work.io + work.other) * million + sum(during.values()) + hanging
    longer = ((cpu + queue) * million + during["anything"]) / (work.cpu + it.spinning)

    def elapsed(what: During, each: float) -> float:
        return work.rates[what] * each * longer + during[what]

    hard, soft = elapsed("hard parse", work.hard_parse_cpu), elapsed("soft parse", work.soft_parse_cpu)
    failed = elapsed("failed parse", DRIVERS["failed parse"].cpu)
    logon, sequence = elapsed("logon", work.logon_cpu), elapsed("sequence", DRIVERS["sequence"].cpu)
    named_times = {
        "DB time": db,
        "DB CPU": cpu * million,
        "parse time elapsed": hard + failed + soft,
        "hard parse elapsed time": hard + 0.8 * failed,
        "failed parse elapsed time": failed,
        "connection management call elapsed time": logon,
        "sequence load elapsed time": sequence,
    }
    return {name: round(value) for name, value in named_times.items()}


def waited_during(counted: tuple[Counted, ...]) -> dict[During, float]:
    """Microseconds of foreground waits by what the sessions were doing."""
    during: dict[During, float] = defaultdict(float)
    for each in counted:
        during[each.stream.during] += each.micros_fg
    return during


def _statistics(it: Instance) -> dict[str, int]:
    rates = it.work.rates
    parses = rates["soft parse"] + rates["hard parse"] + rates["failed parse"]
    statistics = {
        "parse count (total)": parses,
        "parse count (hard)": rates["hard parse"] + rates["failed parse"] * 0.9,
        "parse count (failures)": rates["failed parse"],
        "execute count": rates["execution"] + rates["hard parse"] * it.work.recursive_per_hard * 0.5,
        "logons cumulative": rates["logon"],
        "user calls": rates["execution"] * it.work.calls_per_execution + rates["logon"] * 3,
        "user commits": rates["commit"],
        "user rollbacks": rates["commit"] * 0.02,
        "recursive calls": rates["hard parse"] * it.work.recursive_per_hard + rates["logon"] * 8 + rates["ddl"] * 40,
        "session cursor cache hits": rates["soft parse"] * 0.5,
    }
    counted = {name: it.dice.count(rate * it.seconds) for name, rate in statistics.items()}
    for name in ("parse count (hard)", "parse count (failures)"):
        counted[name] = min(counted[name], counted["parse count (total)"])
    return counted
