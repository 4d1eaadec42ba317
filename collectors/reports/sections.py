"""v$system_event: waits of all processes, and of foreground sessions alone if the report prints them."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Reading, Row, Rows, Value
from collectors.registry import collectors
from collectors.reports.header import month_of
from collectors.reports.tables import ReportRow, ReportTables, count, decimals, in_doubt, micro
from collectors.views.system_event import ORDINARY_WAITS

# One function per view that a report can fill. `@section` declares it; what they share comes first.

Reader = Callable[[ReportTables], Reading]
"""Reads one view from a report. It gives Missing if the sections it needs are not printed."""
READERS: dict[str, Reader] = {}
"""View name → its reader, filled by `section`."""


class BadReader(Exception):
    """A reader of a view that no collector declares, or the second one of a view. It stops the start with an error."""


def section(view: str) -> Callable[[Reader], Reader]:
    """Declare a function as the reader of a view. Raises BadReader."""

    def declare(read: Reader) -> Reader:
        if view not in collectors():
            raise BadReader(f"{read.__name__} reads {view}, which no collector declares")
        if view in READERS:
            raise BadReader(f"{read.__name__} reads {view} a second time; keep one")
        READERS[view] = read
        return read

    return declare


@cache
def asked(view: str) -> tuple[str, ...]:
    """The names that our newest statement asks of a view. A reader ignores any others that a report prints."""
    statement = list(collectors()[view].statements.values())[-1]
    return tuple(re.findall(r"'([^']+)'", statement))


ANOTHER = "make the report again with all its sections, or diagnose what `latchscope script` writes"


def missing(view: str, title: str, way_out: str = ANOTHER) -> Missing:
    """A view whose section is not printed or is cut off."""
    return Missing(view, "unread", f"the report has no complete section {title}", way_out)


STRANGE = "make the report again from the database itself, or diagnose what `latchscope script` writes"


def strange(view: str, title: str) -> Missing:
    """A view whose section has rows, but under names that we do not know."""
    return Missing(view, "unread", f"the names in {title} are not those that Oracle gives", STRANGE)


MOST_NAMED = 5


def doubt(printed: ReportTables, title: str, names: Iterable[str]) -> None:
    """Note names that are unknown, not zero, because another name of the section may stand for them."""
    told = sorted(names)
    if told:
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        printed.notes[
            f"{title}: a name like {', '.join(told[:MOST_NAMED])}{more} is printed in a way that is not read, "
            "so its figures are unknown"
        ] = None


def added(values: Iterable[int | float | None]) -> int | float | None:
    """The sum. None if one of the values is unknown."""
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)


def known_cells(row: dict[str, Value]) -> Row:
    """The row without the columns of unknown value: absent, not NULL."""
    return {name: value for name, value in row.items() if value is not None}


# v$latch from Latch Activity (gets, wait time) and Latch Sleep Breakdown (misses, sleeps and spin gets, exact).

ACTIVITY, BREAKDOWN = "Latch Activity", "Latch Sleep Breakdown"
WAIT_NOTE = "wait_time of latches is printed in whole seconds, so 0 means less than half a second"
SLEEPS_NOTE = "a latch that Latch Sleep Breakdown does not list did not sleep; it lists only latches with sleeps"
MISSES_NOTE = "misses of a latch without sleeps are its gets times a rounded percentage"


@section("v$latch")
def latch(printed: ReportTables) -> Reading:
    """Latches we follow. Without a line in the breakdown a latch has zero sleeps; without the breakdown they are unknown."""
    activity = printed.section(ACTIVITY, summary="This table displays latch statistics")
    breakdown = printed.section(BREAKDOWN, summary="This table displays latch sleep statistics")
    if activity is None and breakdown is None:
        return missing("v$latch", ACTIVITY)
    active = _by_name(activity or ())
    if activity and not active:
        return strange("v$latch", ACTIVITY)
    unsure, slept = _doubtful(activity or ()), _doubtful(breakdown or ())
    doubt(printed, ACTIVITY, unsure)
    doubt(printed, BREAKDOWN, slept)
    rows: dict[str, dict[str, Value]] = {name: {"name": name} for name in sorted(unsure)}
    for name, records in active.items():
        rows[name] = {
            "name": name,
            "gets": added(record.count("getrequests") for record in records),
            "wait_time": added(record.micro("s", "waittimes") for record in records),
        }
        if breakdown is not None and name not in slept:
            rows[name] |= {"sleeps": 0, "misses": _few_misses(records)}
    for name, records in _by_name(breakdown or ()).items():
        rows[name] = rows.get(name, {"name": name}) | _exact(records)
    notes = (WAIT_NOTE, *((SLEEPS_NOTE, MISSES_NOTE) if breakdown is not None else ()))
    return Rows("v$latch", tuple(known_cells(row) for row in rows.values()), notes)


OTHER_LATCHES = (
    "cache buffers lru chain",
    "pdb enqueue hash chains",
    "Result Cache: MB Latch",
    "Result Cache: SO Latch",
)


def _doubtful(records: Iterable[ReportRow]) -> frozenset[str]:
    """Latches we follow that a strange name may stand for."""
    names = [record.name(asked("v$latch"), "latchname", "latch") for record in records]
    return in_doubt(asked("v$latch"), names, OTHER_LATCHES)


def _exact(records: list[ReportRow]) -> dict[str, Value]:
    columns = {"gets": "getrequests", "misses": "misses", "sleeps": "sleeps"}
    exact: dict[str, Value] = {
        column: added(record.count(heading) for record in records) for column, heading in columns.items()
    }
    return exact | {"spin_gets": added(_spin_gets(record) for record in records)}


def _spin_gets(row: ReportRow) -> int | float | None:
    """Spin gets; 9.2 prints them before the sleeps in one column: 60831/377/0/0/0."""
    together = row.text("spinsleeps14")
    return count(together.partition("/")[0]) if together else row.count("spingets")


def _few_misses(records: list[ReportRow]) -> Value:
    """Misses of a latch without sleeps, from the percentage. 0.0 % of many gets may still be some, so it is unknown."""
    found: list[int | float | None] = []
    for record in records:
        gets, percent = record.count("getrequests"), record.real("pctgetmiss")
        derived = round(gets * percent / 100) if gets and percent and 0 < percent <= 100 else None
        found.append(0 if gets == 0 else derived)
    return added(found)


def _by_name(records: Iterable[ReportRow]) -> dict[str, list[ReportRow]]:
    """The records of each latch we follow. There are several if a CDB report splits them by PDB."""
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        name = record.name(asked("v$latch"), "latchname", "latch")
        if name in asked("v$latch"):
            found.setdefault(name, []).append(record)
    return found


# v$latch_children from Child Latch Statistics, which is empty unless the snapshots were taken at a higher level.

LATCH_CHILDREN_TITLE = "Child Latch Statistics"
WHY = (
    "the report has no child latches of row cache objects: "
    "Child Latch Statistics is empty at the default statistics level"
)


@section("v$latch_children")
def latch_children(printed: ReportTables) -> Reading:
    """Children of the row cache latch, if the snapshots have them. Their wait time is not printed."""
    records = (
        printed.section(LATCH_CHILDREN_TITLE, "Child Latch", summary="This table displays child latch", wanted=False)
        or ()
    )
    rows = [
        _row(record) for record in records if record.name((ROW_CACHE_LATCH,), "latchname", "latch") == ROW_CACHE_LATCH
    ]
    if not rows:
        return Missing("v$latch_children", "unread", WHY, SCRIPT)
    return Rows("v$latch_children", tuple(known_cells(row) for row in rows if row["child#"] is not None))


def _row(row: ReportRow) -> dict[str, Value]:
    return {
        "child#": row.count("childnum", "child"),
        "gets": row.count("getrequests", "gets"),
        "misses": row.count("misses"),
        "sleeps": row.count("sleeps"),
        "spin_gets": row.count("spingets"),
    }


# v$latch_misses from Latch Miss Sources: where holders and waiters of the latches we follow were.

LATCH_MISSES_TITLE = "Latch Miss Sources"
LONG_LOCATIONS = ("kqrpre1: post after loading",)
"""Locations longer than the 26 characters of their column in a text report."""
LOCATIONS = ("kqreqa", "kqreqd", "kqreqd: reget", "kqrpre: find obj", "kqrpre: init complete", "kqrso", *LONG_LOCATIONS)
"""Where the row cache is held most. A name like one of them may be it."""


@section("v$latch_misses")
def latch_misses(printed: ReportTables) -> Reading:
    """Miss locations. A report lists only latches with sleeps, so ours may be absent."""
    records = printed.section(LATCH_MISSES_TITLE, summary="This table displays latch miss sources")
    if records is None:
        return missing("v$latch_misses", LATCH_MISSES_TITLE)
    unsure = _doubtful(records)
    doubt(printed, LATCH_MISSES_TITLE, unsure)
    if ROW_CACHE_LATCH in unsure:
        return strange("v$latch_misses", LATCH_MISSES_TITLE)
    found: dict[tuple[str, str], list[ReportRow]] = {}
    for record in records:
        latch = record.name(asked("v$latch_misses"), "latchname", "latch")
        if latch in asked("v$latch_misses"):
            found.setdefault((latch, record.name(LONG_LOCATIONS, "where")), []).append(record)
    rows = [known_cells(_latch_misses_row(key, ones)) for key, ones in found.items()]
    lost = in_doubt(LOCATIONS, [place for name, place in found if name == ROW_CACHE_LATCH])
    doubt(printed, LATCH_MISSES_TITLE, lost)
    rows += [{"parent_name": ROW_CACHE_LATCH, "location": place} for place in sorted(lost)]
    return Rows("v$latch_misses", tuple(rows))


def _latch_misses_row(key: tuple[str, str], records: list[ReportRow]) -> dict[str, Value]:
    return {
        "parent_name": key[0],
        "location": key[1],
        "nwfail_count": added(record.count("nowaitmisses") for record in records),
        "sleep_count": added(record.count("sleeps") for record in records),
        "wtr_slp_count": added(record.count("waitersleeps") for record in records),
    }


# v$mutex_sleep from Mutex Sleep Summary (AWR, milliseconds) or Mutex Sleep (Statspack, seconds).

MUTEX_SLEEP_TITLE = "Mutex Sleep Summary"
MUTEX_TYPES = ("Cursor Parent", "Cursor Pin", "Cursor Stat", "Library Cache", "hash table")
"""The types beside the row cache's."""


