"""The waits of a scripted database: sleeps for mutexes, and the sessions that wait at one moment."""

from collectors.model import Row
from collectors.release import at_least
from collectors.simulator.scenario import ScenarioState, ScriptedLoad, ScriptedWaiters


def address(child: int) -> str:
    """The address of a child latch, as RAWTOHEX prints it."""
    return f"{0x7000000A0 + child * 0xC8:016X}"


def mutex_sleep(now: ScenarioState) -> list[Row]:
    """Rows of v$mutex_sleep."""
    places = sorted({place for _, load in now.scenario.loop for place in load.mutexes})
    return [
        {
            "mutex_type": "Row Cache",
            "location": place,
            "sleeps": now.total(_mutex, place, 0),
            "wait_time": now.total(_mutex, place, 1, 1e6),
        }
        for place in places
    ]


def _mutex(load: ScriptedLoad, place: str, part: int, unit: float = 1.0) -> float:
    return load.mutexes.get(place, (0.0, 0.0))[part] * unit


def holders(now: ScenarioState) -> list[Row]:
    """Rows of v$latchholder joined to v$session: who holds a child latch at this moment."""
    return [
        {
            "sid": one.sid,
            "laddr": address(one.child),
            "sql_id": one.sql_id,
            "module": one.module,
            "program": one.program,
            "username": one.username,
        }
        for place, one in enumerate(now.load.holding)
        if (now.at * 97.3 + place * 0.37) % 1 < one.share
    ]


def session(now: ScenarioState) -> list[Row]:
    """Rows of v$session: who waits at this moment."""
    rows: list[Row] = []
    for one in now.load.waiting:
        for _ in range(_sessions_now(one, now.at)):
            rows.append(_waiter(now, one, 100 + len(rows)))
    return rows


def _sessions_now(one: ScriptedWaiters, at: float) -> int:
    """A whole number that is the average over time: the fraction shows itself every so many seconds."""
    whole, part = divmod(one.sessions, 1)
    return int(whole) + (1 if (at * 0.618) % 1 < part else 0)


def _waiter(now: ScenarioState, one: ScriptedWaiters, sid: int) -> Row:
    cache = next((row for row in now.scenario.caches if row.name == one.cache), None)
    by_address = one.event.startswith("latch")
    return {
        "sid": sid,
        "event": one.event,
        "p1": cache.cache if cache and not by_address else 0,
        "p1raw": address(cache.child) if cache and by_address else None,
        "p2": one.p2,
        "p3": one.p3,
        "sql_id": one.sql_id,
        "module": one.module,
        "program": one.program,
        "username": one.username,
        **({"con_id": one.con_id} if at_least(now.scenario.release, "12.1") else {}),
        "blocking_session": one.blocker,
        "wait_time_micro": 2100,
    }
