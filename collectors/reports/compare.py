"""AWR compare-periods reports (awrddrpt.sql): splits one document into its two periods."""

import re
from dataclasses import replace

from collectors.reports.header import Header, dbid_in, moment_in, release_in
from collectors.reports.numbers import count, real
from collectors.reports.tables import Document, Table

PERIODS = ("1st", "2nd")
NOTE = "a compare-periods report prints no miss locations, no whole latch list and waits without their number"
UNREADABLE = (
    "is a compare-periods report without readable latches, dictionary caches or wait events in either period; "
    "make it as HTML (awrddrpt.sql, html), or run awrrpt.sql for each period"
)
UNIT_NOTE = "wait time of latches is not used: the report heads it centiseconds and prints microseconds"


def period(document: Document, which: str) -> Document:
    """The document as a report of one period only. `which` is 1st or 2nd, as in its column headings."""
    other = PERIODS[1 - PERIODS.index(which)]
    tables = tuple(_only(table, which, other) for table in document.tables)
    return replace(document, tables=tables)


def _only(table: Table, which: str, other: str) -> Table:
    kept = [i for i, name in enumerate(table.headings) if not _foreign(name, other)]
    own = tuple(table.headings[i].removesuffix(which).removeprefix(which) for i in kept)
    rows = tuple(tuple(row[i] for i in kept if i < len(row)) for row in table.rows)
    widths = tuple(table.widths[i] for i in kept if i < len(table.widths))
    return replace(table, headings=own, rows=rows, widths=widths)


def _foreign(heading: str, other: str) -> bool:
    return heading.startswith(other) or heading.endswith((other, "diff"))


def header_of(document: Document, which: str) -> Header:
    """The head of one period. `document` is the whole document; its first blocks have a row per period."""
    cells = {name: cell for row in _rows_of(document, which) for name, cell in row.items() if cell}
    number = count(cells.get("instnum", ""))
    return Header(
        db_name=cells.get("dbname") or cells.get("uniquename", ""),
        dbid=dbid_in(cells.get("dbid", "")),
        instance=cells.get("instance", ""),
        instance_number=number if isinstance(number, int) else None,
        release=release_in(cells.get("release", "")),
        cluster={"YES": True, "NO": False}.get((cells.get("cluster") or cells.get("rac", "")).upper()),
        host=cells.get("host", ""),
        cpus=_cpus(document, which),
        begin=moment_in(cells.get("beginsnaptime", "")),
        end=moment_in(cells.get("endsnaptime", "")),
        db_time_minutes=real(cells.get("dbtimemin", "")),
    )


def _rows_of(document: Document, which: str) -> list[dict[str, str]]:
    """The rows of this period in the blocks of the head, which begin "First (1st)" or "1st"."""
    return [
        dict(zip(table.headings, row, strict=False))
        for table in document.tables
        if table.headings[:1] == ("snapshotset",)
        for row in table.rows
        if re.search(rf"\b{which}\b", row[0])
    ]


def _cpus(document: Document, which: str) -> int | None:
    for table in document.tables:
        for row in table.rows:
            if row[0] == "Number of CPUs:" and which in table.headings:
                number = count(row[table.headings.index(which)])
                return number if isinstance(number, int) else None
    return None
