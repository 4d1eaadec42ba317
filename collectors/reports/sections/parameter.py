"""v$parameter from init.ora Parameters, which lists only changed settings."""

from collectors.model import Reading, Rows
from collectors.reports.reader import Reader, asked, missing
from collectors.reports.tables import ReportTables

VIEW = "v$parameter"
TITLE = "init.ora Parameters"
OTHERS = ("Modified Parameters", "init.ora Parameters Modified by this Container", "init.ora Parameters Multi-Valued")
NOTE = "a report lists only parameters that are not at their default"


def read(printed: ReportTables) -> Reading:
    """Settings we follow. The end value counts where it differs from the begin value."""
    records = printed.section(TITLE, *OTHERS, summary="This table displays name and value of")
    if records is None:
        return missing(VIEW, TITLE)
    found: dict[str, str] = {}
    for record in records:
        name = record.name(asked(VIEW), "parametername", "parameter")
        value = record.text("endvalueifdifferent", "endvalue") or record.text("beginvalue", "value")
        if name in asked(VIEW) and value:
            found.setdefault(name, value)
    rows = tuple({"name": name, "value": value, "isdefault": "FALSE"} for name, value in found.items())
    return Rows(VIEW, rows, (NOTE,))


PARAMETER = Reader(VIEW, read)