@section("v$mutex_sleep")
def mutex_sleep(printed: ReportTables) -> Reading:
    """Sleeps on row cache mutexes by location. An empty list means that no session slept."""
    records = printed.section(MUTEX_SLEEP_TITLE, "Mutex Sleep", summary="This table displays the mutex sleep summary")
    if records is None:
        return missing("v$mutex_sleep", MUTEX_SLEEP_TITLE)
    known = asked("v$mutex_sleep")
    types = [record.name(known, "mutextype") for record in records]
    misnamed = any(
        "kqr" in record.text("location") for name, record in zip(types, records, strict=True) if name not in known
    )
    if misnamed or in_doubt(known, types, MUTEX_TYPES):  # only the code of the row cache begins with kqr
        return strange("v$mutex_sleep", MUTEX_SLEEP_TITLE)
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        if record.name(known, "mutextype") in known:
            found.setdefault(record.name((), "location"), []).append(record)
    return Rows(
        "v$mutex_sleep", tuple(known_cells(_mutex_sleep_row(location, ones)) for location, ones in found.items())
    )


def _mutex_sleep_row(location: str, records: list[ReportRow]) -> dict[str, Value]:
    return {
        "mutex_type": records[0].name(asked("v$mutex_sleep"), "mutextype"),
        "location": location,
        "sleeps": added(record.count("sleeps") for record in records),
        "wait_time": added(_waited(record) for record in records),
    }


