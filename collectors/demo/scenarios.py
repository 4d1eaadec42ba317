"""Scripted databases for the demo and for tests: the ordinary day they share, then one after the other by name."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from collectors.demo.load import (
    Cache,
    Child,
    Scenario,
    ScriptedBlocker,
    ScriptedChange,
    ScriptedHang,
    ScriptedHolder,
    ScriptedLoad,
    ScriptedWaiters,
    ramp,
)
from collectors.model import ROW_CACHE_LOCK_EVENT, NamedRow


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Name → scenario of every one in this file, by name. Two with the same name are an error."""
    scripts: dict[str, Scenario] = {}
    for value in list(globals().values()):
        if isinstance(value, Scenario) and scripts.setdefault(value.name, value) is not value:
            raise ValueError(f"there is a second scenario named {value.name}")
    return dict(sorted(scripts.items()))


# The row caches of the scripted instances. Each script decides which child guards which cache, as each real instance
# does.

# Background work gives every cache a few gets, each at its own rate.
RELEASE_11_2 = (
    Cache(1, 3, "dc_rollback_segments", entries=96, extra_gets=41),
    Cache(2, 1, "dc_free_extents", entries=0),
    Cache(3, 4, "dc_used_extents", entries=0),
    Cache(4, 2, "dc_segments", entries=2310, extra_gets=9),
    Cache(5, 0, "dc_tablespaces", entries=41, extra_gets=23),
    Cache(6, 5, "dc_tablespace_quotas", entries=3),
    Cache(7, 6, "dc_files", entries=118, extra_gets=0.2),
    Cache(8, 10, "dc_users", entries=214, extra_gets=13),
    Cache(8, 7, "dc_users", "SUBORDINATE", 0, entries=120),
    Cache(8, 7, "dc_users", "SUBORDINATE", 1, entries=12),
    Cache(8, 7, "dc_users", "SUBORDINATE", 2, entries=0),
    Cache(9, 8, "dc_objects", entries=5120, extra_gets=17),
    Cache(9, 8, "dc_object_grants", "SUBORDINATE", 0, entries=340, extra_gets=5),
    Cache(10, 17, "dc_global_oids", entries=60, extra_gets=0.4),
    Cache(11, 12, "dc_constraints", entries=90, extra_gets=0.1),
    Cache(12, 13, "dc_sequences", entries=44, extra_gets=0.7),
    Cache(13, 16, "dc_histogram_defs", entries=7810, extra_gets=11),
    Cache(13, 16, "dc_histogram_data", "SUBORDINATE", 0, entries=2400, extra_gets=7),
    Cache(13, 16, "dc_histogram_data", "SUBORDINATE", 1, entries=600),
    Cache(15, 19, "dc_table_scns", entries=2, extra_gets=0.05),
    Cache(15, 19, "dc_partition_scns", "SUBORDINATE", 0, entries=0),
    Cache(17, 14, "dc_profiles", entries=4, extra_gets=1.9),
    Cache(32, 15, "global database name", entries=1, extra_gets=3.1),
    Cache(46, 24, "outstanding_alerts", entries=18, extra_gets=0.03),
    Cache(47, 22, "dc_awr_control", entries=1, extra_gets=0.02),
)

RELEASE_12_1 = (
    *(cache for cache in RELEASE_11_2 if cache.name != "global database name"),
    Cache(18, 15, "dc_props", entries=61, extra_gets=3.1),
    Cache(52, 54, "dc_cdbprops", entries=2, extra_gets=0.2),
)

RELEASE_19 = (
    *(cache for cache in RELEASE_12_1 if cache.cache not in (13,)),
    Cache(12, 13, "dc_sequences", entries=51, extra_gets=0.7),
    Cache(53, 56, "dc_realtime_colst", entries=120, extra_gets=0.6),
    Cache(54, 57, "dc_realtime_tabst", entries=40, extra_gets=0.5),
)


# The ordinary day that every scripted instance comes from: a few thousand executions a second, nobody waits for long.

