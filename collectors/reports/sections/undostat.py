"""v$undostat from Undo Segment Stats: concurrency and retention of undo in ten-minute rows."""

import re
from datetime import datetime, timedelta

from collectors.model import Reading, Row, Rows
from collectors.reports.header import month_of
from collectors.reports.reader import Reader, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$undostat"
TITLE = "Undo Segment Stats"
NEWEST = 6
"""Rows of the last hour, as many as a poll reads."""


def read(printed: ReportTables) -> Reading:
    """The newest rows. The report prints the end of each without its year."""
    records = printed.section(TITLE, summary="This table displays the 35 most recent Undostat rows", wanted=False)
    if records is None:
        return missing(VIEW, TITLE)
    rows = [row for record in records if (row := _row(record, printed.year))]
    return Rows(VIEW, tuple(sorted(rows, key=lambda row: str(row["begin_time"]), reverse=True)[:NEWEST]))


def _row(row: ReportRow, year: int | None) -> Row | None:
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


UNDOSTAT = Reader(VIEW, read)
