"""v$osstat from Operating System Statistics: times and paging are printed as changes, the rest as levels."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, asked, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$osstat"
TITLE = "Operating System Statistics"
LEVELS = ("NUM_CPUS", "NUM_CPU_CORES", "LOAD", "PHYSICAL_MEMORY_BYTES")


def read(printed: ReportTables) -> Reading:
    """Host statistics we follow. A level has its end value. The head gives the number of processors if the section does not."""
    records = printed.section(TITLE, "OS Statistics", summary="This table displays operating systems statistics")
    rows = {
        record.text("statistic", "statisticname"): _row(record)
        for record in records or ()
        if record.text("statistic", "statisticname") in asked(VIEW)
    }
    if printed.cpus is not None and "NUM_CPUS" not in rows:
        rows["NUM_CPUS"] = {"stat_name": "NUM_CPUS", "level_now": printed.cpus}
    if records is None and not rows:
        return missing(VIEW, TITLE)
    return Rows(VIEW, tuple(row for row in rows.values() if len(row) > 1))


def _row(row: ReportRow) -> dict[str, Value]:
    name, value, end = (
        row.text("statistic", "statisticname"),
        row.count("value", "total", "valuecentiseconds"),
        row.count("endvalue"),
    )
    known = {"level_now": value if end is None else end} if name in LEVELS else {"total": value}
    return {"stat_name": name} | {column: cell for column, cell in known.items() if cell is not None}


OSSTAT = Reader(VIEW, read)
