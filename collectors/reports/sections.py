"""One function for each view that a report can fill. sections.yaml says where its figures stand; here is what they mean."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Reading, Row, Rows, Value
from collectors.registry import collectors
from collectors.reports.header import month_of
from collectors.reports.tables import ANOTHER, ReportRow, ReportTables, decimals, in_doubt, micro, sections
from collectors.views import latchname
from collectors.views.system_event import ORDINARY_WAITS

Reader = Callable[[ReportTables], Reading]
"""Reads one view from a report. It gives Missing if the sections it needs are not printed or cannot be read."""
Records = tuple[ReportRow, ...]
READERS: dict[str, Reader] = {}
"""View name → its reader, filled by `fills`."""
STRANGE = "make the report again from the database itself, or diagnose what `latchscope script` writes"
MOST_NAMED = 5


def fills(view: str) -> Callable[[Reader], Reader]:
    """Declare a function as the reader of a view. Raises KeyError for one that no collector declares, or that has a reader."""

    def declare(read: Reader) -> Reader:
        if view in READERS or view not in collectors():
            raise KeyError(f"{read.__name__} reads {view}, which has a reader or is declared by no collector")
        READERS[view] = read
        return read

    return declare


def fills_from(view: str, title: str) -> Callable[[Callable[[ReportTables, Records], Reading]], Reader]:
    """The same of a view that one section has: without its rows the view is missing."""

    def declare(read: Callable[[ReportTables, Records], Reading]) -> Reader:
        def whole(printed: ReportTables) -> Reading:
            records = printed.section(title)
            return printed.missing(view, title) if records is None else read(printed, records)

        return fills(view)(whole)

    return declare


@cache
def asked(view: str) -> tuple[str, ...]:
    """The names that our newest statement asks of a view. A reader ignores any others that a report prints."""
    statement = list(collectors()[view].statements.values())[-1]
    return tuple(re.findall(r"'([^']+)'", statement))


LATCHES = (*latchname.LATCHES.values(), latchname.BUFFER_CHAINS)


def strange(view: str, title: str) -> Missing:
    """A view whose section has rows, but under names that we do not know."""
    return Missing(view, "unread", f"the names in {title} are not those that Oracle gives", STRANGE)


def doubt(printed: ReportTables, title: str, names: Iterable[str]) -> None:
    """Note names that are unknown, not zero, because another name of the section may stand for them."""
    listed = sorted(names)
    if listed:
        more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
        printed.notes[
            f"{title}: a name like {', '.join(listed[:MOST_NAMED])}{more} is printed in a way that is not read, "
            "so its figures are unknown"
        ] = None


def known_cells(row: Mapping[str, Value]) -> Row:
    """The row without the columns of unknown value: absent, not NULL."""
    return {name: value for name, value in row.items() if value is not None}


def added(values: Iterable[int | float | None]) -> int | float | None:
    """The sum. None if one of the values is unknown."""
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)


def sums(records: Iterable[ReportRow], *columns: str) -> dict[str, Value]:
    """Some columns of rows of one name. There are several rows if a CDB report splits them by PDB."""
    ones = list(records)
    return {column: added(one.number(column) for one in ones) for column in columns}


def by_name(records: Iterable[ReportRow], known: tuple[str, ...]) -> dict[str, list[ReportRow]]:
    """The rows of each name that is asked for."""
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        if (name := record.name(known)) in known:
            found.setdefault(name, []).append(record)
    return found


def by_place(
    records: Iterable[ReportRow], known: tuple[str, ...], places: tuple[str, ...] = ()
) -> dict[tuple[str, str], list[ReportRow]]:
    """The same by name and location; `places` as the names known of `ReportRow.name`."""
    found: dict[tuple[str, str], list[ReportRow]] = {}
    for name, ones in by_name(records, known).items():
        for one in ones:
            found.setdefault((name, one.name(places, "location")), []).append(one)
    return found


def rows_of(view: str, rows: Iterable[Mapping[str, Value]], *notes: str) -> Rows:
    """A view's rows, unknown cells left out."""
    return Rows(view, tuple(known_cells(row) for row in rows), notes)


# v$latch from Latch Activity (gets, wait time) and Latch Sleep Breakdown (misses, sleeps and spin gets, exact).

