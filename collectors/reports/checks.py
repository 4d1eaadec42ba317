"""Whether the figures of a report agree with each other. Those that do not are unknown: nobody can tell which is right."""

from collections.abc import Mapping

from collectors.model import Missing, Reading, Rows, number
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
    for why in dict.fromkeys(reasons.values()):
        if why:
            printed.notes[why] = None
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
            told = f"{known[0] / 1e6:,.1f} s"
            return f"Top Timed Events has {listed / 1e6:,.1f} s of {event}, and the list of all wait events {told}"
    return None
