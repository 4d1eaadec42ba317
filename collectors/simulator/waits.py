"""The waits of a scripted database: sleeps on mutexes, and the sessions that wait at one moment."""

from collectors.model import Row, number
from collectors.release import at_least
from collectors.simulator.hangs import blocked_by, sampled
from collectors.simulator.scenario import ScenarioState, ScriptedLoad
from collectors.simulator.sessions import ScriptedWaiters
from collectors.views.waiting_sessions import MOST_ROWS


def address(child: int) -> str:
    """The address of a child latch, as RAWTOHEX prints it."""
    return f"{0x7000000A0 + child * 0xC8:016X}"


def mutex_sleep(now: ScenarioState) -> list[Row]:
    places = sorted({mutex for _, load in now.scenario.loop for mutex in load.mutexes})
    return [
        {
            "mutex_type": "Row Cache",
            "location": location,
            "sleeps": now.total(_mutex, location, 0),
            "wait_time": now.total(_mutex, location, 1, 1e6),
        }
        for location in places
    ]


def _mutex(load: ScriptedLoad, location: str, part: int, unit: float = 1.0) -> float:
    return load.mutexes.get(location, (0.0, 0.0))[part] * unit


SECONDS_PER_LOOK = 20e-6
"""Seconds per look of a holder profile."""


def holders(now: ScenarioState, looks: int) -> list[Row]:
    """What this many looks at v$latchholder show: who held a child latch, how often, and in how many holds."""
    rows: list[Row] = [
        {
            "sid": holder.sid,
            "laddr": address(holder.child),
            "sql_id": holder.sql_id,
            "module": holder.module,
            "program": holder.program,
            "username": holder.username,
            "met": (met := round(looks * holder.share)),
            "holds": max(1, round(met * SECONDS_PER_LOOK * 1e6 / holder.microseconds)),
        }
        for holder in now.load.holding
        if round(looks * holder.share)
    ]
    return sorted(rows, key=lambda row: -(number(row["met"]) or 0.0))


def session(now: ScenarioState) -> list[Row]:
    """Rows of v$session: who waits at this moment."""
    rows: list[Row] = []
    for waiters in now.load.waiting:
        for _ in range(_sessions_now(waiters, now.at)):
            rows.append(_waiter(now, waiters, 100 + len(rows)))
    return rows + sampled(now)


def waiting_sessions(now: ScenarioState) -> list[Row]:
    """Rows of the look of every poll: the same sessions, the longest wait first, with the further columns of that look."""
    rows = session(now)
    longest_first = sorted(rows, key=lambda row: -float(str(row["wait_time_micro"])))
    return [
        {
            **row,
            "serial#": 1000 + int(str(row["sid"])),
            "type": "USER",
            "met": len(rows),
        }
        for row in longest_first[:MOST_ROWS]
    ]


def _sessions_now(waiters: ScriptedWaiters, at: float) -> int:
    """A whole number with this average over time: the fraction appears as one more from time to time."""
    whole, part = divmod(waiters.sessions, 1)
    return int(whole) + (1 if (at * 0.618) % 1 < part else 0)


def _waiter(now: ScenarioState, waiters: ScriptedWaiters, sid: int) -> Row:
    cache = next((row for row in now.scenario.caches if row.name == waiters.cache), None)
    by_address = waiters.event.startswith("latch")
    return {
        "sid": sid,
        "event": waiters.event,
        "p1": cache.cache if cache and not by_address else 0,
        "p1raw": address(cache.child) if cache and by_address else None,
        "p2": waiters.p2,
        "p3": waiters.p3,
        "sql_id": waiters.sql_id,
        "module": waiters.module,
        "program": waiters.program,
        "username": waiters.username,
        **({"con_id": waiters.con_id} if at_least(now.scenario.release, "12.1") else {}),
        **blocked_by(now, waiters.blocker),
        "wait_time_micro": 2100,
    }