WAIT_NOTE = "wait_time of latches is printed in whole seconds, so 0 means less than half a second"
SLEEPS_NOTE = "a latch that Latch Sleep Breakdown does not list did not sleep; it lists only latches with sleeps"
MISSES_NOTE = "misses of a latch without sleeps are its gets times a rounded percentage"


@fills("v$latch")
def latch(printed: ReportTables) -> Reading:
    """Latches we follow. Without a line in the breakdown a latch has zero sleeps; without the breakdown they are unknown."""
    activity, breakdown = printed.section("Latch Activity"), printed.section("Latch Sleep Breakdown")
    if activity is None and breakdown is None:
        return printed.missing("v$latch", "Latch Activity")
    active = by_name(activity or (), LATCHES)
    if activity and not active:
        return strange("v$latch", "Latch Activity")
    unsure, slept = _doubtful(activity or ()), _doubtful(breakdown or ())
    doubt(printed, "Latch Activity", unsure)
    doubt(printed, "Latch Sleep Breakdown", slept)
    rows: dict[str, dict[str, Value]] = {name: {"name": name} for name in sorted(unsure)}
    for name, records in active.items():
        rows[name] = {"name": name, **sums(records, "gets", "wait_time")}
        if breakdown is not None and name not in slept:
            rows[name] |= {"sleeps": 0, "misses": _few_misses(records)}
    for name, records in by_name(breakdown or (), LATCHES).items():
        exact = sums(records, "gets", "misses", "sleeps") | {"spin_gets": added(map(_spin_gets, records))}
        rows[name] = rows.get(name, {"name": name}) | exact
    return rows_of("v$latch", rows.values(), WAIT_NOTE, *((SLEEPS_NOTE, MISSES_NOTE) if breakdown is not None else ()))


def _doubtful(records: Iterable[ReportRow]) -> frozenset[str]:
    """Latches we follow that a strange name may stand for."""
    return in_doubt(LATCHES, [record.name(LATCHES) for record in records], sections()["Latch Activity"].names)


def _spin_gets(row: ReportRow) -> int | float | None:
    """Spin gets; 9.2 prints them before the sleeps in one column: 60831/377/0/0/0."""
    first = row.text("spins_and_sleeps").partition("/")[0]
    return int(first) if first.isdecimal() else row.number("spin_gets")


def _few_misses(records: list[ReportRow]) -> Value:
    """Misses of a latch without sleeps, from the percentage. 0.0 % of many gets may still be some, so it is unknown."""
    found: list[int | float | None] = []
    for record in records:
        gets, percent = record.number("gets"), record.number("missed")
        derived = round(gets * percent / 100) if gets and percent and 0 < percent <= 100 else None
        found.append(0 if gets == 0 else derived)
    return added(found)


# v$latch_children from Child Latch Statistics, which is empty unless the snapshots were taken at a higher level.

WHY = (
    "the report has no child latches of row cache objects: "
    "Child Latch Statistics is empty at the default statistics level"
)


@fills("v$latch_children")
def latch_children(printed: ReportTables) -> Reading:
    """Children of the row cache latch, if the snapshots have them. Their wait time is not printed."""
    listed = by_name(printed.section("Child Latch Statistics") or (), (ROW_CACHE_LATCH,)).get(ROW_CACHE_LATCH, ())
    if not listed:
        return Missing("v$latch_children", "unread", WHY, SCRIPT)
    rows = (sums([each], "child#", "gets", "misses", "sleeps", "spin_gets") for each in listed)
    return rows_of("v$latch_children", (row for row in rows if row["child#"] is not None))


# v$latch_misses from Latch Miss Sources: where holders and waiters of the latches we follow were.

LONG_LOCATIONS = ("kqrpre1: post after loading",)
"""Locations longer than the 26 characters of their column in a text report."""
LOCATIONS = ("kqreqa", "kqreqd", "kqreqd: reget", "kqrpre: find obj", "kqrpre: init complete", "kqrso", *LONG_LOCATIONS)
"""Where the row cache is held most. A name like one of them may be it."""


