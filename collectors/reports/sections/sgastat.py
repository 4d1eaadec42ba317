"""v$sgastat from SGA breakdown difference: the row cache's part of the shared pool, and what is free."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$sgastat"
TITLE = "SGA breakdown difference"
NOTE = "only the large components of the pools are printed, in megabytes to one or two decimals"
MEGABYTE = 2**20


def read(printed: ReportTables) -> Reading:
    """Components of the shared pool we follow, at the end of the interval."""
    titles = (TITLE, f"{TITLE} by Pool and Name")
    records = printed.section(*titles, summary="This table displays SGA breakdown difference", wanted=False)
    if records is None:
        return missing(VIEW, TITLE)
    rows = [
        _row(record)
        for record in records
        if record.text("pool").startswith("shared") and _followed(record.text("name"))
    ]
    return Rows(VIEW, tuple(row for row in rows if "bytes" in row), (NOTE,))


def _followed(name: str) -> bool:
    return name == "free memory" or name.startswith(("KQR", "row cache"))


def _row(row: ReportRow) -> dict[str, Value]:
    end, whole = row.real("endmb"), row.count("endvalue")
    size = whole if end is None else round(end * MEGABYTE)
    named: dict[str, Value] = {"pool": "shared pool", "name": row.text("name")}
    return named if size is None else named | {"bytes": size}


SGASTAT = Reader(VIEW, read)
