"""An hour of an ordinary busy database, release 11.2.0.4. The stories differ from it in a few rows. All figures are ours."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from .interval import Cache, Interval, Latch, Mutex, Source, Wait

BEGIN = datetime(2025, 3, 12, 9, 0, 20)  # noqa: DTZ001 – reports print the host's local time


def _host(busy: int, idle: int, load: tuple[int, int]) -> dict[str, tuple[int, int | None]]:
    return {
        "BUSY_TIME": (busy, None),
        "IDLE_TIME": (idle, None),
        "LOAD": load,
        "OS_CPU_WAIT_TIME": (1_204_377, None),
        "VM_IN_BYTES": (0, None),
        "PHYSICAL_MEMORY_BYTES": (135_291_469_824, None),
        "NUM_CPUS": (16, None),
        "NUM_CPU_CORES": (8, None),
    }


LATCHES = (
    Latch("SQL memory manager latch", 0, nowait=1_203),
    Latch("cache buffers chains", 2_841_305_552, 911_204, 1_377, 909_911, 6.4, 8_120_441, 730),
    Latch("cache buffers lru chain", 1_022_417, 3_114, 52, 3_063, 0.2, 14_220_186, 9_127),
    Latch("enqueue hash chains", 9_120_447, 4_377, 0, 4_377),
    Latch("redo allocation", 4_117_903, 2_206, 40, 2_167, 0.2, 7_204_118, 1_204),
    Latch("row cache objects", 24_204_118, 20_411, 104, 20_308, 0.7, 2_117, 3),
    Latch("session allocation", 3_911_204, 1_877, 12, 1_865),
    Latch("shared pool", 8_204_117, 6_377, 214, 6_171, 1.1),
    Latch("undo global data", 7_011_204, 1_306, 9, 1_297),
)
SOURCES = (
    Source("cache buffers chains", "kcbgtcr: fast path (cr pin)", 811, 630, 12),
    Source("cache buffers chains", "kcbrls: fast release", 566, 747),
    Source("row cache objects", "kqreqd: reget", 47, 3),
    Source("row cache objects", "kqrpre: find obj", 41, 77),
    Source("row cache objects", "kqreqd", 12, 22),
    Source("row cache objects", "kqrso", 4, 2),
    Source("shared pool", "kghalo", 131, 120),
    Source("shared pool", "kghfre", 83, 94),
)
MUTEXES = (
    Mutex("Cursor Pin", "kkslce [KKSCHLPIN2]", 1_204, 1_377),
    Mutex("Library Cache", "kglpin1   4", 377, 12),
)
CACHES = (
    Cache("dc_global_oids", 512_077, 104, 61),
    Cache("dc_histogram_data", 1_204_881, 9_114, 410),
    Cache("dc_histogram_defs", 911_420, 7_044, 2_288, modifications=41),
    Cache("dc_objects", 2_204_610, 6_120, 902, modifications=33, cluster=(1_204, 11, 402)),
    Cache("dc_props", 301_455, 61),
    Cache("dc_rollback_segments", 611_204, 188, cluster=(12, 0, 3)),
    Cache("dc_segments", 402_118, 4_377, 318, modifications=119),
    Cache("dc_sequences", 20_411, 91, 12, modifications=20_377),
    Cache("dc_tablespaces", 1_811_306, 31),
    Cache("dc_users", 2_911_377, 240, 3, 4_204, 2, 0, (402, 1, 20)),
)
FOREGROUND = (
    Wait("db file sequential read", 2_204_118, 6_120.4, wait_class="User I/O"),
    Wait("log file sync", 611_377, 911.2, wait_class="Commit"),
    Wait("db file scattered read", 88_204, 402.6, wait_class="User I/O"),
    Wait("enq: TX - row lock contention", 1_204, 118.4, 61, "Application"),
    Wait("latch: cache buffers chains", 1_204, 6.1, wait_class="Concurrency"),
    Wait("latch: row cache objects", 98, 0.7, wait_class="Concurrency"),
    Wait("row cache lock", 61, 0.1, 2, "Concurrency"),
    Wait("cursor: pin S wait on X", 40, 1.2, wait_class="Concurrency"),
    Wait("SQL*Net message to client", 9_204_118, 8.8, wait_class="Network"),
)
BACKGROUND = (
    Wait("log file parallel write", 620_411, 402.2, wait_class="System I/O"),
    Wait("db file parallel write", 88_120, 61.3, wait_class="System I/O"),
    Wait("latch: row cache objects", 6, 0.0, wait_class="Concurrency"),
    Wait("rdbms ipc message", 40_211, 61_204.1, 20_100, "Idle"),
)
TIME_MODEL = {
    "sql execute elapsed time": 12_988.3,
    "DB CPU": 6_204.7,
    "parse time elapsed": 402.4,
    "hard parse elapsed time": 211.9,
    "connection management call elapsed time": 61.2,
    "sequence load elapsed time": 3.1,
    "failed parse elapsed time": 0.4,
}
ACTIVITY = {
    "execute count": 14_204_118,
    "logons cumulative": 3_611,
    "parse count (failures)": 204,
    "parse count (hard)": 11_377,
    "parse count (total)": 3_204_551,
    "recursive calls": 8_120_377,
    "session cursor cache hits": 2_911_204,
    "user calls": 10_377_412,
    "user commits": 611_204,
}
PARAMETERS = {
    "compatible": "11.2.0.4.0",
    "session_cached_cursors": "100",
    "undo_retention": "900",
}

ORDINARY = Interval(
    "ORDERS",
    "11.2.0.4.0",
    BEGIN,
    60.05,
    14_204.5,
    LATCHES,
    CACHES,
    FOREGROUND,
    BACKGROUND,
    SOURCES,
    MUTEXES,
    (),
    TIME_MODEL,
    ACTIVITY,
    _host(688_204, 5_076_596, (4, 5)),
    PARAMETERS,
)


def latch(told: Interval, one: Latch, sources: Iterable[Source] = ()) -> Interval:
    """The interval with other figures for one latch and its sleep places."""
    others = tuple(place for place in told.sources if place.latch != one.name)
    latches = tuple(one if old.name == one.name else old for old in told.latches)
    return replace(told, latches=latches, sources=(*others, *sources))


def caches(told: Interval, **changed: Cache) -> Interval:
    """The interval with other figures for some dictionary caches."""
    return replace(told, caches=tuple(changed.get(old.name, old) for old in told.caches))


def waits(told: Interval, *changed: Wait) -> Interval:
    """The interval with other totals for some foreground wait events, or with more events."""
    names = {wait.event for wait in changed}
    kept = tuple(wait for wait in told.foreground if wait.event not in names)
    return replace(told, foreground=(*kept, *changed))


def on_mutexes(told: Interval) -> Interval:
    """The interval as 12.2 and later show it: the row cache has mutexes and no latch."""
    return replace(
        told,
        latches=tuple(one for one in told.latches if one.name != "row cache objects"),
        sources=tuple(one for one in told.sources if one.latch != "row cache objects"),
        foreground=tuple(one for one in told.foreground if one.event != "latch: row cache objects"),
        background=tuple(one for one in told.background if one.event != "latch: row cache objects"),
    )


def slim(told: Interval) -> Interval:
    """The interval with the rows that matter and few others, for layouts that resemble one kept in full."""
    latches = (
        "row cache objects",
        "row cache enqueue latch",
        "shared pool",
        "cache buffers chains",
        "undo global data",
    )
    kept = (
        "dc_objects",
        "dc_props",
        "dc_rollback_segments",
        "dc_segments",
        "dc_users",
        "dc_usernames",
        "dc_tablespaces",
    )
    idle = ("db file scattered read", "SQL*Net message to client", "enq: TX - row lock contention")
    work = (
        "execute count",
        "logons cumulative",
        "parse count (hard)",
        "parse count (total)",
        "user calls",
        "user commits",
    )
    machine = ("BUSY_TIME", "IDLE_TIME", "LOAD", "NUM_CPUS", "VM_IN_BYTES")
    return replace(
        told,
        latches=tuple(one for one in told.latches if one.name in latches),
        sources=tuple(one for one in told.sources if one.latch.startswith("row cache")),
        caches=tuple(one for one in told.caches if one.name in kept),
        foreground=tuple(wait for wait in told.foreground if wait.event not in idle),
        background=told.background[:1],
        activity={stat: value for stat, value in told.activity.items() if stat in work},
        host={stat: value for stat, value in told.host.items() if stat in machine},
        parameters={},
    )