@fills_from("v$latch_misses", "Latch Miss Sources")
def latch_misses(printed: ReportTables, records: Records) -> Reading:
    """Miss locations. A report lists only latches with sleeps, so ours may be absent."""
    unsure = _doubtful(records)
    doubt(printed, "Latch Miss Sources", unsure)
    if ROW_CACHE_LATCH in unsure:
        return strange("v$latch_misses", "Latch Miss Sources")
    found = by_place(records, asked("v$latch_misses"), LONG_LOCATIONS)
    rows: list[dict[str, Value]] = [
        {"parent_name": name, "location": place, **sums(ones, "nwfail_count", "sleep_count", "wtr_slp_count")}
        for (name, place), ones in found.items()
    ]
    lost = in_doubt(LOCATIONS, [place for name, place in found if name == ROW_CACHE_LATCH])
    doubt(printed, "Latch Miss Sources", lost)
    rows += [{"parent_name": ROW_CACHE_LATCH, "location": place} for place in sorted(lost)]
    return rows_of("v$latch_misses", rows)


# v$mutex_sleep from Mutex Sleep Summary (AWR, milliseconds) or Mutex Sleep (Statspack, seconds).


@fills_from("v$mutex_sleep", "Mutex Sleep Summary")
def mutex_sleep(printed: ReportTables, records: Records) -> Reading:
    """Sleeps on row cache mutexes by location. An empty list means that no session slept."""
    known = asked("v$mutex_sleep")
    types = [record.name(known) for record in records]
    # Only the code of the row cache begins with kqr.
    misnamed = any(
        "kqr" in record.text("location") for name, record in zip(types, records, strict=True) if name not in known
    )
    if misnamed or in_doubt(
        known, types, sections()["Mutex Sleep Summary"].names
    ):  # only the code of the row cache begins with kqr
        return strange("v$mutex_sleep", "Mutex Sleep Summary")
    rows = (
        {"mutex_type": name, "location": place, **sums(ones, "sleeps", "wait_time")}
        for (name, place), ones in by_place(records, known).items()
    )
    return rows_of("v$mutex_sleep", rows)


# v$osstat from Operating System Statistics: times and paging are printed as changes, the rest as levels.

LEVELS = ("NUM_CPUS", "NUM_CPU_CORES", "LOAD", "PHYSICAL_MEMORY_BYTES", "SWAP_FREE_BYTES")


@fills("v$osstat")
def osstat(printed: ReportTables) -> Reading:
    """Host statistics we follow. A level has its end value. The head gives the number of processors if the section does not."""
    records = printed.section("Operating System Statistics")
    rows = {name: _osstat_row(name, ones[-1]) for name, ones in by_name(records or (), asked("v$osstat")).items()}
    if printed.cpus is not None and "NUM_CPUS" not in rows:
        rows["NUM_CPUS"] = {"stat_name": "NUM_CPUS", "level_now": printed.cpus}
    if records is None and not rows:
        return printed.missing("v$osstat", "Operating System Statistics")
    return Rows("v$osstat", tuple(row for row in rows.values() if len(row) > 1))


def _osstat_row(name: str, row: ReportRow) -> Row:
    value, end = row.number("value"), row.number("end")
    known = {"level_now": value if end is None else end} if name in LEVELS else {"total": value}
    return known_cells({"stat_name": name, **known})


# v$parameter from init.ora Parameters, which lists only changed settings.


@fills_from("v$parameter", "init.ora Parameters")
def parameter(printed: ReportTables, records: Records) -> Reading:
    """Settings we follow. The end value counts where it differs from the begin value."""
    found: dict[str, str] = {}
    for name, ones in by_name(records, asked("v$parameter")).items():
        values = [value for one in ones if (value := one.text("end") or one.text("begin"))]
        found |= {name: values[0]} if values else {}
    unsure = hidden_in_doubt(record.name(asked("v$parameter")) for record in records)
    doubt(printed, "init.ora Parameters", unsure)
    return Rows(
        "v$parameter", settings(found, unsure), ("a report lists only parameters that are not at their default",)
    )


def hidden_in_doubt(printed: Iterable[str]) -> frozenset[str]:
    """Hidden parameters that a strange name may stand for. One that is not printed counts as not set."""
    return in_doubt([name for name in asked("v$parameter") if name.startswith("_")], printed)


