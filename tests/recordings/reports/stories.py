"""The stories of the reports: troubles of the row cache, a healthy hour, an idle one, a restart, a day that turns."""

from dataclasses import replace
from datetime import datetime, timedelta

from .interval import Cache, Child, Interval, Latch, Mutex, Source, Wait
from .ordinary import ACTIVITY, ORDINARY, TIME_MODEL, caches, latch, on_mutexes, waits

ROW_CACHE = "row cache objects"


def undo_storm() -> Interval:
    """Undo segments: their cache has most gets, five sleeps of six are in searches, the latch costs 15 % of DB time."""
    told = replace(ORDINARY, db_time=41_204.8, time_model={**TIME_MODEL, "sql execute elapsed time": 39_120.6})
    told = latch(
        told,
        Latch(ROW_CACHE, 92_418_306, 2_104_377, 1_018_204, 1_171_590, 6_340.2, 2_204, 40),
        (
            Source(ROW_CACHE, "kqrpre: find obj", 865_477, 930_117),
            Source(ROW_CACHE, "kqreqd: reget", 110_310, 7_310),
            Source(ROW_CACHE, "kqreqd", 28_211, 74_452),
            Source(ROW_CACHE, "kqrso", 12_902, 4_125),
            Source(ROW_CACHE, "kqrpre: init complete", 1_304, 2_200),
        ),
    )
    told = waits(told, Wait("latch: row cache objects", 1_007_411, 6_312.6, wait_class="Concurrency"))
    return caches(told, dc_rollback_segments=Cache("dc_rollback_segments", 24_120_443, 12_911))


def undo_storm_on_9i() -> Interval:
    """The same on 9.2, which has neither DB time nor a separate event for the latch."""
    told = undo_storm().on("9.2.0.6.0", time_model={}, host={}, mutexes=())
    kept = tuple(wait for wait in told.foreground if not wait.event.startswith(("latch:", "cursor:", "library cache:")))
    enqueue = Latch("row cache enqueue latch", 88_204_117, 61_204, 377, 60_831, 1.2)
    return replace(
        told,
        foreground=(*kept, Wait("latch free", 1_010_118, 6_331.4)),
        background=tuple(wait for wait in told.background if wait.event != "latch: row cache objects"),
        latches=(*told.latches, enqueue),
        sources=(*told.sources, Source(enqueue.name, "kqreqa", 210, 177), Source(enqueue.name, "kqreqd", 167, 200)),
        caches=(*told.caches, Cache("dc_usernames", 1_204, 40, scans=9_120_447)),
    )


def undo_storm_with_children() -> Interval:
    """The same, recorded at snapshot level 10, which prints each child latch."""
    quiet = tuple(Child(ROW_CACHE, n, 3_000_000 + 611 * n, 120 + n, 40 + n, 80) for n in range(1, 8))
    return replace(undo_storm(), children=(*quiet, Child(ROW_CACHE, 9, 71_401_198, 2_103_509, 1_017_896, 1_171_030)))


def users_mutex() -> Interval:
    """A logon storm on 19c: sessions wait for row cache mutexes in look-ups of dc_users."""
    told = on_mutexes(ORDINARY).on("19.0.0.0.0", db_time=21_704.2, parameters={"compatible": "19.0.0"})
    told = waits(told, Wait("row cache mutex", 498_204, 3_150.9, wait_class="Concurrency"))
    told = caches(told, dc_users=Cache("dc_users", 61_204_118, 4_120, 33), dc_props=Cache("dc_props", 9_204_377, 61))
    row_cache = (
        Mutex("Row Cache", "[19] kqrpre", 412_880, 2_941_300),
        Mutex("Row Cache", "[10] kqreqd", 88_412, 210_455),
        Mutex("Row Cache", "[14] kqrScan", 61, 4),
    )
    return replace(
        told,
        mutexes=(*row_cache, *told.mutexes),
        time_model={**TIME_MODEL, "connection management call elapsed time": 4_204.4},
        activity={**ACTIVITY, "logons cumulative": 402_118},
    )