def _waited(row: ReportRow) -> int | None:
    if "waittimems" in row.cells:
        return row.micro("ms", "waittimems")
    return row.micro("us", "waittimeus") if "waittimeus" in row.cells else row.micro("s", "waittimes")


# v$osstat from Operating System Statistics: times and paging are printed as changes, the rest as levels.

OSSTAT_TITLE = "Operating System Statistics"
LEVELS = ("NUM_CPUS", "NUM_CPU_CORES", "LOAD", "PHYSICAL_MEMORY_BYTES", "SWAP_FREE_BYTES")


@section("v$osstat")
def osstat(printed: ReportTables) -> Reading:
    """Host statistics we follow. A level has its end value. The head gives the number of processors if the section does not."""
    records = printed.section(OSSTAT_TITLE, "OS Statistics", summary="This table displays operating systems statistics")
    rows = {
        name: _osstat_row(name, record)
        for record in records or ()
        if (name := record.name(asked("v$osstat"), "statistic", "statisticname")) in asked("v$osstat")
    }
    if printed.cpus is not None and "NUM_CPUS" not in rows:
        rows["NUM_CPUS"] = {"stat_name": "NUM_CPUS", "level_now": printed.cpus}
    if records is None and not rows:
        return missing("v$osstat", OSSTAT_TITLE)
    return Rows("v$osstat", tuple(row for row in rows.values() if len(row) > 1))


def _osstat_row(name: str, row: ReportRow) -> dict[str, Value]:
    value, end = row.count("value", "total", "valuecentiseconds"), row.count("endvalue")
    known = {"level_now": value if end is None else end} if name in LEVELS else {"total": value}
    return {"stat_name": name} | {column: cell for column, cell in known.items() if cell is not None}


