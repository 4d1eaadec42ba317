"""The latches of a scripted database, their miss locations, and the waits that result."""

from collections import defaultdict

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LATCH, ROW_CACHE_MUTEX_EVENT, Row
from collectors.simulator.hangs import finished
from collectors.simulator.scenario import Scenario, ScenarioState, ScriptedLoad
from collectors.simulator.waits import address


def _children(scenario: Scenario) -> list[int]:
    return sorted({cache.child for cache in scenario.caches})


def latch_children(now: ScenarioState) -> list[Row]:
    """Rows of v$latch_children. Empty where mutexes guard the row cache."""
    if now.scenario.mutexes:
        return []
    return [
        {
            "latch#": now.scenario.latch,
            "child#": child,
            "addr": address(child),
            "gets": now.child_gets(child),
            "misses": now.misses(child),
            "sleeps": now.sleeps(child),
            "immediate_gets": 0,
            "immediate_misses": 0,
            "spin_gets": now.spin_gets(child),
            "wait_time": now.wait_us(child),
        }
        for child in _children(now.scenario)
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
        sleeps = now.total(_other_latch, latch, 1)
        rows.append(
            {
                "latch#": 100 + index,
                "name": latch,
                "gets": now.total(_other_latch, latch, 0),
                "misses": sleeps * 20,
                "sleeps": sleeps,
                "spin_gets": sleeps * 19,
                "wait_time": now.total(_other_latch, latch, 2, 1e6),
            }
        )
    return rows


def _other_latch(load: ScriptedLoad, latch: str, part: int, unit: float = 1.0) -> float:
    return load.latches.get(latch, (0.0, 0.0, 0.0))[part] * unit


def latch_misses(now: ScenarioState) -> list[Row]:
    """Rows of v$latch_misses, of the row cache and of the result cache latch."""
    return [*_row_cache_places(now), *_result_cache_places(now)]


def _row_cache_places(now: ScenarioState) -> list[Row]:
    places = sorted({location for _, load in now.scenario.loop for location in {**load.holders, **load.waiters}})
    return [
        {
            "parent_name": ROW_CACHE_LATCH,
            "location": location,
            "nwfail_count": 0,
            "sleep_count": now.total(_held_at, location),
            "wtr_slp_count": now.total(_waited_at, location),
            "longhold_count": 0,
        }
        for location in places
    ]


def _result_cache_places(now: ScenarioState) -> list[Row]:
    places = sorted({location for _, load in now.scenario.loop for location in load.result_cache_places})
    return [
        {
            "parent_name": RESULT_CACHE_LATCH,
            "location": location,
            "nwfail_count": 0,
            "sleep_count": now.total(_result_cache_slept, location),
            "wtr_slp_count": now.total(_result_cache_slept, location),
            "longhold_count": 0,
        }
        for location in places
    ]


def _result_cache_slept(load: ScriptedLoad, location: str) -> float:
    return _other_latch(load, RESULT_CACHE_LATCH, 1) * load.result_cache_places.get(location, 0.0)


def _held_at(load: ScriptedLoad, location: str) -> float:
    return _sleeps(load) * load.holders.get(location, 0.0)


def _waited_at(load: ScriptedLoad, location: str) -> float:
    return _sleeps(load) * load.waiters.get(location, 0.0)


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
    return _sleeps(load) if event == "latch: row cache objects" else load.events.get(event, (0.0, 0.0))[0]


def _waited_us(load: ScriptedLoad, event: str) -> float:
    if event == "latch: row cache objects":
        return sum(child.sleeps * child.sleep_us for child in load.children.values())
    if event == ROW_CACHE_MUTEX_EVENT:
        return sum(waited for _, waited in load.mutexes.values()) * 1e6
    return load.events.get(event, (0.0, 0.0))[1] * 1e6
