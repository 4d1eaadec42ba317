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
    rows_of,
    settings,
    top_alone,
)
from collectors.reports.tables import Document, count, micro, plain, real, squeeze

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


# Rows: headings beside their cells. Headings of two lines begin with the name of their group.

PrintedRow = tuple[tuple[str, str], ...]


def _rows(document: Document, title: str, of: str = "") -> list[PrintedRow]:
    """The rows of a section; of one instance, if its number is given. A blank number repeats the one above.

    Tables whose rows do not fit their headings are left out: no cell would be certain.
    """
    name, found = squeeze(title), list[PrintedRow]()
    for table in document.tables if name not in document.cut else ():
        if table.section == name or squeeze(table.summary.partition(".")[0]) == name:
            current, numbered = "", table.headings[:1] and table.headings[0].endswith(("i", "inst"))
            for row in table.rows if all(len(row) == len(table.headings) for row in table.rows) else ():
                current = row[0] or current
                if not of or not numbered or current == of:
                    found.append(tuple(zip(table.headings, row, strict=True)))
    return found


def _at(row: PrintedRow, *endings: str, last: bool = False) -> str:
    """The cell under the heading that is one of these or ends with it: the shortest such heading, or the last column."""
    found = [pair for pair in row if pair[0].endswith(endings)]
    return (found[-1] if last else min(found, key=lambda pair: len(pair[0])))[1] if found else ""


def _heads(document: Document) -> list[Header]:
    every = [
        tuple(zip(table.headings, row, strict=True))
        for table in document.tables
        for row in table.rows
        if len(row) == len(table.headings)
    ]
    listed = [row for row in every if {"beginsnaptime", "instance"} <= {heading for heading, _ in row}]
    summary = next((row for row in every if any(heading.endswith("blocksize") for heading, _ in row)), ())
    return [
        Header(
            db_name=_at(summary, "databasename", "name"),
            dbid=dbid_in(_at(summary, "databaseid", "id")),
            instance=_at(row, "instance"),
            instance_number=int(row[0][1]) if row[0][1].isdecimal() else None,
            release=release_in(_at(row, "release")),
            cluster=_at(summary, "rac").upper() != "NO",  # one instance alone may be reported by this script, too
            host=_at(row, "host"),
            startup=moment_in(_at(row, "startup")),
            begin=moment_in(_at(row, "beginsnaptime")),
            end=moment_in(_at(row, "endsnaptime")),
            elapsed_minutes=real(_at(row, "elapsedtimemin")),
            db_time_minutes=real(_at(row, "dbtimemin")),
        )
        for row in listed
    ]


def _readings(document: Document, head: Header) -> Mapping[str, Reading]:
    number = str(head.instance_number)
    found: dict[str, Sequence[Mapping[str, Value]]] = {
        "v$sys_time_model": _times(document, number, head),
        "v$system_event": _events(document, number),
        "v$sysstat": [
            {"name": name, "value": value}
            for row in _rows(document, "System Statistics", number)
            for name, heading in COUNTS.items()
            if (value := count(dict(row).get(heading, ""))) is not None
        ],
        "v$osstat": _host(document, number),
        "v$parameter": _parameters(document, number),
    }
    return dict(_unread(head)) | {view: rows_of(view, rows) for view, rows in found.items() if rows}


def _unread(head: Header) -> Mapping[str, Reading]:
    """Every view as missing, with the report that has it."""
    why, own = "a global report does not print it", "run awrrpt.sql for the same snapshots"
    if head.cluster:
        why, own = "a report over all instances of a cluster does not print it for each instance", OWN_REPORT
    return {view: Missing(view, "unread", why, own) for view in READERS}


def _times(document: Document, number: str, head: Header) -> list[dict[str, Value]]:
    rows: dict[str, Value] = {}
    for row in _rows(document, "Time Model", number) if number else ():
        rows |= {name: micro(dict(row).get(heading, ""), "s") for name, heading in TIMES.items()}
    if rows.get("DB time") is None and head.db_time_minutes is not None:
        rows["DB time"] = round(head.db_time_minutes * 60e6)
    return [{"stat_name": name, "value": value} for name, value in rows.items() if value is not None]


