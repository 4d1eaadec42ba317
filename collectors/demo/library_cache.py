"""Who waits in the library cache of a scripted database, for the holders of its hangs."""

from collectors.demo.load import ScenarioState, ScriptedHang, blocked_by, hanging
from collectors.model import Row
from collectors.release import at_least
from collectors.views.library_cache_sessions import MOST_ROWS


def library_cache_waiters(now: ScenarioState) -> list[Row]:
    """Who waits in the library cache for the holders of the current hangs."""
    return [
        {
            "event": "library cache lock",
            "p3": LIBRARY_CACHE_P3,
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "sessions": hang.in_library_cache,
            "wait_time_micro": round(waited * 1e6),
        }
        for hang, waited in _in_library_cache(now)
    ]


def library_cache_sessions(now: ScenarioState) -> list[Row]:
    """The same, each session in a row of its own, as the look of every poll has them."""
    waiting = [(hang, waited) for hang, waited in _in_library_cache(now) for _ in range(hang.in_library_cache)]
    return [
        {
            "sid": 1400 + place,
            "serial#": 2400 + place,
            "event": "library cache lock",
            "p1raw": f"{0x8C2A4F58:016X}",
            "p3": LIBRARY_CACHE_P3,
            "sql_id": hang.sql_id,
            "module": hang.module,
            "action": None,
            "program": hang.program,
            "machine": "app01",
            "username": hang.username,
            "type": "USER",
            **({"con_id": 0} if at_least(now.scenario.release, "12.1") else {}),
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "wait_time_micro": round(waited * 1e6),
            "met": len(waiting),
        }
        for place, (hang, waited) in enumerate(waiting[:MOST_ROWS])
    ]


LIBRARY_CACHE_P3 = 4 << 16 | 2
"""An index, asked for in share mode."""


def _in_library_cache(now: ScenarioState) -> list[tuple[ScriptedHang, float]]:
    """The current hangs with sessions in the library cache, and the longest wait of each in seconds."""
    stuck = hanging(now)
    return [
        (hang, max(waited for other, _, waited in stuck if other is hang))
        for hang in now.scenario.hangs
        if hang.in_library_cache and any(other is hang for other, _, _ in stuck)
    ]
