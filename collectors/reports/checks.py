"""Whether the figures of a report agree with each other, and whether all of them are there.

Figures that disagree are unknown: nobody can tell which is right. Of a report that lost some nobody can tell that it is well.
"""

from collections.abc import Iterator, Mapping

from collectors.model import Missing, Reading, Rows, number
from collectors.release import at_least
from collectors.reports.header import Header
from collectors.reports.sections import TOP, asked, waited
from collectors.reports.tables import RESEND, ReportTables

LEAST, SHARE = 5e6, 0.1
"""Two sections may differ by so many microseconds, or by this share: both are rounded, and one may count background processes."""


def checked(readings: Mapping[str, Reading], printed: ReportTables, head: Header) -> Mapping[str, Reading]:
    """The views of a report, those whose sections contradict another section missing, with the reason."""
    reasons = {"v$sys_time_model": _db_time(readings, printed), "v$system_event": _events(readings, printed)}
    if reasons["v$sys_time_model"]:
        reasons["v$system_event"] = reasons["v$sys_time_model"]  # no wait has a share of a time that is unknown
    printed.lost |= dict.fromkeys(filter(None, reasons.values()))
    found = {view: Missing(view, "failed", why, RESEND) for view, why in reasons.items() if why}
    return {**readings, **found}


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > max(LEAST, SHARE * max(one, other))


def _db_time(readings: Mapping[str, Reading], printed: ReportTables) -> str | None:
    reading, at_head = readings["v$sys_time_model"], printed.db_time_micro
    rows = reading.rows if isinstance(reading, Rows) else ()
    own = next((number(row.get("value")) for row in rows if row["stat_name"] == "DB time"), None)
    if own is None or at_head is None or not _apart(own, at_head):
        return None
    return f"Time Model Statistics has {own / 1e6:,.1f} s of DB time, and the head of the report {at_head / 1e6:,.1f} s"


def _events(readings: Mapping[str, Reading], printed: ReportTables) -> str | None:
    """The first wait of the report's own list of the longest that the whole list does not have, or has with another time."""
    reading = readings["v$system_event"]
    if not isinstance(reading, Rows):
        return None
    found = {str(row["event"]): row for row in reading.rows}
    for row in printed.section(TOP) or ():
        event, listed = row.name((*found, *asked("v$system_event"))), waited(row)
        own = found.get(event, {"time_waited_micro": 0} if event in asked("v$system_event") else {})
        if listed is None:
            continue
        times = [number(own.get(column)) for column in ("time_waited_micro_fg", "time_waited_micro")]
        known = [time for time in times if time is not None]
        if known and all(_apart(time, listed) for time in known):
            whole = f"{known[0] / 1e6:,.1f} s"
            return f"Top Timed Events has {listed / 1e6:,.1f} s of {event}, and the list of all wait events {whole}"
    return None


# What a report has lost.

NARROWEST = 75
"""Each text report has lines of nearly 80 signs."""
ALWAYS_THERE = {
    "Time Model Statistics": {"DB time": 0.0, "DB CPU": LEAST},
    "Operating System Statistics": {"NUM_CPUS": 0.0, "BUSY_TIME": 0.0, "IDLE_TIME": 0.0},
}
"""Rows that a section has wherever it has any and DB time is larger than so many microseconds."""


def lost(content: str, readings: Mapping[str, Reading], printed: ReportTables, head: Header) -> Iterator[str]:
    """What a report no longer has that it was printed with, in words, as far as one can see it: the verdict may need it."""
    newer = head.release is not None and at_least(head.release, "11")
    times = {"elapsed time": head.elapsed_minutes, "begin": head.begin, "end": head.end, "release": head.release}
    times |= {"DB time": head.db_time_minutes} if newer or printed.kind == "AWR" else {}
    times |= {"startup time": head.startup} if newer else {}
    if printed.kind != "compare":
        yield from (f"its head has no {name}" for name, value in times.items() if value is None)
        yield from (f"lines of {title} are lost" for title in printed.document.torn)
    if printed.document.form == "text" and (width := max(map(len, content.split("\n")))) < NARROWEST:
        yield f"its lines end at column {width}"
    yield from (f"{title} is not read: {why}" for title, why in printed.unread.items())
    yield from printed.lost
    if isinstance(readings["v$system_event"], Missing) and not printed.hollow:
        yield "its waits are not read"
    db_time = printed.db_time_micro or 0
    for title, names in ALWAYS_THERE.items():
        known = {row.name(tuple(names)) for row in printed.section(title, quiet=True) or ()}
        yield from (
            f"{title} has no {name}" for name, least in names.items() if known and name not in known and db_time > least
        )
    yield from _lacking(printed)


def _lacking(printed: ReportTables) -> Iterator[str]:
    """What one section lists and another must have, too."""
    every = {row.text("name")[:24] for row in printed.section("Latch Activity") or ()}
    some = {row.text("name")[:24] for row in printed.section("Latch Sleep Breakdown") or ()}
    yield from (f"Latch Activity has no {name}" for name in sorted(some - every) if every and name[:1].isalpha())
    top = {row.text("event")[:26]: waited(row) for row in printed.section(TOP) or ()}
    least = min((time for time in top.values() if time is not None), default=0)
    for row in printed.section("Foreground Wait Events", quiet=True) or () if least else ():
        time = waited(row) if row.number("share") else None  # idle events have none
        if row.text("event")[:26] not in top and time is not None and time > least and _apart(time, least):
            yield f"{TOP} has no {row.text('event')}"