ORDINARY = ScriptedLoad(
    gets={
        "dc_users": 2600,
        "dc_tablespaces": 1900,
        "dc_objects": 1150,
        "dc_segments": 420,
        "dc_histogram_defs": 640,
        "dc_histogram_data": 260,
        "dc_rollback_segments": 310,
        "dc_global_oids": 8,
        "dc_sequences": 6,
        "dc_profiles": 4,
        "dc_props": 90,
        "global database name": 70,
    },
    modifications={"dc_sequences": 6, "dc_segments": 0.3, "dc_objects": 0.1},
    children={8: Child(sleeps=0.35), 5: Child(sleeps=0.12), 9: Child(sleeps=0.1), 13: Child(sleeps=0.06)},
    holders={"kqreqd: reget": 0.74, "kqrpre: find obj": 0.15, "kqreqd": 0.06, "kqrso": 0.05},
    waiters={"kqrpre: find obj": 0.82, "kqreqd": 0.09, "kqreqd: reget": 0.05, "kqrso": 0.04},
    events={"library cache: mutex X": (3.0, 0.002), "cursor: pin S wait on X": (0.2, 0.001)},
    seconds={
        "DB time": 5.2,
        "DB CPU": 3.4,
        "parse time elapsed": 0.21,
        "hard parse elapsed time": 0.12,
        "failed parse elapsed time": 0.002,
        "connection management call elapsed time": 0.01,
        "sequence load elapsed time": 0.003,
    },
    statistics={
        "parse count (total)": 850,
        "parse count (hard)": 6,
        "parse count (failures)": 0.1,
        "execute count": 4200,
        "logons cumulative": 1.4,
        "user calls": 2900,
        "user commits": 210,
        "user rollbacks": 2,
        "recursive calls": 1500,
        "session cursor cache hits": 610,
    },
    latches={
        "shared pool": (5200, 0.2, 0.0003),
        "redo allocation": (2300, 0.05, 0.0001),
        "Result Cache: RC Latch": (120, 0.0, 0.0),
    },
)


# ads-result-cache: 12.1, adaptive dynamic sampling keeps its answers in the result cache and floods its one latch.

FLOODED = replace(
    ORDINARY,
    latches={
        **ORDINARY.latches,
        "Result Cache: RC Latch": (88000, 3100, 8.6),
    },
    result_cache_places={
        "Result Cache: Serialization12": 0.71,
        "Result Cache: Serialization01": 0.22,
        "Result Cache: Serialization29": 0.07,
    },
    events={
        **ORDINARY.events,
        "latch free": (3100, 8.6),
        "enq: RC - Result Cache: Contention": (40, 0.6),
    },
    seconds={
        **ORDINARY.seconds,
        "DB time": 29.0,
        "DB CPU": 14.2,
        "parse time elapsed": 7.4,
        "hard parse elapsed time": 6.3,
    },
    statistics={**ORDINARY.statistics, "parse count (hard)": 74},
    waiting=(
        ScriptedWaiters("latch free", 6.9, None, "0y080mnfqzaq7", "REPORTS", "reports@app", "REPORTS", p2=461),
        ScriptedWaiters("latch free", 1.6, None, "5h7w8ykwtb2xt", "ORDERS", "orders@app", "ORDERS", p2=461),
    ),
    busy=0.69,
)

ADS_RESULT_CACHE = Scenario(
    name="ads-result-cache",
    release="12.1.0.2.0",
    about="dynamic statistics in the result cache: a flood on its single latch, seen as latch free",
    caches=RELEASE_12_1,
    ordinary=ORDINARY,
    loop=((300, FLOODED),),
    past=((720, FLOODED),),
    latch=411,
    parameters={"optimizer_adaptive_features": "TRUE", "result_cache_mode": "MANUAL"},
)


# busy-but-fine: 11.2, so many look-ups that half the gets of one child miss, and yet nobody sleeps: spinning is enough.

COLLIDING = replace(
    ORDINARY,
    gets={**ORDINARY.gets, "dc_users": 61000, "dc_objects": 9400},
    children={
        8: Child(miss_ratio=0.63, sleeps=1.1, sleep_us=60),
        9: Child(miss_ratio=0.11, sleeps=0.2, sleep_us=60),
        5: Child(miss_ratio=0.001, sleeps=0.05),
    },
    seconds={**ORDINARY.seconds, "DB time": 11.4, "DB CPU": 10.3},
    statistics={**ORDINARY.statistics, "execute count": 31000, "parse count (total)": 15400},
    busy=0.62,
)

