"""v$mutex_sleep from Mutex Sleep Summary (AWR, milliseconds) or Mutex Sleep (Statspack, seconds)."""

from collectors.model import Reading, Rows, Value
from collectors.reports.readers import Reader, added, asked, missing, told
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$mutex_sleep"
TITLE = "Mutex Sleep Summary"


def read(printed: ReportTables) -> Reading:
    """Sleeps on row cache mutexes by location; none listed means that nobody slept."""
    records = printed.section(TITLE, "Mutex Sleep", summary="This table displays the mutex sleep summary")
    if records is None:
        return missing(VIEW, TITLE)
    found: dict[str, list[ReportRow]] = {}
    for one in records:
        if one.text("mutextype") in asked(VIEW):
            found.setdefault(one.text("location"), []).append(one)
    return Rows(VIEW, tuple(told(_row(location, ones)) for location, ones in found.items()))


def _row(location: str, records: list[ReportRow]) -> dict[str, Value]:
    return {
        "mutex_type": records[0].text("mutextype"),
        "location": location,
        "sleeps": added(one.count("sleeps") for one in records),
        "wait_time": added(_waited(one) for one in records),
    }


def _waited(one: ReportRow) -> int | None:
    if "waittimems" in one.cells:
        return one.micro("ms", "waittimems")
    return one.micro("us", "waittimeus") if "waittimeus" in one.cells else one.micro("s", "waittimes")


MUTEX_SLEEP = Reader(VIEW, read)
