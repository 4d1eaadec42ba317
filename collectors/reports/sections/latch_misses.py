"""v$latch_misses from Latch Miss Sources: where holders and waiters of the latches we follow were."""

from collectors.model import Reading, Rows, Value
from collectors.reports.reader import Reader, added, asked, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$latch_misses"
TITLE = "Latch Miss Sources"
LONG_LOCATIONS = ("kqrpre1: post after loading",)
"""Locations longer than the 26 characters of their column in a text report."""


def read(printed: ReportTables) -> Reading:
    """Miss locations. A report lists only latches with sleeps, so ours may be absent."""
    records = printed.section(TITLE, summary="This table displays latch miss sources")
    if records is None:
        return missing(VIEW, TITLE)
    found: dict[tuple[str, str], list[ReportRow]] = {}
    for record in records:
        latch = record.name(asked(VIEW), "latchname", "latch")
        if latch in asked(VIEW):
            found.setdefault((latch, record.name(LONG_LOCATIONS, "where")), []).append(record)
    return Rows(VIEW, tuple(known_cells(_row(key, ones)) for key, ones in found.items()))


def _row(key: tuple[str, str], records: list[ReportRow]) -> dict[str, Value]:
    return {
        "parent_name": key[0],
        "location": key[1],
        "nwfail_count": added(record.count("nowaitmisses") for record in records),
        "sleep_count": added(record.count("sleeps") for record in records),
        "wtr_slp_count": added(record.count("waitersleeps") for record in records),
    }


LATCH_MISSES = Reader(VIEW, read)
