"""The hangs of a scripted database: who waits at a moment, and what the counters show, which is nothing until the end."""

from collectors.model import Row
from collectors.release import at_least
from collectors.simulator.scenario import ScenarioState
from collectors.simulator.sessions import ScriptedHang


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


def hanging(now: ScenarioState) -> list[tuple[ScriptedHang, int, float]]:
    """Sessions that hang now: their hang, their number in it, and the seconds they have waited."""
    _, into = loops(now)
    return [
        (hang, session, hang.waited(session, into))
        for hang in now.scenario.hangs
        for session in range(hang.sessions)
        if hang.begin <= into < hang.end and hang.waited(session, into) > 0
    ]


def blockers(now: ScenarioState) -> list[Row]:
    """Rows of v$rowcache_parent joined with their holders, for the hangs of this moment."""
    stuck = hanging(now)
    return [
        {
            "cache#": next(row.cache for row in now.scenario.caches if row.name == hang.cache),
            "cache_name": hang.cache,
            "key": hang.key,
            "lock_request": hang.p3,
            "waiters": sum(1 for other, _, _ in stuck if other is hang),
            "lock_mode": 5,
            "instance": now.scenario.instance,
            "sid": hang.holder.sid,
            "serial#": hang.holder.serial,
            **_session_of(now, hang),
        }
        for hang in now.scenario.hangs
        if hang.holder.instance is None and any(other is hang for other, _, _ in stuck)
    ]


def chain_sessions(now: ScenarioState) -> list[Row]:
    """The holders of the current hangs that are sessions of this instance, none of which waits for another session."""
    stuck = hanging(now)
    return [
        {
            "instance": now.scenario.instance,
            "sid": hang.holder.sid,
            "serial#": hang.holder.serial,
            **_session_of(now, hang),
            **blocked_by(now, None),
        }
        for hang in now.scenario.hangs
        if hang.holder.instance is None and any(other is hang for other, _, _ in stuck)
    ]


def transactions(now: ScenarioState) -> list[Row]:
    """Undo blocks of the holders of the current hangs."""
    serials = {hang.holder.sid: hang.holder for hang in now.scenario.hangs}
    return [
        {"sid": row["sid"], "serial#": row["serial#"], "used_ublk": serials[int(str(row["sid"]))].undo_blocks}
        for row in chain_sessions(now)
    ]


def _session_of(now: ScenarioState, hang: ScriptedHang) -> Row:
    """The holder as v$session shows it, on its own instance."""
    return {
        "type": "BACKGROUND" if hang.holder.background else "USER",
        "program": hang.holder.program,
        "username": hang.holder.username,
        "machine": hang.holder.machine,
        "module": hang.holder.module,
        "sql_id": hang.holder.sql_id,
        "status": "ACTIVE",
        "state": "WAITING",
        "event": hang.holder.waits_for,
        "wait_time_micro": hang.holder.waits_micro,
        "last_call_et": int(now.at % now.scenario.length - hang.begin),
    }


def elsewhere(now: ScenarioState, instance: object, sid: object) -> list[Row]:
    """A session of another instance as gv$session has it: the holder of a hang, if it is one."""
    return [
        {
            "instance": hang.holder.instance,
            "sid": hang.holder.sid,
            "serial#": hang.holder.serial,
            **_session_of(now, hang),
        }
        for hang in now.scenario.hangs
        if (hang.holder.instance, hang.holder.sid) == (instance, sid)
    ]


def library_cache_waiters(now: ScenarioState) -> list[Row]:
    """Who waits in the library cache for the holders of the current hangs."""
    stuck = hanging(now)
    return [
        {
            "event": "library cache lock",
            "p3": 4 << 16 | 2,
            "blocking_instance": hang.holder.instance or now.scenario.instance,
            "blocking_session": hang.holder.sid,
            "final_blocking_instance": hang.holder.instance or now.scenario.instance,
            "final_blocking_session": hang.holder.sid,
            "sessions": hang.in_library_cache,
            "wait_time_micro": max(round(waited * 1e6) for other, _, waited in stuck if other is hang),
        }
        for hang in now.scenario.hangs
        if hang.in_library_cache and any(other is hang for other, _, _ in stuck)
    ]


def sid_of(session: int) -> int:
    """The sid of a session that hangs. It differs from those of the scripted waiters."""
    return 600 + session


def blocked_by(now: ScenarioState, sid: int | None, elsewhere: int | None = None) -> Row:
    """The columns of v$session that name the blocker of a session. `elsewhere`: on another instance."""
    instance = None if sid is None else elsewhere or now.scenario.instance
    return {
        "blocking_instance": instance,
        "blocking_session": sid,
        "final_blocking_instance": instance,
        "final_blocking_session": sid,
    }


def sampled(now: ScenarioState) -> list[Row]:
    """The sessions that hang as rows of v$session, in the columns of the sampled look."""
    return [
        {
            "sid": sid_of(session),
            "event": hang.event,
            "p1": next(row.cache for row in now.scenario.caches if row.name == hang.cache),
            "p1raw": None,
            "p2": hang.p2,
            "p3": hang.p3,
            "sql_id": hang.sql_id,
            "module": hang.module,
            "program": hang.program,
            "username": hang.username,
            **({"con_id": 0} if at_least(now.scenario.release, "12.1") else {}),
            **blocked_by(now, hang.holder.sid, hang.holder.instance),
            "wait_time_micro": round(waited * 1e6),
        }
        for hang, session, waited in hanging(now)
    ]