BUSY_BUT_FINE = Scenario(
    name="busy-but-fine",
    release="11.2.0.4.0",
    about="half of all gets miss and nobody sleeps: collisions that spinning absorbs",
    caches=RELEASE_11_2,
    ordinary=ORDINARY,
    loop=((300, COLLIDING),),
    past=((3600, COLLIDING),),
    latch=280,
)


# users-mutex: 19c, an application that logs on for every request; dc_users is looked up under mutexes, not latches.

QUIET = {
    "[19] kqrpre": (0.03, 0.00004),
    "[10] kqreqd": (0.02, 0.00002),
    "[06] kqrGetClusterLock": (0.01, 0.00001),
}
FAST = {"dc_users": 0.934, "dc_tablespaces": 0.922, "dc_segments": 0.626}
"""Share of the look-ups by the fast way, as published for a 19c instance (F. Hoogland, March 2020)."""
ORDINARY_19 = replace(
    ORDINARY,
    children={},
    holders={},
    waiters={},
    mutexes=QUIET,
    gets={
        **{name: asked * (1 - FAST.get(name, 0.0)) for name, asked in ORDINARY.gets.items()},
        "global database name": 0,
    },
    fastgets={name: ORDINARY.gets[name] * share for name, share in FAST.items()},
)

LOGON_STORM: ScriptedLoad = replace(
    ORDINARY_19,
    gets={**ORDINARY_19.gets, "dc_users": 21500, "dc_profiles": 610, "dc_props": 1450, "dc_objects": 2600},
    mutexes={
        "[19] kqrpre": (2350, 7.9),
        "[10] kqreqd": (310, 0.9),
        "[06] kqrGetClusterLock": (22, 0.03),
        "[32] kqrsfd": (14, 0.01),
    },
    events={**ORDINARY.events, "row cache lock": (2.0, 0.01), "library cache: mutex X": (25.0, 0.05)},
    seconds={
        **ORDINARY.seconds,
        "DB time": 38.0,
        "DB CPU": 17.5,
        "connection management call elapsed time": 9.6,
        "parse time elapsed": 2.2,
        "hard parse elapsed time": 0.3,
    },
    statistics={**ORDINARY.statistics, "logons cumulative": 205, "execute count": 9900},
    waiting=(
        ScriptedWaiters(
            "row cache mutex", 6.1, "dc_users", None, "JDBC Thin Client", "JDBC Thin Client", "WEBSHOP", p2=19
        ),
        ScriptedWaiters(
            "row cache mutex", 1.7, "dc_users", "9babjv8yq8ru3", "orders", "JDBC Thin Client", "WEBSHOP", p2=19
        ),
        ScriptedWaiters(
            "row cache mutex", 0.6, "dc_objects", "3nkd3g3ju5ph1", "orders", "JDBC Thin Client", "WEBSHOP", p2=10
        ),
    ),
    busy=0.78,
)

USERS_MUTEX = Scenario(
    name="users-mutex",
    release="19.0.0.0.0",
    about="a logon for every request: dc_users under row cache mutexes",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, LOGON_STORM),),
    past=((3600, LOGON_STORM),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
)


# ddl-hang: 19c on an ordinary day, until one DDL holds the entry of a hot table for a minute and everybody waits for
# it.
#
# No wait ends while the DDL holds the entry, so v$system_event does not move. Only a look at v$session shows the hang.

BEGIN, END = 60.0, 135.0
ENTRY = "5D00000006004F5244455253"
"""Owner 93 in four bytes, the length of the name in two, ORDERS: the way a public script reads keys of dc_objects."""

DEPLOYMENT = ScriptedBlocker(
    sid=312,
    serial=48211,
    username="DEPLOY",
    program="sqlplus@build7 (TNS V1-V3)",
    module="release 4.2",
    sql_id="5ms6rbzdnq16t",
    machine="build7",
)

