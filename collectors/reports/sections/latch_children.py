"""v$latch_children from Child Latch Statistics, which is empty unless the snapshots were taken at a higher level."""

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Reading, Rows, Value
from collectors.reports.reader import Reader, known_cells
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$latch_children"
TITLE = "Child Latch Statistics"
WHY = (
    "the report has no child latches of row cache objects: "
    "Child Latch Statistics is empty at the default statistics level"
)


def read(printed: ReportTables) -> Reading:
    """Children of the row cache latch, if the snapshots have them. Their wait time is not printed."""
    records = printed.section(TITLE, "Child Latch", summary="This table displays child latch", wanted=False) or ()
    rows = [
        _row(record) for record in records if record.name((ROW_CACHE_LATCH,), "latchname", "latch") == ROW_CACHE_LATCH
    ]
    if not rows:
        return Missing(VIEW, "unread", WHY, SCRIPT)
    return Rows(VIEW, tuple(known_cells(row) for row in rows if row["child#"] is not None))


def _row(row: ReportRow) -> dict[str, Value]:
    return {
        "child#": row.count("childnum", "child"),
        "gets": row.count("getrequests", "gets"),
        "misses": row.count("misses"),
        "sleeps": row.count("sleeps"),
        "spin_gets": row.count("spingets"),
    }


LATCH_CHILDREN = Reader(VIEW, read)
