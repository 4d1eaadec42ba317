"""v$sga_resize_ops from Memory Resize Ops: whether the shared pool grew or shrank."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$sga_resize_ops"
TITLE = "Memory Resize Ops"
MEGABYTE = 2**20
OPERATIONS = {"GRO": "GROW", "SHR": "SHRINK"}


def read(printed: ReportTables) -> Reading:
    """Resizes of the shared pool within the interval. An empty section means none."""
    records = printed.section(TITLE, summary="This table displays memory resize ops", wanted=False)
    if records is None:
        return missing(VIEW, TITLE)
    rows = [_row(record) for record in records if record.text("component").startswith("shared")]
    return Rows(VIEW, tuple(known_cells(row) for row in rows if row["oper_type"]))


def _row(row: ReportRow) -> dict[str, Value]:
    before, after = row.real("initsizem", "initm"), row.real("finalm", "final")
    return {
        "component": "shared pool",
        "start_time": row.text("start", "starttime"),
        "oper_type": OPERATIONS.get(row.text("opertypmod", "opertypemode")[:3].upper()),
        "initial_size": None if before is None else round(before * MEGABYTE),
        "final_size": None if after is None else round(after * MEGABYTE),
    }


SGA_RESIZE_OPS = Reader(VIEW, read)