# v$parameter from init.ora Parameters, which lists only changed settings.

PARAMETER_TITLE = "init.ora Parameters"
OTHERS = ("Modified Parameters", "init.ora Parameters Modified by this Container", "init.ora Parameters Multi-Valued")
NOTE = "a report lists only parameters that are not at their default"


@section("v$parameter")
def parameter(printed: ReportTables) -> Reading:
    """Settings we follow. The end value counts where it differs from the begin value."""
    records = printed.section(PARAMETER_TITLE, *OTHERS, summary="This table displays name and value of")
    if records is None:
        return missing("v$parameter", PARAMETER_TITLE)
    found: dict[str, str] = {}
    for record in records:
        name = record.name(asked("v$parameter"), "parametername", "parameter")
        value = record.text("endvalueifdifferent", "endvalue") or record.text("beginvalue", "value")
        if name in asked("v$parameter") and value:
            found.setdefault(name, value)
    printed_names = [record.name(asked("v$parameter"), "parametername", "parameter") for record in records]
    unsure = hidden_in_doubt(printed_names)
    doubt(printed, PARAMETER_TITLE, unsure)
    return Rows("v$parameter", settings(found, unsure), (NOTE,))


def hidden_in_doubt(printed: Iterable[str]) -> frozenset[str]:
    """Hidden parameters that a strange name may stand for. One that is not printed counts as not set."""
    return in_doubt([name for name in asked("v$parameter") if name.startswith("_")], printed)


def settings(found: Mapping[str, str], unsure: Iterable[str]) -> tuple[Row, ...]:
    """Rows of settings that are not at their default, and of those whose value is unknown, by name alone."""
    rows: list[Row] = [{"name": name, "value": value, "isdefault": "FALSE"} for name, value in found.items()]
    return (*rows, *({"name": name} for name in sorted(unsure)))


# v$rowcache from Dictionary Cache Stats, which sums parents and subordinates of one name and knows no cache numbers.

ROWCACHE_TITLE = "Dictionary Cache Stats"
MERGED_NOTE = "a report sums the parent and the subordinate caches of one name, and lists only caches with activity"
ROWCACHE_MISSES_NOTE = "getmisses and scanmisses are gets and scans times a percentage that is printed rounded"


CACHES = ("dc_awr_control", "dc_cdbprops", "dc_cdbservices", "dc_column_model_to_tab", "dc_constraints", "dc_files",
          "dc_free_extents", "dc_global_oids", "dc_histogram_data", "dc_histogram_defs", "dc_object_grants",
          "dc_object_ids", "dc_objects", "dc_partition_scns", "dc_pdbstates", "dc_profiles", "dc_props",
          "dc_realtime_colst", "dc_realtime_tabst", "dc_rollback_segments", "dc_segments", "dc_sequences",
          "dc_statistics_status", "dc_table_scns", "dc_tablespace_quotas", "dc_tablespaces", "dc_used_extents",
          "dc_usernames", "dc_users", "global database name", "outstanding_alerts", "sch_lj_objs",
          "sch_lj_oids")  # fmt: skip
"""Names of dictionary caches, only to tell a strange name from theirs. A report may print any other."""
OTHER_CACHES = ("dc_", "qm", "sch_", "rule", "realm", "command rule", "factor", "dv ", "smo ", "triton ", "extensible ", "xs ",
                "event map", "format", "kqlsubheap", "outstanding", "global", "metadata")  # fmt: skip
"""How the names of caches begin, in lower case, in the reports and views that we know."""


@section("v$rowcache")
def rowcache(printed: ReportTables) -> Reading:
    """Dictionary caches by name. Cluster counters where the report has a filled RAC section (up to 12.1)."""
    records = printed.section(
        ROWCACHE_TITLE,
        "Dictionary Cache Statistics",
        summary="This table displays dictionary cache statistics. Get requests",
    )
    if records is None:
        return missing("v$rowcache", ROWCACHE_TITLE)
    names = {record.name(CACHES, "cache") for record in records}
    if names and not names & set(CACHES):
        return strange("v$rowcache", ROWCACHE_TITLE)
    cluster = _cluster(printed)
    rows = [
        _rowcache_row(record, printed) | cluster.get(record.name(CACHES, "cache"), {})
        for record in records
        if record.text("cache")
    ]
    if any(name and not name.lower().startswith(OTHER_CACHES) for name in names):
        unsure = frozenset(CACHES) - names  # a name that is no cache's may have been any
    else:
        unsure = in_doubt(CACHES, names)
    doubt(printed, ROWCACHE_TITLE, unsure)
    rows += [{"parameter": name} for name in sorted(unsure)]
    return Rows("v$rowcache", tuple(known_cells(row) for row in rows), (MERGED_NOTE, ROWCACHE_MISSES_NOTE))


