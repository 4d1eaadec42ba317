"""v$rowcache: the dictionary caches themselves. Names repeat, so a row is known by cache#, type and subordinate#."""

from collectors.model import Collector, Column, ColumnKind

_COLUMNS_11_2 = """cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
                   modifications, dlm_requests, dlm_conflicts"""
"""What a verdict reads. Reports, and what older releases of latchscope captured, have the other columns as well."""

ROWCACHE = Collector(
    view="v$rowcache",
    about="one row per dictionary cache, parents and subordinates apart",
    columns=(
        Column("cache#", ColumnKind.KEY, "", "dictionary cache id, different from release to release"),
        Column("type", ColumnKind.KEY, "", "PARENT or SUBORDINATE"),
        Column("subordinate#", ColumnKind.KEY, "", "which subordinate, where the type is SUBORDINATE"),
        Column("parameter", ColumnKind.TEXT, "", "cache name; not unique"),
        Column("count", ColumnKind.GAUGE, "entries", "entries in the cache"),
        Column("usage", ColumnKind.GAUGE, "entries", "entries that hold valid data"),
        Column("fixed", ColumnKind.GAUGE, "entries", "fixed entries"),
        Column("gets", ColumnKind.COUNTER, "count", "requests, without those by the fast way"),
        Column(
            "fastgets",
            ColumnKind.COUNTER,
            "count",
            "requests by the fast way, 12.1 and later; none while `_kqr_optimistic_reads` is off",
        ),
        Column("getmisses", ColumnKind.COUNTER, "count", "requests that had to load the entry"),
        Column("scans", ColumnKind.COUNTER, "count", "scans of subordinate lists"),
        Column("scanmisses", ColumnKind.COUNTER, "count", "scans that missed"),
        Column("scancompletes", ColumnKind.COUNTER, "count", "scans that found the list complete"),
        Column("modifications", ColumnKind.COUNTER, "count", "inserts, updates and deletes of entries"),
        Column("flushes", ColumnKind.COUNTER, "count", "flushes to disk"),
        Column("dlm_requests", ColumnKind.COUNTER, "count", "cluster lock requests; not filled from 12.2 on"),
        Column("dlm_conflicts", ColumnKind.COUNTER, "count", "cluster lock conflicts; not filled from 12.2 on"),
        Column("dlm_releases", ColumnKind.COUNTER, "count", "cluster lock releases; not filled from 12.2 on"),
    ),
    statements={
        "11.2": f"select /* latchscope v$rowcache */ {_COLUMNS_11_2} from v$rowcache",
        "12.1": f"select /* latchscope v$rowcache */ {_COLUMNS_11_2}, fastgets from v$rowcache",
    },
    without="the names and the traffic of the dictionary caches: cannot tell which cache",
    granted_on="sys.v_$rowcache",
)