def settings(found: Mapping[str, str], unsure: Iterable[str]) -> tuple[Row, ...]:
    """Rows of settings that are not at their default, and of those whose value is unknown, by name alone."""
    rows: list[Row] = [{"name": name, "value": value, "isdefault": "FALSE"} for name, value in found.items()]
    return (*rows, *({"name": name} for name in sorted(unsure)))


# v$rowcache from Dictionary Cache Stats, which sums parents and subordinates of one name and knows no cache numbers.

MERGED_NOTE = "a report sums the parent and the subordinate caches of one name, and lists only caches with activity"
ROWCACHE_MISSES_NOTE = "getmisses and scanmisses are gets and scans times a percentage that is printed rounded"
CACHES = sections()["Dictionary Cache Stats"].names
OTHER_CACHES = ("dc_", "qm", "sch_", "rule", "realm", "command rule", "factor", "dv ", "smo ", "triton ", "extensible ", "xs ",
                "event map", "format", "kqlsubheap", "outstanding", "global", "metadata")  # fmt: skip
"""How the names of caches begin, in lower case, in the reports and views that we know."""


@fills_from("v$rowcache", "Dictionary Cache Stats")
def rowcache(printed: ReportTables, records: Records) -> Reading:
    """Dictionary caches by name. Cluster counters where the report has a filled RAC section (up to 12.1)."""
    title = "Dictionary Cache Stats"
    names = {record.name(CACHES) for record in records}
    if names and not names & set(CACHES):
        return strange("v$rowcache", title)
    cluster = {record.name(CACHES): record for record in printed.section(f"{title} (RAC)") or ()}
    rows: list[dict[str, Value]] = [_rowcache_row(record, printed) for record in records if record.text("name")]
    for row in rows:
        if (own := cluster.get(str(row["parameter"]))) is not None:
            row |= sums([own], "dlm_requests", "dlm_conflicts", "dlm_releases")
    if any(name and not name.lower().startswith(OTHER_CACHES) for name in names):
        unsure = frozenset(CACHES) - names  # a name that is no cache's may have been any
    else:
        unsure = in_doubt(CACHES, names)
    doubt(printed, title, unsure)
    rows += [{"parameter": name} for name in sorted(unsure)]
    return rows_of("v$rowcache", rows, MERGED_NOTE, ROWCACHE_MISSES_NOTE)


def _rowcache_row(row: ReportRow, printed: ReportTables) -> dict[str, Value]:
    return {
        "parameter": row.name(CACHES),
        **sums([row], "usage", "gets", "scans", "modifications"),
        "getmisses": _share(row, "gets", "missed", printed),
        "scanmisses": _share(row, "scans", "scan_missed", printed),
    }


def _share(row: ReportRow, of: str, column: str, printed: ReportTables) -> int | None:
    """The whole times the printed percentage. Zero of zero; unknown if the percentage cannot be right."""
    whole, percent = row.number(of), row.number(column)
    if whole == 0:
        return 0
    if percent is not None and not 0 <= percent <= 100:
        note = f"{row.section}: {percent:g} % misses of {row.text('name')} cannot be right and is not used"
        printed.notes[note] = None
        return None
    return None if whole is None or whole < 0 or percent is None else round(whole * percent / 100)


# v$sga_resize_ops from Memory Resize Ops, and v$sgastat from SGA breakdown difference.

MEGABYTE = 2**20
SHARED_POOL = ("shared", "shared pool")
OPERATIONS = {"GRO": "GROW", "SHR": "SHRINK"}


@fills_from("v$sga_resize_ops", "Memory Resize Ops")
def sga_resize_ops(printed: ReportTables, records: Records) -> Reading:
    """Resizes of the shared pool within the interval. An empty section means none."""
    components = [record.name(SHARED_POOL) for record in records]
    rows: list[dict[str, Value]] = [
        {
            "component": "shared pool",
            "start_time": record.text("start_time"),
            "oper_type": OPERATIONS.get(record.text("oper_type")[:3].upper()),
            "initial_size": _bytes(record, "initial_size"),
            "final_size": _bytes(record, "final_size"),
        }
        for name, record in zip(components, records, strict=True)
        if name.startswith("shared")
    ]
    if (in_doubt(SHARED_POOL, components) and not rows) or not all(row["oper_type"] for row in rows):
        return strange("v$sga_resize_ops", "Memory Resize Ops")
    return rows_of("v$sga_resize_ops", rows)