DDL_HANG = Scenario(
    name="ddl-hang",
    release="19.0.0.0.0",
    about="a DDL holds an entry of dc_objects for a minute, and everybody hangs behind it",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, ORDINARY_19),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
    hangs=(
        ScriptedHang(
            begin=BEGIN,
            end=END,
            event=ROW_CACHE_LOCK_EVENT,
            cache="dc_objects",
            sessions=38,
            arriving=12.0,
            holder=DEPLOYMENT,
            sql_id="8f1bq6zr4r6ps",
            module="orders",
            program="JDBC Thin Client",
            username="WEBSHOP",
            key=ENTRY,
        ),
    ),
    changes=(
        ScriptedChange(35, "dba_scheduler_job_run_details", {"owner": "WEBSHOP", "job_name": "SEND_MAIL"}),
        ScriptedChange(
            END,
            "dba_objects",
            {"owner": "WEBSHOP", "object_name": "ORDERS", "object_type": "TABLE", "is_new": "NO"},
        ),
    ),
)


# healthy-19c: 19c on an ordinary day; the row cache latch is silent because mutexes do its work, and they are quiet.

HEALTHY_19C = Scenario(
    name="healthy-19c",
    release="19.0.0.0.0",
    about="an ordinary day: nothing to say",
    caches=RELEASE_19,
    ordinary=ORDINARY_19,
    loop=((300, ORDINARY_19),),
    events=("latch: row cache objects", "row cache mutex", "row cache lock", "latch free"),
    mutexes=True,
)


# nocache-sequence-1 and -2: an 11.2 RAC pair that numbers orders from a sequence without a cache.
#
# Every nextval changes the dictionary and fights for the entry across both instances: row cache lock, not the latch.

SMALL = "select count(*) from dba_sequences where cache_size < 20 and sequence_owner not in ('SYS', 'SYSTEM')"
BUSIEST = (
    "select sequence_owner, sequence_name, cache_size, order_flag, last_number from dba_sequences where cache_size < 20 "
    "and sequence_owner not in ('SYS', 'SYSTEM') order by last_number desc"
)
"""The confirming query of sequence-nocache and the query that names what it counted. A test checks both against the cause."""

NUMBERING = replace(
    ORDINARY,
    gets={**ORDINARY.gets, "dc_sequences": 410},
    modifications={"dc_sequences": 409},
    cluster_locks={"dc_sequences": (820, 21), "dc_objects": (40, 0.2), "dc_segments": (25, 0.1)},
    children={8: Child(sleeps=0.4), 12: Child(miss_ratio=0.002, sleeps=0.9), 5: Child(sleeps=0.1)},
    events={**ORDINARY.events, "row cache lock": (395, 5.4), "enq: SQ - contention": (3.0, 0.02)},
    seconds={**ORDINARY.seconds, "DB time": 16.5, "DB CPU": 5.1, "sequence load elapsed time": 5.6},
    statistics={**ORDINARY.statistics, "user commits": 420},
    waiting=(
        ScriptedWaiters(
            "row cache lock", 4.6, "dc_sequences", "4m7m0t6fjcs5x", "ORDERS", "orders@app", "ORDERS", p3=5, blocker=312
        ),
        ScriptedWaiters(
            "row cache lock", 0.8, "dc_sequences", "7nuw4xwrnuwxq", "BILLING", "billing@app", "BILLING", p3=5
        ),
    ),
    busy=0.44,
    answers={SMALL: 3},
    names={
        BUSIEST: tuple(
            {"sequence_owner": of, "sequence_name": name, "cache_size": cache, "order_flag": "N", "last_number": last}
            for of, name, cache, last in (
                ("ORDERS", "ORDER_NUMBER", 0.0, 48211906.0),
                ("BILLING", "INVOICE_NUMBER", 0.0, 611204.0),
                ("ORDERS", "RETURN_NUMBER", 2.0, 40117.0),
            )
        )
    },
)


def _instance(number: int) -> Scenario:
    return Scenario(
        name=f"nocache-sequence-{number}",
        release="11.2.0.4.0",
        about="a sequence without a cache on both instances of a RAC pair: row cache lock on dc_sequences",
        caches=RELEASE_11_2,
        ordinary=ORDINARY,
        loop=((300, NUMBERING),),
        past=((3000, NUMBERING),),
        cluster="nocache-sequence",
        instance=number,
    )


FIRST = _instance(1)
SECOND = _instance(2)


# parse-storm: 12.1, literals everywhere; hard parsing reads the dictionary, and the row cache is dragged along.

