"""v$sysstat from the Instance Activity Stats sections. Later releases print several."""

from collectors.model import Reading, Rows
from collectors.reports.reader import Reader, asked, missing
from collectors.reports.tables import ReportTables

VIEW = "v$sysstat"
TITLE = "Instance Activity Stats"


def read(printed: ReportTables) -> Reading:
    """Totals of the statistics we follow. A statistic in two sections counts once."""
    sections = [
        printed.section(TITLE, "Other Instance Activity Stats", summary="This table displays Instance activity"),
        printed.section(f"Key {TITLE}", summary="This table displays Key Instance activity", wanted=False),
    ]
    if all(section is None for section in sections):
        return missing(VIEW, TITLE)
    found: dict[str, int | float | None] = {}
    for record in (row for section in sections for row in section or ()):
        name = record.name(asked(VIEW), "statistic")
        if name in asked(VIEW):
            found.setdefault(name, record.count("total", "value"))
    return Rows(VIEW, tuple({"name": name, "value": value} for name, value in found.items() if value is not None))


SYSSTAT = Reader(VIEW, read)
