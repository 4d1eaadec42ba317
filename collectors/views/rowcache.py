"""v$rowcache: the dictionary caches themselves. Names repeat, so a row is known by cache#, type and subordinate#."""

from collectors.model import Collector, Column, Kind

_COLUMNS_11_2 = """cache#, type, subordinate#, parameter, count, usage, fixed, gets, getmisses,
                   scans, scanmisses, scancompletes, modifications, flushes,
                   dlm_requests, dlm_conflicts, dlm_releases"""

ROWCACHE = Collector(
    view="v$rowcache",
    about="one row per dictionary cache, parents and subordinates apart",
    columns=(
        Column("cache#", Kind.KEY, "", "dictionary cache id, different from release to release"),
        Column("type", Kind.KEY, "", "PARENT or SUBORDINATE"),
        Column("subordinate#", Kind.KEY, "", "which subordinate, where the type is SUBORDINATE"),
        Column("parameter", Kind.TEXT, "", "cache name; not unique"),
        Column("count", Kind.GAUGE, "entries", "entries in the cache"),
        Column("usage", Kind.GAUGE, "entries", "entries that hold valid data"),
        Column("fixed", Kind.GAUGE, "entries", "fixed entries"),
        Column("gets", Kind.COUNTER, "count", "requests"),
        Column("fastgets", Kind.COUNTER, "count", "12.1 and later; reserved by Oracle"),
        Column("getmisses", Kind.COUNTER, "count", "requests that had to load the entry"),
        Column("scans", Kind.COUNTER, "count", "scans of subordinate lists"),
        Column("scanmisses", Kind.COUNTER, "count", "scans that missed"),
        Column("scancompletes", Kind.COUNTER, "count", "scans that found the list complete"),
        Column("modifications", Kind.COUNTER, "count", "inserts, updates and deletes of entries"),
        Column("flushes", Kind.COUNTER, "count", "flushes to disk"),
        Column("dlm_requests", Kind.COUNTER, "count", "cluster lock requests; not filled from 12.2 on"),
        Column("dlm_conflicts", Kind.COUNTER, "count", "cluster lock conflicts; not filled from 12.2 on"),
        Column("dlm_releases", Kind.COUNTER, "count", "cluster lock releases; not filled from 12.2 on"),
    ),
    statements={
        "11.2": f"select /* latchscope v$rowcache */ {_COLUMNS_11_2} from v$rowcache",
        "12.1": f"select /* latchscope v$rowcache */ {_COLUMNS_11_2}, fastgets from v$rowcache",
    },
    without="the names and the traffic of the dictionary caches: cannot tell which cache",
    granted_on="sys.v_$rowcache",
    after=("v$instance",),
)