def _rowcache_row(row: ReportRow, printed: ReportTables) -> dict[str, Value]:
    gets, scans = row.count("getrequests"), row.count("scanreqs", "scanrequests")
    return {
        "parameter": row.name(CACHES, "cache"),
        "usage": row.count("finalusage"),
        "gets": gets,
        "getmisses": _share(gets, row, "pctmiss", printed),
        "scans": scans,
        "scanmisses": _share(scans, row, "pctmiss#2", printed),
        "modifications": row.count("modreqs", "modrequests"),
    }


def _share(whole: int | float | None, row: ReportRow, heading: str, printed: ReportTables) -> int | None:
    """The whole times the printed percentage. Zero of zero; unknown if the percentage cannot be right."""
    if whole == 0:
        return 0
    percent = row.real(heading)
    if percent is not None and not 0 <= percent <= 100:
        note = f"{ROWCACHE_TITLE}: {percent:g} % misses of {row.text('cache')} cannot be right and is not used"
        printed.notes[note] = None
        return None
    return None if whole is None or whole < 0 or percent is None else round(whole * percent / 100)


def _cluster(printed: ReportTables) -> dict[str, dict[str, Value]]:
    summary = "This table displays dictionary cache statistics. Ges requests"
    records = printed.section(f"{ROWCACHE_TITLE} (RAC)", summary=summary, wanted=False) or ()
    return {
        record.name(CACHES, "cache"): {
            "dlm_requests": record.count("gesrequests"),
            "dlm_conflicts": record.count("gesconflicts"),
            "dlm_releases": record.count("gesreleases"),
        }
        for record in records
    }


# v$sga_resize_ops from Memory Resize Ops: whether the shared pool grew or shrank.

SGA_RESIZE_OPS_TITLE = "Memory Resize Ops"
MEGABYTE = 2**20
SHARED_POOL = ("shared", "shared pool")
OPERATIONS = {"GRO": "GROW", "SHR": "SHRINK"}


@section("v$sga_resize_ops")
def sga_resize_ops(printed: ReportTables) -> Reading:
    """Resizes of the shared pool within the interval. An empty section means none."""
    records = printed.section(SGA_RESIZE_OPS_TITLE, summary="This table displays memory resize ops", wanted=False)
    if records is None:
        return missing("v$sga_resize_ops", SGA_RESIZE_OPS_TITLE)
    components = [record.name(SHARED_POOL, "component") for record in records]
    rows = [
        _sga_resize_ops_row(record)
        for name, record in zip(components, records, strict=True)
        if name.startswith("shared")
    ]
    if (in_doubt(SHARED_POOL, components) and not rows) or not all(row["oper_type"] for row in rows):
        return strange("v$sga_resize_ops", SGA_RESIZE_OPS_TITLE)
    return Rows("v$sga_resize_ops", tuple(known_cells(row) for row in rows))


def _sga_resize_ops_row(row: ReportRow) -> dict[str, Value]:
    before, after = row.real("initsizem", "initm"), row.real("finalm", "final")
    return {
        "component": "shared pool",
        "start_time": row.text("start", "starttime"),
        "oper_type": OPERATIONS.get(row.text("opertypmod", "opertypemode")[:3].upper()),
        "initial_size": None if before is None else round(before * MEGABYTE),
        "final_size": None if after is None else round(after * MEGABYTE),
    }


# v$sgastat from SGA breakdown difference: the row cache's part of the shared pool, and what is free.

SGASTAT_TITLE = "SGA breakdown difference"
SGASTAT_NOTE = "only the large components of the pools are printed, in megabytes to one or two decimals"


@section("v$sgastat")
def sgastat(printed: ReportTables) -> Reading:
    """Components of the shared pool we follow, at the end of the interval."""
    titles = (SGASTAT_TITLE, f"{SGASTAT_TITLE} by Pool and Name")
    records = printed.section(*titles, summary="This table displays SGA breakdown difference", wanted=False)
    if records is None:
        return missing("v$sgastat", SGASTAT_TITLE)
    rows = [
        _sgastat_row(record)
        for record in records
        if record.text("pool").startswith("shared") and _followed(record.name((), "name"))
    ]
    return Rows("v$sgastat", tuple(row for row in rows if "bytes" in row), (SGASTAT_NOTE,))