def _bytes(row: ReportRow, column: str) -> int | None:
    megabytes = row.number(column)
    return None if megabytes is None else round(megabytes * MEGABYTE)


@fills_from("v$sgastat", "SGA breakdown difference")
def sgastat(printed: ReportTables, records: Records) -> Reading:
    """Components of the shared pool we follow, at the end of the interval."""
    sizes = [
        (record.text("name"), record.number("end") if (size := _bytes(record, "end_mb")) is None else size)
        for record in records
        if record.text("pool").startswith("shared")
    ]
    rows = (
        {"pool": "shared pool", "name": name, "bytes": size}
        for name, size in sizes
        if size is not None and (name == "free memory" or name.startswith(("KQR", "row cache")))
    )
    note = "only the large components of the pools are printed, in megabytes to one or two decimals"
    return rows_of("v$sgastat", rows, note)


# v$sys_time_model from Time Model Statistics. Without that section DB time comes from the head.

OTHER_TIMES = sections()["Time Model Statistics"].names
ZERO_NOTE = "Time Model Statistics lists only statistics that grew, so one that is not listed is 0"
HEAD_NOTE = "DB time is that of the report's head"


@fills("v$sys_time_model")
def sys_time_model(printed: ReportTables) -> Reading:
    """Time model in microseconds, printed to a tenth of a second."""
    records, wanted = printed.section("Time Model Statistics"), asked("v$sys_time_model")
    if records is None:
        if printed.db_time_micro is None:
            return printed.missing("v$sys_time_model", "Time Model Statistics")
        return Rows("v$sys_time_model", ({"stat_name": "DB time", "value": printed.db_time_micro},), (HEAD_NOTE,))
    listed = {record.name((*wanted, *OTHER_TIMES)): record.number("value") for record in records}
    # All its names are known, so a strange one may be any of those that lack.
    unsure = frozenset(wanted) - listed.keys() if listed.keys() - {*wanted, *OTHER_TIMES} else frozenset()
    doubt(printed, "Time Model Statistics", unsure)
    if listed.get("DB time") is None and printed.db_time_micro is not None:
        listed["DB time"] = printed.db_time_micro
    values = {name: listed.get(name, 0 if "DB time" in listed and name not in unsure else None) for name in wanted}
    rows = tuple({"stat_name": name, "value": value} for name, value in values.items() if value is not None)
    return Rows("v$sys_time_model", rows, (ZERO_NOTE,))


def db_time(printed: ReportTables) -> ReportRow | None:
    """DB time as printed. Other sections print shares of it."""
    records = printed.section("Time Model Statistics", quiet=True) or ()
    return next((row for row in records if row.name(("DB time",)) == "DB time"), None)


# v$sysstat from the Instance Activity Stats sections. Later releases print several.


@fills("v$sysstat")
def sysstat(printed: ReportTables) -> Reading:
    """Totals of the statistics we follow. A statistic in two sections counts once."""
    key = printed.section("Key Instance Activity Stats")
    every = printed.section("Instance Activity Stats", quiet=key is not None)
    if every is None and key is None:
        return printed.missing("v$sysstat", "Instance Activity Stats")
    found = by_name((*(every or ()), *(key or ())), asked("v$sysstat"))
    if not found and (every or key):
        return strange("v$sysstat", "Instance Activity Stats")
    values = {name: ones[0].number("value") for name, ones in found.items()}
    return rows_of("v$sysstat", ({"name": name, "value": value} for name, value in values.items() if value is not None))


# v$system_event: waits of all processes, and of foreground sessions alone if the report prints them.

SYSTEM_EVENT_WHY = "the report has no complete section Foreground Wait Events; its list of top events proves no absence"
TIME_NOTE = "times waited are what the printed seconds, average and share of DB time allow together; all are rounded"
FOREGROUND_NOTE = "background waits are not printed, so times waited are those of foreground processes alone"
TOGETHER_NOTE = "waits of foreground sessions are not printed apart, though DB time has no background work"
TOP_NOTE = "only the list of the longest waits could be read: an event that it does not list is unknown"
ROW_CACHE_EVENTS = ("latch: row cache objects", "row cache mutex", "row cache lock")
Range = tuple[float, float]
OTHER_EVENTS = sections()["Foreground Wait Events"].names
FEW = 5
TOP = "Top Timed Events"