def sequence() -> Interval:
    """A sequence without a cache: row cache lock takes 30 % of DB time, and fetching ranges a fifth."""
    told = replace(ORDINARY, db_time=9_811.3, time_model={**TIME_MODEL, "sequence load elapsed time": 1_911.6})
    told = waits(told, Wait("row cache lock", 1_204_377, 2_944.1, 12, "Concurrency"))
    told = caches(told, dc_sequences=Cache("dc_sequences", 4_411_204, 91, modifications=4_377_118))
    return replace(told, activity={**ACTIVITY, "execute count": 9_204_118})


def parse_storm() -> Interval:
    """Literals instead of binds: most of DB time is parsing, and the row cache has sleeps as a side effect."""
    told = ORDINARY.on("12.1.0.2.0", db_time=33_204.6, parameters={"compatible": "12.1.0.2.0"})
    told = latch(
        told,
        Latch(ROW_CACHE, 410_204_377, 1_611_204, 41_377, 1_571_118, 402.4, 5_815, 75),
        (
            Source(ROW_CACHE, "kqrso", 14_204, 13_611),
            Source(ROW_CACHE, "kqreqd: reget", 13_377, 402),
            Source(ROW_CACHE, "kqrpre: find obj", 11_204, 24_118),
            Source(ROW_CACHE, "kqreqd", 2_592, 3_246),
        ),
    )
    told = waits(
        told,
        Wait("latch: row cache objects", 40_811, 400.2, wait_class="Concurrency"),
        Wait("library cache: mutex X", 611_204, 3_204.8, wait_class="Concurrency"),
        Wait("cursor: pin S wait on X", 120_411, 2_911.4, wait_class="Concurrency"),
        Wait("latch: shared pool", 402_118, 2_204.3, wait_class="Concurrency"),
    )
    told = caches(
        told,
        dc_histogram_data=Cache("dc_histogram_data", 41_204_118, 14_377, 902),
        dc_histogram_defs=Cache("dc_histogram_defs", 38_120_447, 9_118, 811),
        dc_objects=Cache("dc_objects", 29_204_118, 8_204, 611),
        dc_users=Cache("dc_users", 31_204_377, 240),
    )
    parsing = {"parse time elapsed": 21_204.4, "hard parse elapsed time": 16_911.2}
    hard = {"parse count (hard)": 1_204_118, "parse count (total)": 2_911_377}
    return replace(told, time_model={**TIME_MODEL, **parsing}, activity={**ACTIVITY, **hard})


def healthy() -> Interval:
    """A busy hour in which the row cache costs nothing."""
    return ORDINARY.on("12.1.0.2.0", parameters={"compatible": "12.1.0.2.0"})


def idle() -> Interval:
    """An hour with next to no work."""
    told = on_mutexes(ORDINARY).on("19.0.0.0.0", database="SPARE", db_time=31.4, parameters={})
    share = 450
    return replace(
        told,
        latches=tuple(
            replace(
                one, gets=one.gets // share, misses=0, sleeps=0, spin_gets=0, seconds=0.0, nowait=0, nowait_misses=0
            )
            for one in told.latches
        ),
        sources=(),
        mutexes=(),
        caches=tuple(
            replace(one, gets=one.gets // share, misses=0, scans=0, scan_misses=0, modifications=0)
            for one in told.caches
        ),
        foreground=(Wait("db file sequential read", 1_204, 2.1, wait_class="User I/O"),),
        background=(Wait("log file parallel write", 2_044, 1.2, wait_class="System I/O"),),
        time_model={stat: seconds / share for stat, seconds in told.time_model.items()},
        activity={stat: value // share for stat, value in told.activity.items()},
    )


def restart() -> Interval:
    """The instance restarted between the snapshots, so every difference is meaningless."""
    return replace(undo_storm(), startup=ORDINARY.begin + timedelta(minutes=21))


def day() -> tuple[Interval, ...]:
    """Five hours of one database: quiet, quiet, and the storm of undo segments in the three that follow."""
    hours = []
    for hour in range(5):
        told = undo_storm() if hour >= 2 else ORDINARY
        begin = datetime(2025, 3, 13, 8 + hour, 0, 20)  # noqa: DTZ001 – local time of the host
        hours.append(replace(told, begin=begin, minutes=60.0, snaps=(4735 + hour, 4736 + hour)))
    return tuple(hours)