def _followed(name: str) -> bool:
    return name == "free memory" or name.startswith(("KQR", "row cache"))


def _sgastat_row(row: ReportRow) -> dict[str, Value]:
    end, whole = row.real("endmb"), row.count("endvalue")
    size = whole if end is None else round(end * MEGABYTE)
    named: dict[str, Value] = {"pool": "shared pool", "name": row.name((), "name")}
    return named if size is None else named | {"bytes": size}


# v$sys_time_model from Time Model Statistics. Without that section DB time comes from the head.

TITLES = ("Time Model Statistics", "Time Model System Stats")
SUMMARY = "This table displays different time model"
SECONDS = ("times", "timeseconds")
OTHER_TIMES = (
    "sql execute elapsed time", "PL/SQL execution elapsed time", "PL/SQL compilation elapsed time",
    "inbound PL/SQL rpc elapsed time", "Java execution elapsed time", "repeated bind elapsed time",
    "hard parse (sharing criteria) elapsed time", "hard parse (bind mismatch) elapsed time",
    "failed parse (out of shared memory) elapsed time", "RMAN cpu time (backup/restore)", "background cpu time",
    "background elapsed time", "total CPU time", "OLAP engine elapsed time", "OLAP engine CPU time",
)  # fmt: skip
"""The times that are printed beside those we follow."""
ZERO_NOTE = "Time Model Statistics lists only statistics that grew, so one that is not listed is 0"
HEAD_NOTE = "DB time is that of the report's head"


@section("v$sys_time_model")
def sys_time_model(printed: ReportTables) -> Reading:
    """Time model in microseconds, printed to a tenth of a second."""
    records = printed.section(*TITLES, summary=SUMMARY)
    if records is None:
        if printed.db_time_micro is None:
            return missing("v$sys_time_model", TITLES[0])
        return Rows("v$sys_time_model", ({"stat_name": "DB time", "value": printed.db_time_micro},), (HEAD_NOTE,))
    wanted = asked("v$sys_time_model")
    listed = {
        record.name((*wanted, *OTHER_TIMES), "statisticname", "statistic"): record.micro("s", *SECONDS)
        for record in records
    }
    # All its names are known, so a strange one may be any of those that lack.
    unsure = frozenset(wanted) - listed.keys() if listed.keys() - {*wanted, *OTHER_TIMES} else frozenset()
    doubt(printed, TITLES[0], unsure)
    if listed.get("DB time") is None and printed.db_time_micro is not None:
        listed["DB time"] = printed.db_time_micro
    values: dict[str, Value] = {
        name: listed.get(name, 0 if "DB time" in listed and name not in unsure else None)
        for name in asked("v$sys_time_model")
    }
    rows: tuple[Row, ...] = tuple(
        {"stat_name": name, "value": value} for name, value in values.items() if value is not None
    )
    return Rows("v$sys_time_model", rows, (ZERO_NOTE,))


def db_time(printed: ReportTables) -> ReportRow | None:
    """DB time as printed. Other sections print shares of it."""
    records = printed.section(*TITLES, summary=SUMMARY, wanted=False) or ()
    return next((row for row in records if row.name(("DB time",), "statisticname", "statistic") == "DB time"), None)


# v$sysstat from the Instance Activity Stats sections. Later releases print several.

SYSSTAT_TITLE = "Instance Activity Stats"


@section("v$sysstat")
def sysstat(printed: ReportTables) -> Reading:
    """Totals of the statistics we follow. A statistic in two sections counts once."""
    key = printed.section(f"Key {SYSSTAT_TITLE}", summary="This table displays Key Instance activity", wanted=False)
    sections = [
        printed.section(
            SYSSTAT_TITLE,
            "Other Instance Activity Stats",
            summary="This table displays Instance activity",
            wanted=key is None,
        ),
        key,
    ]
    if all(section is None for section in sections):
        return missing("v$sysstat", SYSSTAT_TITLE)
    found: dict[str, int | float | None] = {}
    for record in (row for section in sections for row in section or ()):
        name = record.name(asked("v$sysstat"), "statistic")
        if name in asked("v$sysstat"):
            found.setdefault(name, record.count("total", "value"))
    if not found and any(sections):
        return strange("v$sysstat", SYSSTAT_TITLE)
    return Rows(
        "v$sysstat", tuple({"name": name, "value": value} for name, value in found.items() if value is not None)
    )