LITERALS = (
    "select count(*) from (select force_matching_signature from v$sqlstats where force_matching_signature > 0 group by "
    "force_matching_signature having count(*) > 50)"
)
FAMILIES = (
    "select max(sql_id) as sql_id, count(*) as statements from v$sqlstats where force_matching_signature > 0 group by "
    "force_matching_signature having count(*) > 50 order by 2 desc"
)
"""The confirming query of hard-parse-storm and the query that names what it counted. A test checks both against the cause."""

PARSING = replace(
    ORDINARY,
    gets={
        **ORDINARY.gets,
        "dc_histogram_data": 24000,
        "dc_objects": 9300,
        "dc_histogram_defs": 7900,
        "dc_users": 8600,
        "dc_segments": 5100,
    },
    getmiss_ratio=0.0015,
    children={
        13: Child(miss_ratio=0.012, sleeps=150, sleep_us=2100),
        9: Child(miss_ratio=0.009, sleeps=95, sleep_us=2200),
        8: Child(miss_ratio=0.008, sleeps=70, sleep_us=2000),
        4: Child(miss_ratio=0.004, sleeps=30, sleep_us=1900),
        5: Child(miss_ratio=0.001, sleeps=3),
    },
    holders={"kqreqd: reget": 0.40, "kqrpre: find obj": 0.24, "kqrso": 0.29, "kqreqd": 0.07},
    waiters={"kqrpre: find obj": 0.56, "kqrso": 0.33, "kqreqd": 0.08, "kqreqd: reget": 0.03},
    events={
        "library cache: mutex X": (2100, 16.4),
        "cursor: pin S wait on X": (310, 10.2),
        "latch: shared pool": (870, 4.1),
        "library cache lock": (12, 0.4),
    },
    seconds={
        **ORDINARY.seconds,
        "DB time": 49.0,
        "DB CPU": 13.2,
        "parse time elapsed": 41.0,
        "hard parse elapsed time": 23.4,
        "failed parse elapsed time": 0.3,
    },
    statistics={**ORDINARY.statistics, "parse count (total)": 3900, "parse count (hard)": 310, "execute count": 4600},
    latches={
        **ORDINARY.latches,
        "shared pool": (91000, 870, 4.1),
        "redo allocation": (2600, 0.3, 0.0005),
    },
    busy=0.83,
    answers={LITERALS: 214},
    names={
        FAMILIES: (
            {"sql_id": "gx0d8ku3vq7mz", "statements": 18210.0},
            {"sql_id": "fz61mq0ts2c9h", "statements": 6044.0},
            {"sql_id": "dkhr4wx7n5b1y", "statements": 911.0},
        )
    },
)

PARSE_STORM = Scenario(
    name="parse-storm",
    release="12.1.0.2.0",
    about="literals instead of bind variables: parsing is the cause, the row cache its victim",
    caches=RELEASE_12_1,
    ordinary=ORDINARY,
    loop=((300, PARSING),),
    past=((1500, PARSING),),
    past_marks=((1500, "shop 8.1 deployed: reports are built without bind variables"),),
    latch=411,
    parameters={"cursor_sharing": "EXACT", "session_cached_cursors": "50"},
    container=(1, "CDB$ROOT"),
)


# undo-storm: 11.2, thousands of undo segments left behind by a batch; look-ups of one cache walk a long list.
#
# After twenty healthy seconds a parallel load begins to hammer dc_rollback_segments. Two minutes in, somebody recreates
# the undo tablespace: most of the contention goes, some of it stays. The same happened within the hour before, over
# many minutes.

RECREATES = "undo tablespace recreated: 112 undo segments instead of 14,838"
LEFT_BEHIND = {"dc_rollback_segments": 14600}
RECREATED = {"dc_rollback_segments": 112}

SEGMENTS = "select count(*) from dba_rollback_segs"
BY_TABLESPACE = (
    "select tablespace_name, status, count(*) as segments from dba_rollback_segs group by tablespace_name, status "
    "order by 3 desc"
)
"""The confirming query of undo-segments and the query that names what it counted. A test checks both against the cause."""
LEFT: Mapping[str, tuple[NamedRow, ...]] = {
    BY_TABLESPACE: (
        {"tablespace_name": "UNDOTBS1", "status": "OFFLINE", "segments": 14645.0},
        {"tablespace_name": "UNDOTBS1", "status": "ONLINE", "segments": 192.0},
        {"tablespace_name": "SYSTEM", "status": "ONLINE", "segments": 1.0},
    )
}