@dataclass(frozen=True, slots=True)
class _Wait:
    event: str
    waits: int | float | None
    micros: int | None


def _waits(document: Document, title: str, of: str) -> list[_Wait]:
    """The waits listed for an instance, or for the whole cluster."""
    seconds = ("totals", "totalwaittimes", "totalwaittimesec", "waittimes")
    return [
        _Wait(plain(_at(row, "event")), count(_at(row, "waits")), micro(_at(row, *seconds), "s"))
        for row in _rows(document, title, of)
    ]


def _events(document: Document, of: str) -> list[dict[str, Value]]:
    """The longest waits of an instance, or of the whole cluster: those we follow, and what else sessions waited for."""
    everyone = _waits(document, "Top Timed Events", of)
    own = {wait.event: wait for wait in _waits(document, "Top Timed Foreground Events", of)}
    followed = [wait for wait in everyone if wait.event in asked("v$system_event") or wait.event in own or not own]
    rows = {str(row["event"]): row for row in top_alone((wait.event, wait.waits, wait.micros) for wait in followed)}
    for event, wait in own.items():
        if event in rows:
            rows[event] |= {"total_waits_fg": wait.waits, "time_waited_micro_fg": wait.micros}
    return list(rows.values())


def _host(document: Document, number: str) -> list[dict[str, Value]]:
    """The host of the instance. Its table heads both shares and seconds "busy" and "idle"; the seconds come last."""
    rows: list[dict[str, Value]] = []
    for row in _rows(document, "OS Statistics By Instance", number):
        levels = {"NUM_CPUS": real(_at(row, "cpus")), "LOAD": real(_at(row, "loadend"))}
        megabytes = real(_at(row, "memorym", "mb"))
        levels["PHYSICAL_MEMORY_BYTES"] = None if megabytes is None else round(megabytes * MEGABYTE)
        rows += [{"stat_name": name, "level_now": level} for name, level in levels.items() if level is not None]
        certain = sum(heading.endswith("busy") for heading, _ in row) == 2
        for name, word in {"BUSY_TIME": "busy", "IDLE_TIME": "idle"}.items() if certain else ():
            if (seconds := real(_at(row, word, last=True))) is not None:
                rows.append({"stat_name": name, "total": round(seconds * 100)})
    return rows


def _parameters(document: Document, number: str) -> Sequence[Row]:
    """Settings we follow. A row for all instances has no number or a star, a row without a name is of the one above."""
    found, names, name = dict[str, str](), set[str](), ""
    for row in _rows(document, "init.ora Parameters"):
        name = row[0][1] or name
        names.add(name)
        place = next((cell for heading, cell in row if heading in ("i", "inst")), "")
        if name in asked("v$parameter") and place in (number, WHOLE, ""):
            found[name] = _at(row, "endvalue", "different") or _at(row, "beginvalue")
    return settings({name: value for name, value in found.items() if value}, hidden_in_doubt(names)) if names else ()


def _whole_cluster(document: Document) -> list[str]:
    """What is printed of the cluster as a whole alone, as notes: no instance can be judged on it."""
    titles = ("Top Timed Events", "Foreground Wait Events (Global)")
    listed = [wait for title in titles for wait in _waits(document, title, WHOLE)]
    times = {wait.event: wait.micros for wait in sorted(listed, key=lambda each: each.micros or 0) if wait.micros}
    longest = dict.fromkeys((*list(times)[-1:], *ROW_CACHE_EVENTS))
    return [f"over all instances: {event}, {times[event] / 1e6:,.1f} s waited" for event in longest if event in times]


def _bound(document: Document, head: Header) -> list[str]:
    """Where no wait for the row cache is listed: how long it may be at most, as a note. An empty list where nothing is known."""
    listed = _waits(document, "Top Timed Events", str(head.instance_number))
    times = [wait.micros for wait in listed if wait.micros is not None]
    if not times or any(wait.event in ROW_CACHE_EVENTS for wait in listed):
        return []
    seconds, minutes = min(times) / 1e6, head.db_time_minutes
    share = f", {seconds / minutes / 0.6:.1f} % of DB time" if minutes else ""
    return [
        f"none of the {len(times)} longest waits is for the row cache; each of its waits took at most {seconds:,.1f} s{share}"
    ]
