"""v$latch_children from Child Latch Statistics, which stays empty unless somebody asked Oracle for children."""

from collectors.model import ROW_CACHE_LATCH, SCRIPT, Missing, Reading, Rows, Value
from collectors.reports.readers import Reader, told
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$latch_children"
TITLE = "Child Latch Statistics"
WHY = (
    "the report has no child latches of row cache objects: "
    "Child Latch Statistics is empty at the default statistics level"
)


def read(printed: ReportTables) -> Reading:
    """Children of the row cache latch, where the snapshots were taken with them; nobody tells their wait time."""
    records = printed.section(TITLE, "Child Latch", summary="This table displays child latch", wanted=False) or ()
    rows = [_row(one) for one in records if one.name((ROW_CACHE_LATCH,), "latchname", "latch") == ROW_CACHE_LATCH]
    if not rows:
        return Missing(VIEW, "unread", WHY, SCRIPT)
    return Rows(VIEW, tuple(told(row) for row in rows if row["child#"] is not None))


def _row(one: ReportRow) -> dict[str, Value]:
    return {
        "child#": one.count("childnum", "child"),
        "gets": one.count("getrequests", "gets"),
        "misses": one.count("misses"),
        "sleeps": one.count("sleeps"),
        "spin_gets": one.count("spingets"),
    }


LATCH_CHILDREN = Reader(VIEW, read)
