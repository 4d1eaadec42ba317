"""ASH reports: samples of active sessions. They name the wait, and often the cache and who holds it; they have no counters."""

import re

from collectors.delta import reported
from collectors.errors import InputError
from collectors.model import Basis, Delta, Missing, Reading, Row, Rows
from collectors.reports.header import Header, moment_in
from collectors.reports.sections import READERS, ROW_CACHE_EVENTS, rows_of, top_alone
from collectors.reports.tables import real
from collectors.reports.undo import TAG

NOTE = (
    "an ASH report has samples of active sessions: waits and DB time are sessions on average times the seconds, and an event "
    "that it does not list is unknown"
)
WHY, AWR = "an ASH report has samples of sessions, no counters", "run awrrpt.sql for the same time"
CACHES = {
    0: "dc_tablespaces", 2: "dc_segments", 3: "dc_rollback_segments", 5: "dc_tablespace_quotas", 6: "dc_files", 7: "dc_users",
    8: "dc_objects", 10: "dc_users", 12: "dc_constraints", 13: "dc_sequences", 16: "dc_histogram_defs", 17: "dc_global_oids",
}  # fmt: skip
"""The caches by the number in P1, which these keep from 10.2 to 19c."""
_EVENTS = "|".join(ROW_CACHE_EVENTS)
_TOP = re.compile(r"^ *(\S[^\n\t]{1,60}?) {2,}[A-Z][A-Za-z/ ]{1,20} {2,}([\d.,]+) +([\d.,]+) *$", re.MULTILINE)
_VALUES = re.compile(rf'^ *({_EVENTS}) +[\d.]+ +"(\d+)", ?"(\d+)", ?"(\d+)" +([\d.]+)', re.MULTILINE)
_BLOCKER = re.compile(rf"^ *(\d+), *(\d+) ?\( *(\d+)\) +[\d.]+ +({_EVENTS}) +([\d.]+)", re.MULTILINE)
_CELL_ENDS = re.compile(r"</t[dh]>\s*", re.IGNORECASE)


# The lines that count are alike in text and in a page, once each row of the page is a line.


def read(content: str, head: Header, name: str) -> Delta:
    """The time of an ASH report as an interval, each wait as its sessions on average. Raises InputError."""
    text = _lines(content)
    begin, end = (moment_in(_behind(f"Analysis {which} Time", text)) for which in ("Begin", "End"))
    active, minutes = real(_behind("Average Active Sessions", text)), real(_behind("Elapsed Time", text).split(" ")[0])
    seconds = minutes * 60 if minutes else (end - begin).total_seconds() if begin and end else None
    section = text.partition("Top User Events")[2].partition("Top ")[0] or text
    waits = [(row[1].strip(), real(row[3])) for row in _TOP.finditer(section)]
    if not seconds or not active or not waits:
        raise InputError(f"{name} is an ASH report whose times and events cannot be read; {AWR}")
    micros = [
        (event, None, round(sessions * seconds * 1e6)) for event, sessions in waits if sessions and "CPU" not in event
    ]
    readings: dict[str, Reading] = {view: Missing(view, "unread", WHY, AWR) for view in READERS}
    if events := top_alone(micros):
        readings["v$system_event"] = rows_of("v$system_event", events)
    readings["v$sys_time_model"] = rows_of(
        "v$sys_time_model", [{"stat_name": "DB time", "value": round(active * seconds * 1e6)}]
    )
    notes, caches = [f"ASH: {event}, {sessions:g} sessions on average" for event, sessions in waits[:1]], list[Row]()
    for event, first, mode, request, share in (found.groups() for found in _VALUES.finditer(text)):
        cache = CACHES.get(int(first), f"cache id {first}") if event != ROW_CACHE_EVENTS[0] else "unknown"
        caches += [{"cache#": int(first), "parameter": cache, "waited_for": real(share)}]
        notes.append(f"ASH: {event} for {cache}, mode {mode}, request {request}: {share} % of the samples")
    for sid, serial, instance, event, share in (found.groups() for found in _BLOCKER.finditer(text)):
        notes.append(f"ASH: session {sid},{serial}@{instance} blocks {event} in {share} % of the samples")
    if caches:
        readings["v$rowcache"] = Rows("v$rowcache", tuple(caches[:1]), ("only the cache that sessions waited for",))
    readings["v$instance"] = Rows("v$instance", (head.row,))
    basis = Basis("interval", begin, end, seconds)
    return reported(head.database, head.release, basis, readings, (NOTE, *notes), dbid=head.dbid)


def _lines(content: str) -> str:
    """The text; of a page each row on a line, its cells parted by blanks."""
    if "<t" not in content.lower():
        return content
    rows = re.split(r"</tr>|</h\d>|</p>", content, flags=re.IGNORECASE)
    return "\n".join(" ".join(TAG.sub("", _CELL_ENDS.sub("\f", row)).replace("\f", "   ").splitlines()) for row in rows)


def _behind(label: str, text: str) -> str:
    """The rest of the line after a label."""
    at = text.find(label)
    return text[at + len(label) :].partition("\n")[0].lstrip(": ").strip() if at >= 0 else ""
