"""v$sys_time_model from Time Model Statistics. Without that section DB time comes from the head."""

from collectors.model import Reading, Row, Rows, Value
from collectors.reports.reader import Reader, asked, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$sys_time_model"
TITLES = ("Time Model Statistics", "Time Model System Stats")
SUMMARY = "This table displays different time model"
SECONDS = ("times", "timeseconds")
ZERO_NOTE = "the section lists only statistics that grew, so one that is not listed is 0"
HEAD_NOTE = "DB time is that of the report's head"


def read(printed: ReportTables) -> Reading:
    """Time model in microseconds, printed to a tenth of a second."""
    records = printed.section(*TITLES, summary=SUMMARY)
    if records is None:
        if printed.db_time_micro is None:
            return missing(VIEW, TITLES[0])
        return Rows(VIEW, ({"stat_name": "DB time", "value": printed.db_time_micro},), (HEAD_NOTE,))
    listed = {record.name(asked(VIEW), "statisticname", "statistic"): record.micro("s", *SECONDS) for record in records}
    if listed.get("DB time") is None and printed.db_time_micro is not None:
        listed["DB time"] = printed.db_time_micro
    values: dict[str, Value] = {name: listed.get(name, 0 if "DB time" in listed else None) for name in asked(VIEW)}
    rows: tuple[Row, ...] = tuple(
        {"stat_name": name, "value": value} for name, value in values.items() if value is not None
    )
    return Rows(VIEW, rows, (ZERO_NOTE,))


def db_time(printed: ReportTables) -> ReportRow | None:
    """DB time as printed. Other sections print shares of it."""
    records = printed.section(*TITLES, summary=SUMMARY, wanted=False) or ()
    return next((record for record in records if record.text("statisticname", "statistic") == "DB time"), None)


SYS_TIME_MODEL = Reader(VIEW, read)