FOREGROUND, BACKGROUND = "Foreground Wait Events", "Background Wait Events"
SYSTEM_EVENT_WHY = "the report has no complete section Foreground Wait Events; its list of top events proves no absence"
TIME_NOTE = "times waited are what the printed seconds, average and share of DB time allow together; all are rounded"
FOREGROUND_NOTE = "background waits are not printed, so times waited are those of foreground processes alone"
TOGETHER_NOTE = "waits of foreground sessions are not printed apart, though DB time has no background work"
Headings = tuple[str, ...]
MillisecondRange = tuple[float, float]
TOTAL: Headings = ("totalwaittimes", "totalwaittimesec", "timewaiteds", "waittimes", "times")
AVERAGE: Headings = ("avgwaitms", "avgwait", "waitavgms", "avgwaittimems", "avgwaittime")
SHARE = "dbtime"


@section("v$system_event")
def system_event(printed: ReportTables) -> Reading:
    """Events we follow. AWR prints foreground and background apart, so they are added. Statspack before 11g prints the sum."""
    both = printed.section("Wait Events (fg and bg)", "Wait Events", wanted=False)
    front = printed.section(FOREGROUND, summary="This table displays Foreground Wait Events", wanted=both is None)
    if both is None and front is None:
        return Missing("v$system_event", "unread", SYSTEM_EVENT_WHY, ANOTHER)
    notes = [TIME_NOTE] if front is not None else [TIME_NOTE, TOGETHER_NOTE]
    records = list(both or front or ())
    if both is None:
        back = printed.section(BACKGROUND, summary="This table displays background wait events")
        records += back or ()
        notes += [FOREGROUND_NOTE] if back is None else []
    unsure = _unread_events(records)
    own_unsure = _unread_events(front or ())
    if unsure is None or own_unsure is None:
        return strange("v$system_event", FOREGROUND)
    doubt(printed, FOREGROUND if both is None else "Wait Events", unsure | own_unsure)
    whole = _whole(printed)
    rows: list[dict[str, Value]] = [{"event": event} for event in sorted(unsure | own_unsure)]
    rows += [
        _all(event, ones, whole) | _own(event, front, whole)
        for event, ones in _by_event(records).items()
        if event not in own_unsure
    ]
    rows += [
        _all(event, ones, whole) | _own(event, front, whole, ORDINARY_WAITS)
        for event, ones in _by_event(front or (), ORDINARY_WAITS).items()
    ]
    return Rows("v$system_event", tuple(known_cells(row) for row in rows), tuple(notes))


USUAL_EVENTS = (
    "SQL*Net message to client", "SQL*Net message from client", "SQL*Net more data to client", "db file sequential read",
    "db file scattered read", "db file parallel write", "db file async I/O submit", "log file sync",
    "log file parallel write", "control file sequential read", "control file parallel write", "direct path read",
    "direct path write", "rdbms ipc message", "Disk file operations I/O", "read by other session",
    "events in waitclass Other", "asynch descriptor resize",
)  # fmt: skip
"""Some of which any list of events has."""
OTHER_EVENTS = ("cursor: pin X", "latch: cache buffer handles", "latch: cache buffers lru chain", *USUAL_EVENTS)
FEW = 5


def _unread_events(records: Iterable[ReportRow]) -> frozenset[str] | None:
    """Events we follow that a strange name may stand for. None if no name of the section is one of Oracle's."""
    known = (*asked("v$system_event"), *OTHER_EVENTS)
    names = {record.name(known, "event") for record in records}
    if len(names) >= FEW and not names & set(known):
        return None
    return in_doubt(asked("v$system_event"), names, OTHER_EVENTS)


def _by_event(records: Iterable[ReportRow], events: tuple[str, ...] = ()) -> dict[str, list[ReportRow]]:
    """The rows of some events; of those that polls read, if none are given."""
    wanted, found = events or asked("v$system_event"), dict[str, list[ReportRow]]()
    for record in records:
        event = record.name(wanted, "event")
        if event in wanted:
            found.setdefault(event, []).append(record)
    return found


def _all(event: str, ones: list[ReportRow], whole: MillisecondRange | None) -> dict[str, Value]:
    waits = added(record.count("waits") for record in ones)
    return {"event": event, "total_waits": waits, "time_waited_micro": added(waited(record, whole) for record in ones)}