@fills("v$system_event")
def system_event(printed: ReportTables) -> Reading:
    """Events we follow. AWR prints foreground and background apart, so they are added. Statspack before 11g prints the sum."""
    both = printed.section("Wait Events")
    front = printed.section("Foreground Wait Events", quiet=both is not None)
    if both is None and front is None:
        listed = ((event, row.number("waits"), waited(row)) for event, row in _listed(printed).items())
        if longest := top_alone(listed):
            return rows_of("v$system_event", longest, TOP_NOTE)
        broken = next((title for title in ("Foreground Wait Events", "Wait Events") if title in printed.unread), None)
        if broken:
            return printed.missing("v$system_event", broken)
        return Missing("v$system_event", "unread", SYSTEM_EVENT_WHY, ANOTHER)
    notes = [TIME_NOTE] if front is not None else [TIME_NOTE, TOGETHER_NOTE]
    records = list(both or front or ())
    if both is None:
        back = printed.section("Background Wait Events")
        records += back or ()
        notes += [FOREGROUND_NOTE] if back is None else []
    unsure, own_unsure = _unread_events(records), _unread_events(front or ())
    if unsure is None or own_unsure is None:
        return strange("v$system_event", "Foreground Wait Events")
    doubt(printed, "Foreground Wait Events" if both is None else "Wait Events", unsure | own_unsure)
    whole, top = _whole(printed), _listed(printed)
    if TOP in printed.unread:  # the longest are in the whole list, too, where idle ones have no share
        top = {row.name(asked("v$system_event")): row for row in front or () if row.number("share")}
    rows: list[dict[str, Value]] = [{"event": event} for event in sorted(unsure | own_unsure)]
    own = by_name(front or (), asked("v$system_event"))
    rows += [
        _all(event, ones, whole) | ({} if front is None else _own(own.get(event), whole))
        for event, ones in by_name(records, asked("v$system_event")).items()
        if event not in own_unsure
    ]
    others = tuple({*top, *(ORDINARY_WAITS if front else ())} - {*asked("v$system_event")})
    rows += [
        _all(event, ones, whole) | ({} if front is None else _own(ones if front else None, whole))
        for event, ones in sorted(by_name(front or both or (), others).items())
    ]
    return rows_of("v$system_event", rows, *notes)


def top_alone(waits: Iterable[tuple[str, Value, Value]]) -> list[dict[str, Value]]:
    """Rows of a list that holds the longest waits alone: an event that it lacks is there by name, its figures unknown.

    Empty if no wait for the row cache is listed, for then nobody can tell how many there were.
    """
    listed = {event: {"total_waits": many, "time_waited_micro": micros} for event, many, micros in waits}
    if not listed.keys() & {*ROW_CACHE_EVENTS}:
        return []
    every = dict.fromkeys((*asked("v$system_event"), *listed))
    return [{"event": event, **listed.get(event, {"unlisted": 1})} for event in every]


def _listed(printed: ReportTables) -> Mapping[str, ReportRow]:
    """The report's own list of the longest waits, by event."""
    known = (*asked("v$system_event"), *ORDINARY_WAITS, *OTHER_EVENTS)
    rows = {row.name(known): row for row in printed.section(TOP) or ()}
    return {event: row for event, row in rows.items() if event and not event.endswith(_OF_NO_SESSION)}


_OF_NO_SESSION = ("DB CPU", "CPU time", "parallel write", "sequential write")
"""What the list of an older release has beside the waits of sessions."""


def _unread_events(records: Iterable[ReportRow]) -> frozenset[str] | None:
    """Events we follow that a strange name may stand for. None if no name of the section is one of Oracle's."""
    known = (*asked("v$system_event"), *OTHER_EVENTS)
    names = {record.name(known) for record in records}
    if len(names) >= FEW and not names & set(known):
        return None
    return in_doubt(asked("v$system_event"), names, OTHER_EVENTS)


def _all(event: str, ones: list[ReportRow], whole: Range | None) -> dict[str, Value]:
    time = added(waited(record, whole) for record in ones)
    return {"event": event, "total_waits": added(one.number("waits") for one in ones), "time_waited_micro": time}


