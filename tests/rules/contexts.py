"""Deltas and Scenes written out by hand, for tests that need known numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from collectors.model import ROW_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, Basis, Changes, Delta, Missing, Row
from collectors.registry import collectors
from rules.context import SignalContext
from rules.model import Diagnosis

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
INTERVAL = Basis("interval", BEGIN, BEGIN + timedelta(seconds=30), 30.0)
TOTALS = Basis("totals", None, None, None)

SICK: Mapping[str, Sequence[Row]] = {
    "v$latchname": [{"latch#": 270, "name": ROW_CACHE_LATCH}],
    "v$event_name": [{"name": "latch: row cache objects"}, {"name": "row cache lock"}],
    "v$latch_children": [
        {"latch#": 270, "child#": 1, "gets": 36_000, "sleeps": 990},
        {"latch#": 270, "child#": 5, "gets": 21_000, "sleeps": 7},
        {"latch#": 270, "child#": 8, "gets": 2_600, "sleeps": 3},
    ],
    "v$rowcache": [
        {
            "cache#": 3,
            "type": "PARENT",
            "subordinate#": None,
            "parameter": "dc_rollback_segments",
            "gets": 12_000,
            "getmisses": 60,
            "modifications": 24,
            "usage": 14_600,
        },
        {"cache#": 0, "type": "PARENT", "subordinate#": None, "parameter": "dc_tablespaces", "gets": 7_000},
        {"cache#": 10, "type": "PARENT", "subordinate#": None, "parameter": "dc_users", "gets": 800},
        {"cache#": 7, "type": "SUBORDINATE", "subordinate#": 0, "parameter": "dc_users", "gets": 200},
    ],
    "x$kqrst": [
        {"child#": 1, "cache#": 3, "type": "PARENT", "subordinate#": None},
        {"child#": 5, "cache#": 0, "type": "PARENT", "subordinate#": None},
        {"child#": 8, "cache#": 10, "type": "PARENT", "subordinate#": None},
        {"child#": 8, "cache#": 7, "type": "SUBORDINATE", "subordinate#": 0},
    ],
    "v$latch_misses": [
        {"parent_name": ROW_CACHE_LATCH, "location": "kqrpre: find obj", "sleep_count": 850, "wtr_slp_count": 400},
        {"parent_name": ROW_CACHE_LATCH, "location": "kqreqd: reget", "sleep_count": 110, "wtr_slp_count": 300},
        {"parent_name": ROW_CACHE_LATCH, "location": "kqreqd", "sleep_count": 40, "wtr_slp_count": 300},
        {"parent_name": "Result Cache: RC Latch", "location": "kqrpre: find obj", "sleep_count": 9_000},
    ],
    "v$latch": [
        {
            "latch#": 270,
            "name": ROW_CACHE_LATCH,
            "gets": 40_000,
            "misses": 4_000,
            "sleeps": 1_000,
            "spin_gets": 3_200,
            "wait_time": 2_000_000,
        }
    ],
    "v$system_event": [
        {"event": "latch: row cache objects", "total_waits": 1_000, "time_waited_micro": 2_000_000},
        {"event": "row cache lock", "total_waits": 10, "time_waited_micro": 500_000},
        {"event": "library cache: mutex X", "total_waits": 900, "time_waited_micro": 4_000_000},
        {"event": "cursor: pin S wait on X", "total_waits": 90, "time_waited_micro": 1_000_000},
        {"event": "enq: US - contention", "total_waits": 40, "time_waited_micro": 1_000_000},
    ],
    "v$sys_time_model": [
        {"stat_name": "DB time", "value": 100_000_000},
        {"stat_name": "parse time elapsed", "value": 45_000_000},
        {"stat_name": "hard parse elapsed time", "value": 20_000_000},
        {"stat_name": "sequence load elapsed time", "value": 3_000_000},
    ],
    "v$sysstat": [{"name": "execute count", "value": 4_000}],
    "v$osstat": [
        {"stat_name": "NUM_CPUS", "level_now": 16, "total": None},
        {"stat_name": "LOAD", "level_now": 24, "total": None},
        {"stat_name": "BUSY_TIME", "level_now": None, "total": 900},
        {"stat_name": "IDLE_TIME", "level_now": None, "total": 100},
        {"stat_name": "VM_IN_BYTES", "level_now": None, "total": 200},
        {"stat_name": "VM_OUT_BYTES", "level_now": None, "total": 100},
    ],
}
"""An instance with round numbers: child 1 has 99 % of 1,000 sleeps in 30 s."""


def delta_of(
    views: Mapping[str, Sequence[Row]] = SICK,
    *,
    basis: Basis = INTERVAL,
    release: str | None = "11.2.0.4.0",
    refused: Iterable[str] = (),
    **changed: Any,
) -> Delta:
    """A Delta of these rows. Views in `refused` are missing because the grant is. The rest are fields of Delta."""
    readings: dict[str, Changes | Missing] = {view: Changes(view, tuple(rows)) for view, rows in views.items()}
    for view in refused:
        readings[view] = no_grant(view)
    return replace(Delta("sick", release, basis, readings), **changed)


def with_rows(view: str, *rows: Mapping[str, Any]) -> Mapping[str, Sequence[Row]]:
    """The sick instance with other rows in one view."""
    return {**SICK, view: rows}


def context_of(views: Mapping[str, Sequence[Row]] = SICK, **more: Any) -> SignalContext:
    """A Scene of these rows; see delta_of."""
    return SignalContext(delta_of(views, **more))


def no_grant(view: str) -> Missing:
    """The reading of a view that the user may not read."""
    cure = f"grant select on {collectors()[view].granted_on} to <user>"
    return Missing(view, "refused", f"{view}: ORA-00942", cure)


def steps_of(got: Diagnosis) -> Mapping[str, str]:
    """The steps of a walk by name."""
    return {step.step: step.statement for step in got.steps}


def waiting_for_the_lock(*seconds: float, p1: int | None = 3, met: int | None = None) -> list[Row]:
    """Sessions that have waited this long for the row cache lock. `met`: how many the look counted, if not these."""
    return [
        {
            "sid": sid,
            "event": ROW_CACHE_LOCK_EVENT,
            "p1": p1,
            "wait_time_micro": waited * 1e6,
            "met": met or len(seconds),
        }
        for sid, waited in enumerate(seconds)
    ]