def _own(
    event: str, front: tuple[ReportRow, ...] | None, whole: MillisecondRange | None, events: tuple[str, ...] = ()
) -> dict[str, Value]:
    """Foreground waits. The section omits events of less than a millisecond: they have no time and an unknown number."""
    if front is None:
        return {}
    ones = _by_event(front, events).get(event)
    if ones is None:
        return {"time_waited_micro_fg": 0}
    own = _all(event, ones, whole)
    return {"total_waits_fg": own["total_waits"], "time_waited_micro_fg": own["time_waited_micro"]}


def waited(row: ReportRow, whole: MillisecondRange | None = None) -> int | None:
    """Microseconds waited: the middle of what the printed total, average × waits and share of DB time allow together.

    `whole` is the range of DB time, in microseconds.
    """
    waits, total = row.count("waits"), row.micro("s", *TOTAL)
    unit = "ms" if any(name in row.cells for name in AVERAGE if name.endswith("ms")) else "s"
    average, share = row.micro(unit, *AVERAGE), _system_event_share(row, whole)
    nothing = total == average == 0 and not (share and share[0] > 0)
    if total is None or average is None or waits is None or waits < 0 or total < 0 or nothing:
        return total if average is None or waits is None or total is not None else round(average * waits)
    half_total, half_average = _half_step(row, "s", TOTAL), _half_step(row, unit, AVERAGE) * waits
    wide = _common(
        (total - half_total, total + half_total), (average * waits - half_average, average * waits + half_average)
    )
    narrow = _common(wide, share) if wide and share else wide
    allowed = narrow or wide
    return total if allowed is None else round(sum(allowed) / 2)


def _common(bucket: MillisecondRange, other: MillisecondRange) -> MillisecondRange | None:
    least, most = max(bucket[0], other[0]), min(bucket[1], other[1])
    return None if least > most else (least, most)


def _whole(printed: ReportTables) -> MillisecondRange | None:
    """The range of DB time that its last printed digit allows."""
    row = db_time(printed)
    micros = row.micro("s", *SECONDS) if row else None
    if row is None or micros is None:
        return None
    half = _half_step(row, "s", SECONDS)
    return micros - half, micros + half


def _system_event_share(row: ReportRow, whole: MillisecondRange | None) -> MillisecondRange | None:
    """Microseconds that the printed percentage of DB time allows."""
    percent, digits = row.real(SHARE), decimals(row.text(SHARE))
    if whole is None or percent is None or digits is None or percent < 0:
        return None
    half = 0.5 * 10.0**-digits
    return max(percent - half, 0.0) / 100 * whole[0], (percent + half) / 100 * whole[1]


def _half_step(row: ReportRow, unit: str, headings: Headings) -> float:
    """Half of the last printed digit, in microseconds."""
    cell = row.text(*headings)
    digits = cell.rstrip("abcdefghijklmnopqrstuvwxyzKMGT ")
    scale = micro("1" + cell[len(digits) :], unit)
    return 0.0 if scale is None else 0.5 * 10.0 ** -(decimals(digits) or 0) * scale


# v$undostat from Undo Segment Stats: concurrency and retention of undo in ten-minute rows.

UNDOSTAT_TITLE = "Undo Segment Stats"
NEWEST = 6
"""Rows of the last hour, as many as a poll reads."""


@section("v$undostat")
def undostat(printed: ReportTables) -> Reading:
    """The newest rows. The report prints the end of each without its year."""
    records = printed.section(
        UNDOSTAT_TITLE, summary="This table displays the 35 most recent Undostat rows", wanted=False
    )
    if records is None:
        return missing("v$undostat", UNDOSTAT_TITLE)
    rows = [row for record in records if (row := _undostat_row(record, printed.year))]
    return Rows("v$undostat", tuple(sorted(rows, key=lambda row: str(row["begin_time"]), reverse=True)[:NEWEST]))


def _undostat_row(row: ReportRow, year: int | None) -> Row | None:
    match = re.fullmatch(r"(\d{1,2})-([^\s-]+) (\d{1,2}):(\d{2})", row.text("endtime"))
    month = month_of(match[2]) if match else None
    if match is None or month is None:
        return None
    try:
        end = datetime(year or 2000, month, int(match[1]), int(match[3]), int(match[4]))  # noqa: DTZ001
    except ValueError:
        return None
    retention = row.count("tunretmins")
    return known_cells(
        {
            "begin_time": (end - timedelta(minutes=10)).strftime("%Y-%m-%d %H:%M:%S"),
            "txncount": row.count("numberoftransactions", "transactions"),
            "maxconcurrency": row.count("maxtxconcy", "maxtxconcurcy"),
            "maxquerylen": row.count("maxqrylens"),
            "tuned_undoretention": None if retention is None else retention * 60,
        }
    )