HEALTHY = replace(ORDINARY, usage=LEFT_BEHIND, answers={SEGMENTS: 14838}, names=LEFT)

STORM = replace(
    ORDINARY,
    usage=LEFT_BEHIND,
    gets={**ORDINARY.gets, "dc_rollback_segments": 26500, "dc_tablespaces": 6900},
    children={
        1: Child(miss_ratio=0.21, sleeps=5200, sleep_us=1900),
        5: Child(miss_ratio=0.002, sleeps=0.6),
        8: Child(sleeps=0.3),
        4: Child(sleeps=0.1),
    },
    holders={"kqrpre: find obj": 0.851, "kqreqd: reget": 0.106, "kqreqd": 0.042, "kqrpup": 0.001},
    waiters={"kqrpre: find obj": 0.41, "kqreqd: reget": 0.33, "kqreqd": 0.26},
    seconds={**ORDINARY.seconds, "DB time": 31.0, "DB CPU": 12.5},
    statistics={**ORDINARY.statistics, "user commits": 1900, "execute count": 9400},
    busy=0.71,
    max_concurrency=190,
    waiting=(
        ScriptedWaiters(
            "latch: row cache objects", 7.4, "dc_rollback_segments", "g7w5kz3h1rq2m", "LOAD", "loader@etl", "ETL"
        ),
        ScriptedWaiters(
            "latch: row cache objects", 2.4, "dc_rollback_segments", "1fsr0z9bn4v6t", "LOAD", "loader@etl", "ETL"
        ),
    ),
    holding=(
        ScriptedHolder(611, 1, 0.52, "g7w5kz3h1rq2m", "LOAD", "loader@etl", "ETL", microseconds=620.0),
        ScriptedHolder(618, 1, 0.21, "1fsr0z9bn4v6t", "LOAD", "loader@etl", "ETL"),
    ),
    answers={SEGMENTS: 14838},
    names=LEFT,
)

RELIEVED = replace(
    STORM,
    usage=RECREATED,
    children={
        1: Child(miss_ratio=0.006, sleeps=38, sleep_us=700),
        5: Child(miss_ratio=0.002, sleeps=0.6),
        8: Child(sleeps=0.3),
        4: Child(sleeps=0.1),
    },
    holders={"kqreqd: reget": 0.61, "kqrpre: find obj": 0.27, "kqreqd": 0.12},
    waiters={"kqrpre: find obj": 0.78, "kqreqd: reget": 0.13, "kqreqd": 0.09},
    seconds={**ORDINARY.seconds, "DB time": 20.5, "DB CPU": 13.1},
    busy=0.74,
    waiting=(),
    holding=(),
    answers={SEGMENTS: 112},
    names={},
)

UNDO_STORM = Scenario(
    name="undo-storm",
    release="11.2.0.4.0",
    about="thousands of undo segments: dc_rollback_segments behind a long search, then the undo tablespace is recreated",
    caches=RELEASE_11_2,
    ordinary=ORDINARY,
    loop=(
        (20, HEALTHY),
        *ramp(HEALTHY, STORM, 15),
        (105, STORM),
        *ramp(STORM, RELIEVED, 15),
        (120, RELIEVED),
        *ramp(RELIEVED, HEALTHY, 5),
    ),
    marks=((140, RECREATES),),
    past=(
        (840, HEALTHY),
        *ramp(HEALTHY, STORM, 120),
        (870, STORM),
        *ramp(STORM, RELIEVED, 60),
        (990, RELIEVED),
        *ramp(RELIEVED, HEALTHY, 60),
        (660, HEALTHY),
    ),
    past_marks=((1770, RECREATES),),
    parameters={"undo_management": "AUTO", "undo_tablespace": "UNDOTBS1", "undo_retention": "900"},
    changes=(
        ScriptedChange(5, "dba_optstat_operations", {"operation": "gather_table_stats", "target": "SALES.CUSTOMERS"}),
        ScriptedChange(
            16,
            "dba_objects",
            {"owner": "ETL", "object_name": "STAGE_ORDERS", "object_type": "TABLE", "is_new": "NO"},
        ),
        ScriptedChange(140, "v$parameter", {"name": "undo_tablespace", "value": "UNDOTBS{}"}),
    ),
)
