"""The sick instance with every view that a signal may read, all in round numbers."""

from collections.abc import Iterable, Mapping, Sequence

from collectors.model import RESULT_CACHE_LATCH, ROW_CACHE_LOCK_EVENT, ROW_CACHE_MUTEX_EVENT, Row
from tests.rules.contexts import SICK

LATCH_WAIT = "latch: row cache objects"


def waiters(event: str, caches: Mapping[int, int], exclusive: int = 0, sql_id: str | None = "g7w5") -> list[Row]:
    """The waiters of one look for an event: cache id → how many. The first `exclusive` of them want the entry exclusively."""
    ids = [cache for cache, times in caches.items() for _ in range(times)]
    return [
        {"sample": 1, "sid": place, "event": event, "p1": cache, "p3": 5 if place < exclusive else 3, "sql_id": sql_id}
        for place, cache in enumerate(ids)
    ]


def more(view: str, *rows: Row) -> list[Row]:
    """The sick instance's rows of a view, and some more."""
    return [*SICK[view], *rows]


def _rowcache() -> Iterable[Row]:
    extra = {
        "dc_rollback_segments": {"dlm_requests": 400, "dlm_conflicts": 40},
        "dc_tablespaces": {"getmisses": 40, "modifications": 6, "usage": 9, "dlm_requests": 100, "dlm_conflicts": 1},
    }
    idle = {"getmisses": 0, "modifications": 0, "usage": 5, "dlm_requests": 0, "dlm_conflicts": 0}
    return [{**row, **extra.get(str(row["parameter"]), idle)} for row in SICK["v$rowcache"]]


RICH: Mapping[str, Sequence[Row]] = {
    **SICK,
    "waiting_sessions": [],
    "library_cache_sessions": [
        {"sid": place, "event": "library cache lock", "type": "USER", "p1raw": handle, "p3": p3}
        for place, (handle, p3) in enumerate(
            [("00000001A", 8_323_074)] * 12
            + [("00000001B", 79 << 16 | 3)] * 4
            + [("00000001C", 0x2A7900010003)] * 3
            + [("00000001D", 74 << 16 | 2)]
        )
    ]
    + [
        {"sid": 30, "event": "library cache pin", "type": "USER", "p1raw": "00000001A", "p3": 8_323_074},
        {"sid": 31, "event": "library cache lock", "type": "BACKGROUND", "p1raw": "00000001A", "p3": 8_323_074},
    ],
    "row_cache_blockers": [
        {"cache#": 3, "sid": 9, "type": "BACKGROUND", "program": "oracle@db1 (LCK0)", "waiters": 3},
        {"cache#": 3, "sid": 8, "type": "BACKGROUND", "program": "oracle@db1 (M003)", "waiters": 1},
    ],
    "v$instance": [{"instance_number": 1, "version_full": "19.7.0.0.0", "parallel": "YES"}],
    "v$rowcache": list(_rowcache()),
    "v$latch": more(
        "v$latch",
        {
            "name": RESULT_CACHE_LATCH,
            "gets": 50_000,
            "misses": 5_000,
            "sleeps": 200,
            "spin_gets": 4_900,
            "wait_time": 3_000_000,
        },
        {"name": "shared pool", "gets": 9_000, "misses": 400, "sleeps": 20, "wait_time": 1_200_000},
        {"name": "redo allocation", "gets": 9_000, "misses": 400, "sleeps": 9, "wait_time": 9_000_000},
    ),
    "v$latch_misses": more(
        "v$latch_misses",
        {"parent_name": RESULT_CACHE_LATCH, "location": "Result Cache: Serialization12", "sleep_count": 1_000},
    ),
    "v$mutex_sleep": [
        {"mutex_type": "Row Cache", "location": "[19] kqrpre", "sleeps": 300, "wait_time": 1_000_000},
        {"mutex_type": "Row Cache", "location": "[10] kqreqd", "sleeps": 100, "wait_time": 200_000},
    ],
    "v$system_event": more(
        "v$system_event",
        {"event": ROW_CACHE_MUTEX_EVENT, "time_waited_micro": 1_200_000},
        {"event": "library cache lock", "total_waits": 20, "time_waited_micro": 1_000_000},
        {"event": "library cache pin", "total_waits": 10, "time_waited_micro": 600_000},
        {"event": "cursor: mutex X", "total_waits": 60, "time_waited_micro": 1_500_000},
        {"event": "enq: SQ - contention", "total_waits": 80, "time_waited_micro": 400_000},
        {"event": "enq: TX - allocate ITL entry", "total_waits": 5, "time_waited_micro": 250_000},
        {"event": "Data file init write", "total_waits": 30, "time_waited_micro": 250_000},
        {"event": "enq: HW - contention", "total_waits": 8, "time_waited_micro": 500_000},
        {"event": "enq: SV -  contention", "total_waits": 8, "time_waited_micro": 200_000},
        {"event": "latch: cache buffers chains", "total_waits": 500, "time_waited_micro": 500_000},
        {"event": "SGA: allocation forcing component growth", "total_waits": 8, "time_waited_micro": 300_000},
        {"event": "resmgr:cpu quantum", "total_waits": 40, "time_waited_micro": 12_000_000},
    ),
    "v$sysstat": more(
        "v$sysstat",
        {"name": "parse count (total)", "value": 2_000},
        {"name": "parse count (hard)", "value": 600},
        {"name": "parse count (failures)", "value": 20},
        {"name": "logons cumulative", "value": 60},
        {"name": "user commits", "value": 300},
    ),
    "v$sys_time_model": more(
        "v$sys_time_model",
        {"stat_name": "failed parse elapsed time", "value": 1_000_000},
        {"stat_name": "connection management call elapsed time", "value": 4_000_000},
    ),
    "v$parameter": [{"name": "undo_retention", "value": "900"}, {"name": "result_cache_mode", "value": "FORCE"}],
    "v$undostat": [
        {"begin_time": "2026-03-02 08:50:00", "tuned_undoretention": 1, "maxconcurrency": 1},
        {
            "begin_time": "2026-03-02 09:00:00",
            "tuned_undoretention": 9_000,
            "maxconcurrency": 73,
            "unexpiredblks": 300,
            "expiredblks": 100,
        },
    ],
    "v$sgastat": [
        {"pool": "shared pool", "name": "KQR PO", "bytes": 20_000_000},
        {"pool": "shared pool", "name": "KQR M PO", "bytes": 6_000_000},
        {"pool": "shared pool", "name": "free memory", "bytes": 400_000_000},
    ],
    "v$sga_resize_ops": [
        {"component": "shared pool", "start_time": "08:57", "initial_size": 2_000, "final_size": 1_500},
        {"component": "shared pool", "start_time": "08:58", "initial_size": 1_500, "final_size": 2_000},
        {"component": "DEFAULT buffer cache", "start_time": "08:59", "initial_size": 2_000, "final_size": 1_500},
    ],
    "v$session": [
        *waiters(ROW_CACHE_MUTEX_EVENT, {3: 16, 0: 4}),
        *(
            {**row, "sid": 100 + place, "sql_id": None if place < 5 else "g7w5"}
            for place, row in enumerate(waiters(ROW_CACHE_LOCK_EVENT, {3: 12, 10: 8}, exclusive=15))
        ),
    ],
}
"""The numbers a test of a signal starts from; those of SICK hold here as well."""
