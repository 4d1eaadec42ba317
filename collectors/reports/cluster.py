"""A report over all instances of a cluster (awrgrpt.sql): what it prints of each instance, and of the cluster as a whole.

It has no latches, no mutexes and no dictionary caches. Per instance it has the time model, host and system statistics, and the
longest waits; so an event that it does not list is unknown, never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.model import Missing, Reading, Row, Rows, Value, number
from collectors.reports.header import Header, dbid_in, moment_in, release_in
from collectors.reports.sections import (
    MEGABYTE,
    READERS,
    ROW_CACHE_EVENTS,
    asked,
    hidden_in_doubt,
    known_cells,
    rows_of,
    settings,
    top_alone,
)
from collectors.reports.tables import Document, Table, count, micro, plain, real, squeeze

TITLES = ("Database Summary", "Database Instances Included In Report", "OS Statistics By Instance", "Time Model",
          "Time Model - % of DB time", "Foreground Wait Classes", "Top Timed Events", "Top Timed Foreground Events",
          "Top Timed Background Events", "Foreground Wait Events (Global)", "Background Wait Events (Global)",
          "System Statistics", "System Statistics - Per Second", "System Statistics - Per Transaction",
          "System Statistics (Global)", "init.ora Parameters")  # fmt: skip
"""Titles of sections. In text a line may hold nothing else."""
NOTE = (
    "a report over all instances prints no latches, mutexes or dictionary caches, and only the longest waits: an event that it "
    "does not list is unknown"
)
WHOLE = "*"
"""What the column of the instance says in rows of the whole cluster."""
OWN_REPORT = "run awrrpti.sql for each instance (it asks for the instance number) and give all the reports at once"
TIMES = {
    "DB time": "dbtimes",
    "DB CPU": "dbcpus",
    "parse time elapsed": "parseelas",
    "hard parse elapsed time": "hardparseelas",
}
"""The times that the report prints and we follow, by the heading of their column, in seconds."""
COUNTS = {
    "user calls": "usercalls",
    "execute count": "execs",
    "parse count (total)": "parses",
    "logons cumulative": "logons",
}


@dataclass(frozen=True, slots=True)
class Part:
    """What the report says of one instance."""

    head: Header
    readings: Mapping[str, Reading]
    notes: tuple[str, ...]


def parts(document: Document) -> tuple[Part, ...]:
    """One part for each instance in the report, in its order; or one for the whole cluster where it alone has waits for the
    row cache. Empty if the list of instances cannot be read."""
    heads = _heads(document)
    notes = (NOTE, *_whole_cluster(document))
    found = [Part(head, _readings(document, head), (*notes, *_bound(document, head))) for head in heads]
    whole = _together(heads)
    if whole is not None and not any(isinstance(part.readings["v$system_event"], Rows) for part in found):
        rows = _events(document, WHOLE)
        if any(number(row.get("time_waited_micro")) for row in rows if row["event"] in ROW_CACHE_EVENTS):
            readings = {**_unread(whole), "v$system_event": rows_of("v$system_event", rows)}
            readings["v$sys_time_model"] = rows_of("v$sys_time_model", _times(document, "", whole))
            return (Part(whole, readings, (NOTE, ALONE)),)
    return tuple(found)


ALONE = "the waits are those of all instances together; the report does not print which instance they are of"


def _together(heads: Sequence[Header]) -> Header | None:
    """The head of the cluster as a whole: the DB time of all instances within the longest interval."""
    minutes = [head.db_time_minutes for head in heads]
    if not heads or None in minutes:
        return None
    longest = max(heads, key=lambda head: head.seconds or 0.0)
    total = sum(each or 0.0 for each in minutes)
    return replace(longest, instance="", instance_number=None, host="", db_time_minutes=total, startup=None)


# Tables. Each comes with its rows as cells by heading. Headings of two lines begin with the name of their group.


def _column(table: Table, *endings: str, last: bool = False) -> int | None:
    """The column whose heading is one of these, or ends with it; the shortest such heading, or the last column. None if none."""
    found = [i for i, heading in enumerate(table.headings) if heading.endswith(endings)]
    if not found:
        return None
    return found[-1] if last else min(found, key=lambda i: len(table.headings[i]))


def _tables(document: Document, title: str) -> list[Table]:
    """The tables of a section. Those whose rows do not fit their headings are left out: no cell would be certain."""
    name = squeeze(title)
    found = [
        table for table in document.tables if table.section == name or squeeze(table.summary.partition(".")[0]) == name
    ]
    cut = name in document.cut
    return [t for t in found if not cut and t.rows and all(len(row) == len(t.headings) for row in t.rows)]


def _of(table: Table, number: str, column: int = 0) -> list[tuple[str, ...]]:
    """The rows of one instance. A blank number repeats the one above."""
    rows, current = [], ""
    for row in table.rows:
        current = row[column] or current
        if current == number:
            rows.append(row)
    return rows


def _cell(row: Sequence[str], column: int | None) -> str:
    return row[column] if column is not None and column < len(row) else ""


def _heads(document: Document) -> list[Header]:
    found = [
        t for t in document.tables if _column(t, "beginsnaptime") is not None and _column(t, "instance") is not None
    ]
    if not found or not found[0].rows:
        return []
    table, summary = found[0], _summary(document)
    # One instance alone may be reported by this script, too.
    clustered = summary.get("rac", "").upper() != "NO"
    places = {
        name: _column(table, name)
        for name in (
            "instance",
            "host",
            "startup",
            "beginsnaptime",
            "endsnaptime",
            "release",
            "elapsedtimemin",
            "dbtimemin",
        )
    }
    heads = []
    for row in (row for each in found for row in each.rows if len(row) == len(each.headings)):
        cells = {name: _cell(row, place) for name, place in places.items()}
        number = count(row[0])
        heads.append(
            Header(
                db_name=summary.get("name", ""),
                dbid=dbid_in(summary.get("id", "")),
                instance=cells["instance"],
                instance_number=number if isinstance(number, int) else None,
                release=release_in(cells["release"]),
                cluster=clustered,
                host=cells["host"],
                cpus=None,
                startup=moment_in(cells["startup"]),
                begin=moment_in(cells["beginsnaptime"]),
                end=moment_in(cells["endsnaptime"]),
                elapsed_minutes=real(cells["elapsedtimemin"]),
                db_time_minutes=real(cells["dbtimemin"]),
            )
        )
    return heads


def _summary(document: Document) -> Mapping[str, str]:
    """Name and DB Id of the database."""
    for table in document.tables:
        if _column(table, "blocksize") is not None and table.rows and len(table.rows[0]) == len(table.headings):
            return {
                name: _cell(table.rows[0], _column(table, f"database{name}", name)) for name in ("id", "name", "rac")
            }
    return {}


def _readings(document: Document, head: Header) -> Mapping[str, Reading]:
    number = str(head.instance_number)
    found: dict[str, Sequence[Row]] = {
        "v$sys_time_model": _times(document, number, head),
        "v$system_event": _events(document, number),
        "v$sysstat": _counts(document, number),
        "v$osstat": _host(document, number),
        "v$parameter": _parameters(document, number),
    }
    return dict(_unread(head)) | {
        view: Rows(view, tuple(known_cells(dict(row)) for row in rows)) for view, rows in found.items() if rows
    }


def _unread(head: Header) -> Mapping[str, Reading]:
    """Every view as missing, with the report that has it."""
    why, own = "a global report does not print it", "run awrrpt.sql for the same snapshots"
    if head.cluster:
        why, own = "a report over all instances of a cluster does not print it for each instance", OWN_REPORT
    return {view: Missing(view, "unread", why, own) for view in READERS}


def _times(document: Document, number: str, head: Header) -> list[dict[str, Value]]:
    rows: dict[str, Value] = {}
    for table in _tables(document, "Time Model"):
        for row in _of(table, number):
            rows |= {name: micro(_cell(row, _exactly(table, heading)), "s") for name, heading in TIMES.items()}
    if rows.get("DB time") is None and head.db_time_minutes is not None:
        rows["DB time"] = round(head.db_time_minutes * 60e6)
    return [{"stat_name": name, "value": value} for name, value in rows.items() if value is not None]


def _exactly(table: Table, heading: str) -> int | None:
    return table.headings.index(heading) if heading in table.headings else None


@dataclass(frozen=True, slots=True)
class _Wait:
    event: str
    waits: int | float | None
    micros: int | None


def _waits(document: Document, title: str, number: str) -> list[_Wait] | None:
    """The waits listed for an instance, or for the whole cluster. None if the section is not there."""
    tables = _tables(document, title)
    if not tables:
        return None
    found = []
    for table in tables:
        event, waits = _column(table, "event"), _column(table, "waits")
        seconds = _column(table, "totals", "totalwaittimes", "totalwaittimesec", "waittimes")
        numbered = table.headings[0].endswith(("i", "inst"))
        for row in _of(table, number) if numbered else table.rows:
            found.append(_Wait(plain(_cell(row, event)), count(_cell(row, waits)), micro(_cell(row, seconds), "s")))
    return found


def _events(document: Document, of: str) -> list[dict[str, Value]]:
    """The longest waits of an instance, or of the whole cluster: those we follow, and what else sessions waited for."""
    everyone = _waits(document, "Top Timed Events", of) or ()
    own = {wait.event: wait for wait in _waits(document, "Top Timed Foreground Events", of) or ()}
    followed = [wait for wait in everyone if wait.event in asked("v$system_event") or wait.event in own or not own]
    rows = {str(row["event"]): row for row in top_alone((wait.event, wait.waits, wait.micros) for wait in followed)}
    for event, wait in own.items():
        if event in rows:
            rows[event] |= {"total_waits_fg": wait.waits, "time_waited_micro_fg": wait.micros}
    return list(rows.values())


def _counts(document: Document, number: str) -> list[dict[str, Value]]:
    return [
        {"name": name, "value": value}
        for table in _tables(document, "System Statistics")
        for row in _of(table, number)
        for name, heading in COUNTS.items()
        if (value := count(_cell(row, _exactly(table, heading)))) is not None
    ]


def _host(document: Document, number: str) -> list[dict[str, Value]]:
    """The host of the instance. Its table heads both shares and seconds "busy" and "idle"; the seconds come last."""
    rows: list[dict[str, Value]] = []
    for table in _tables(document, "OS Statistics By Instance"):
        busy, idle = (_column(table, word, last=True) for word in ("busy", "idle"))
        certain = sum(heading.endswith("busy") for heading in table.headings) == 2
        memory = _column(table, "memorym", "mb")
        for row in _of(table, number):
            levels = {"NUM_CPUS": _column(table, "cpus"), "LOAD": _column(table, "loadend")}
            rows += [{"stat_name": name, "level_now": real(_cell(row, place))} for name, place in levels.items()]
            megabytes = real(_cell(row, memory))
            if megabytes is not None:
                rows.append({"stat_name": "PHYSICAL_MEMORY_BYTES", "level_now": round(megabytes * MEGABYTE)})
            for name, place in {"BUSY_TIME": busy, "IDLE_TIME": idle}.items() if certain else ():
                seconds = real(_cell(row, place))
                rows.append({"stat_name": name, "total": None if seconds is None else round(seconds * 100)})
    return [row for row in rows if any(value is not None for name, value in row.items() if name != "stat_name")]


def _parameters(document: Document, number: str) -> Sequence[Row]:
    """Settings we follow. A row for all instances has no number or a star."""
    found: dict[str, str] = {}
    names = set[str]()
    for table in _tables(document, "init.ora Parameters"):
        begin, end, place = _column(table, "beginvalue"), _column(table, "endvalue", "different"), _instances(table)
        name = ""
        for row in table.rows:
            name = row[0] or name
            names.add(name)
            if name in asked("v$parameter") and _cell(row, place) in (number, WHOLE, ""):
                found[name] = _cell(row, end) or _cell(row, begin)
    return settings({name: value for name, value in found.items() if value}, hidden_in_doubt(names)) if names else ()


def _instances(table: Table) -> int | None:
    return next((i for i, heading in enumerate(table.headings) if heading in ("i", "inst")), None)


def _whole_cluster(document: Document) -> list[str]:
    """What is printed of the cluster as a whole alone, as notes: no instance can be judged on it."""
    titles = ("Top Timed Events", "Foreground Wait Events (Global)")
    listed = [wait for title in titles for wait in _waits(document, title, WHOLE) or ()]
    times = {wait.event: wait.micros for wait in sorted(listed, key=lambda each: each.micros or 0) if wait.micros}
    told = dict.fromkeys((*list(times)[-1:], *ROW_CACHE_EVENTS))
    return [f"over all instances: {event}, {times[event] / 1e6:,.1f} s waited" for event in told if event in times]


def _bound(document: Document, head: Header) -> list[str]:
    """Where no wait for the row cache is listed: how long it may be at most, as a note. An empty list where nothing is known."""
    listed = _waits(document, "Top Timed Events", str(head.instance_number)) or ()
    times = [wait.micros for wait in listed if wait.micros is not None]
    if not times or any(wait.event in ROW_CACHE_EVENTS for wait in listed):
        return []
    seconds, minutes = min(times) / 1e6, head.db_time_minutes
    share = f", {seconds / minutes / 0.6:.1f} % of DB time" if minutes else ""
    return [
        f"none of the {len(times)} longest waits is for the row cache; each of its waits took at most {seconds:,.1f} s{share}"
    ]
