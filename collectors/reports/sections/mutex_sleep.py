"""v$mutex_sleep from Mutex Sleep Summary (AWR, milliseconds) or Mutex Sleep (Statspack, seconds)."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, added, asked, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$mutex_sleep"
TITLE = "Mutex Sleep Summary"


def read(printed: ReportTables) -> Reading:
    """Sleeps on row cache mutexes by location. An empty list means that no session slept."""
    records = printed.section(TITLE, "Mutex Sleep", summary="This table displays the mutex sleep summary")
    if records is None:
        return missing(VIEW, TITLE)
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        if record.text("mutextype") in asked(VIEW):
            found.setdefault(record.text("location"), []).append(record)
    return Rows(VIEW, tuple(known_cells(_row(location, ones)) for location, ones in found.items()))


def _row(location: str, records: list[ReportRow]) -> dict[str, Value]:
    return {
        "mutex_type": records[0].text("mutextype"),
        "location": location,
        "sleeps": added(record.count("sleeps") for record in records),
        "wait_time": added(_waited(record) for record in records),
    }


def _waited(row: ReportRow) -> int | None:
    if "waittimems" in row.cells:
        return row.micro("ms", "waittimems")
    return row.micro("us", "waittimeus") if "waittimeus" in row.cells else row.micro("s", "waittimes")


MUTEX_SLEEP = Reader(VIEW, read)
