"""Waiting sessions as a case states them, spread over ten looks as rows of v$session."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from collectors.demo.load import address
from collectors.model import Changes, Delta, Row
from rules.base import Frozen

LOOKS = 10
EXCLUSIVE, SHARE = 5, 3


class Waiters(Frozen):
    """Waiting sessions that are all alike: `times` of them over all looks together."""

    event: Literal["row cache mutex", "row cache lock", "latch: row cache objects", "latch free"]
    cache: str | None = None
    """Cache named in P1; of a latch, the cache whose child P1RAW leads to."""
    times: int = Field(gt=0)
    mode: Literal["exclusive", "share"] = "share"
    """What a waiter for the row cache lock wants."""
    p2: int = 0
    sql_id: str | None = None
    module: str | None = None
    program: str | None = None
    container: int | None = None
    blocker: int | None = None


class StillWaiting(Frozen):
    """Sessions that still wait at the poll, all alike."""

    event: Literal["row cache mutex", "row cache lock"]
    cache: str
    sessions: int = Field(gt=0)
    seconds: float = Field(gt=0)
    """How long they have waited."""
    blocker: int | None = None
    background: bool = False


class InLibraryCache(Frozen):
    """Sessions that wait in the library cache at the poll, all for one handle."""

    event: Literal["library cache lock", "library cache pin"] = "library cache lock"
    namespace: int
    mode: Literal["share", "exclusive"] = "share"
    sessions: int = Field(gt=0)
    seconds: float = Field(1.0, gt=0)
    username: str | None = None
    machine: str | None = None
    sql_id: str | None = None
    blocker: int | None = None


def in_library_cache(waiting: Sequence[InLibraryCache]) -> Changes:
    """The look of the poll at the library cache, with a row for each session."""
    rows: list[Row] = [
        {
            "sid": 2000 + 300 * group + number,
            "serial#": 7,
            "event": one.event,
            "p1raw": address(group),
            "p3": one.namespace << 16 | {"share": 2, "exclusive": 3}[one.mode],
            "type": "USER",
            "username": one.username,
            "machine": one.machine,
            "sql_id": one.sql_id,
            "blocking_session": one.blocker,
            "blocking_instance": None if one.blocker is None else 1,
            "final_blocking_session": one.blocker,
            "final_blocking_instance": None if one.blocker is None else 1,
            "wait_time_micro": round(one.seconds * 1e6),
            "met": sum(each.sessions for each in waiting),
        }
        for group, one in enumerate(waiting)
        for number in range(one.sessions)
    ]
    return Changes("library_cache_sessions", tuple(rows))


def looked(waiting: Sequence[StillWaiting], usual: Delta) -> Changes:
    """The look of the poll, with a row for each session."""
    rows: list[Row] = [
        {
            "sid": 500 + 100 * group + number,
            "serial#": 7,
            "event": one.event,
            "p1": _cache(Waiters(event=one.event, cache=one.cache, times=1), usual)[0],
            "type": "BACKGROUND" if one.background else "USER",
            "blocking_session": None,
            "blocking_instance": None,
            "final_blocking_session": one.blocker,
            "final_blocking_instance": None if one.blocker is None else 1,
            "wait_time_micro": round(one.seconds * 1e6),
            "met": sum(each.sessions for each in waiting),
        }
        for group, one in enumerate(waiting)
        for number in range(one.sessions)
    ]
    return Changes("waiting_sessions", tuple(rows))


def sampled(waiters: Sequence[Waiters], usual: Delta) -> Changes:
    """The looks, each with its waiting sessions. A look without any has one row without a session."""
    rows: list[Row] = [{"sample": look, "sid": None} for look in range(1, LOOKS + 1)]
    for group, one in enumerate(waiters):
        rows.extend(_row(one, time % LOOKS + 1, 1000 * (group + 1) + time // LOOKS, usual) for time in range(one.times))
    return Changes("v$session", tuple(rows))


def _row(one: Waiters, look: int, sid: int, usual: Delta) -> Row:
    cache, child = _cache(one, usual)
    by_address = one.event == "latch: row cache objects"
    return {
        "sample": look,
        "sid": sid,
        "event": one.event,
        "p1": 0 if by_address else cache,
        "p1raw": address(child) if by_address and child is not None else None,
        "p2": one.p2,
        "p3": {"exclusive": EXCLUSIVE, "share": SHARE}[one.mode] if one.event == "row cache lock" else 0,
        "sql_id": one.sql_id,
        "module": one.module,
        "program": one.program,
        "con_id": one.container,
        "blocking_session": one.blocker,
        "wait_time_micro": 2100,
    }


def _cache(one: Waiters, usual: Delta) -> tuple[int, int | None]:
    """Cache id and child of the cache that a waiter names; an unknown id if it names none."""
    if one.cache is None:
        return -1, None
    rows = [row for row in usual.rows("v$rowcache") if row.get("parameter") == one.cache]
    rows.sort(key=lambda row: row.get("type") != "PARENT")
    if not rows:
        raise ValueError(f"{one.cache} is no cache of {usual.release}")
    cache = rows[0]["cache#"]
    assert isinstance(cache, int)
    children = [row.get("child#") for row in usual.rows("x$kqrst") if row.get("cache#") == cache]
    return cache, next((child for child in children if isinstance(child, int)), None)