def _own(ones: list[ReportRow] | None, whole: Range | None) -> dict[str, Value]:
    """Foreground waits. The section omits events of less than a millisecond: they have no time and an unknown number."""
    if ones is None:
        return {"time_waited_micro_fg": 0}
    own = _all("", ones, whole)
    row = {"total_waits_fg": own["total_waits"], "time_waited_micro_fg": own["time_waited_micro"]}
    shares = [(one.number("waits"), one.number("timeouts")) for one in ones]
    known = [waits * share / 100 for waits, share in shares if waits is not None and share is not None and share <= 100]
    return {**row, "total_timeouts": round(sum(known))} if known and len(known) == len(ones) else row


def waited(row: ReportRow, whole: Range | None = None) -> int | float | None:
    """Microseconds waited: the middle of what the printed total, average × waits and share of DB time allow together.

    `whole` is the range of DB time, in microseconds.
    """
    waits, total, average = row.number("waits"), row.number("total"), row.number("average")
    share = _system_event_share(row, whole)
    nothing = total == average == 0 and not (share and share[0] > 0)
    if total is None or average is None or waits is None or waits < 0 or total < 0 or nothing:
        return total if average is None or waits is None or total is not None else round(average * waits)
    half_total, half_average = _half_step(row, "total"), _half_step(row, "average") * waits
    wide = _common(
        (total - half_total, total + half_total), (average * waits - half_average, average * waits + half_average)
    )
    narrow = _common(wide, share) if wide and share else wide
    allowed = narrow or wide
    return total if allowed is None else round(sum(allowed) / 2)


def _common(bucket: Range, other: Range) -> Range | None:
    least, most = max(bucket[0], other[0]), min(bucket[1], other[1])
    return None if least > most else (least, most)


def _whole(printed: ReportTables) -> Range | None:
    """The range of DB time that its last printed digit allows."""
    row = db_time(printed)
    micros = row.number("value") if row else None
    if row is None or micros is None:
        return None
    half = _half_step(row, "value")
    return micros - half, micros + half


def _system_event_share(row: ReportRow, whole: Range | None) -> Range | None:
    """Microseconds that the printed percentage of DB time allows."""
    percent, digits = row.number("share"), decimals(row.text("share"))
    if whole is None or percent is None or digits is None or percent < 0:
        return None
    half = 0.5 * 10.0**-digits
    return max(percent - half, 0.0) / 100 * whole[0], (percent + half) / 100 * whole[1]


def _half_step(row: ReportRow, column: str) -> float:
    """Half of the last printed digit, in microseconds."""
    cell = row.text(column)
    digits = cell.rstrip("abcdefghijklmnopqrstuvwxyzKMGT ")
    scale = micro("1" + cell[len(digits) :], row.units.get(column) or "us")
    return 0.0 if scale is None else 0.5 * 10.0 ** -(decimals(digits) or 0) * scale


# v$undostat from Undo Segment Stats: concurrency and retention of undo in ten-minute rows.

NEWEST = 6
"""Rows of the last hour, as many as a poll reads."""


@fills_from("v$undostat", "Undo Segment Stats")
def undostat(printed: ReportTables, records: Records) -> Reading:
    """The newest rows. The report prints the end of each without its year."""
    rows = [row for record in records if (row := _undostat_row(record, printed.year))]
    return Rows("v$undostat", tuple(sorted(rows, key=lambda row: str(row["begin_time"]), reverse=True)[:NEWEST]))


def _undostat_row(row: ReportRow, year: int | None) -> Row | None:
    match = re.fullmatch(r"(\d{1,2})-([^\s-]+) (\d{1,2}):(\d{2})", row.text("end"))
    month = month_of(match[2]) if match else None
    if match is None or month is None:
        return None
    try:
        end = datetime(year or 2000, month, int(match[1]), int(match[3]), int(match[4]))  # noqa: DTZ001
    except ValueError:
        return None
    begin, retention = f"{end - timedelta(minutes=10):%Y-%m-%d %H:%M:%S}", row.number("tuned_undoretention")
    figures = sums([row], "txncount", "maxconcurrency", "maxquerylen")
    tuned = None if retention is None else retention * 60
    return known_cells({"begin_time": begin, **figures, "tuned_undoretention": tuned})
