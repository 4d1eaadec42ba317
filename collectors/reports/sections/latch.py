"""v$latch from Latch Activity (gets, wait time) and Latch Sleep Breakdown (misses, sleeps and spin gets, exact)."""

from collections.abc import Iterable

from collectors.model import Reading, Rows, Value
from collectors.reports.numbers import count
from collectors.reports.reader import Reader, added, asked, known_cells, missing
from collectors.reports.tables import ReportRow, ReportTables

VIEW = "v$latch"
ACTIVITY, BREAKDOWN = "Latch Activity", "Latch Sleep Breakdown"
WAIT_NOTE = "wait_time of latches is printed in whole seconds, so 0 means less than half a second"
SLEEPS_NOTE = "a latch that Latch Sleep Breakdown does not list did not sleep; it lists only latches with sleeps"
MISSES_NOTE = "misses of a latch without sleeps are its gets times a rounded percentage"


def read(printed: ReportTables) -> Reading:
    """Latches we follow. Without a line in the breakdown a latch has zero sleeps; without the breakdown they are unknown."""
    activity = printed.section(ACTIVITY, summary="This table displays latch statistics")
    breakdown = printed.section(BREAKDOWN, summary="This table displays latch sleep statistics")
    if activity is None and breakdown is None:
        return missing(VIEW, ACTIVITY)
    rows: dict[str, dict[str, Value]] = {}
    for name, records in _by_name(activity or ()).items():
        rows[name] = {
            "name": name,
            "gets": added(record.count("getrequests") for record in records),
            "wait_time": added(record.micro("s", "waittimes") for record in records),
        }
        if breakdown is not None:
            rows[name] |= {"sleeps": 0, "misses": _few_misses(records)}
    for name, records in _by_name(breakdown or ()).items():
        rows[name] = rows.get(name, {"name": name}) | _exact(records)
    notes = (WAIT_NOTE, *((SLEEPS_NOTE, MISSES_NOTE) if breakdown is not None else ()))
    return Rows(VIEW, tuple(known_cells(row) for row in rows.values()), notes)


def _exact(records: list[ReportRow]) -> dict[str, Value]:
    columns = {"gets": "getrequests", "misses": "misses", "sleeps": "sleeps"}
    exact: dict[str, Value] = {
        column: added(record.count(heading) for record in records) for column, heading in columns.items()
    }
    return exact | {"spin_gets": added(_spin_gets(record) for record in records)}


def _spin_gets(row: ReportRow) -> int | float | None:
    """Spin gets; 9.2 prints them before the sleeps in one column: 60831/377/0/0/0."""
    together = row.text("spinsleeps14")
    return count(together.partition("/")[0]) if together else row.count("spingets")


def _few_misses(records: list[ReportRow]) -> Value:
    """Misses of a latch without sleeps, from the percentage. 0.0 % of many gets may still be some, so it is unknown."""
    found: list[int | float | None] = []
    for record in records:
        gets, percent = record.count("getrequests"), record.real("pctgetmiss")
        derived = round(gets * percent / 100) if gets and percent and 0 < percent <= 100 else None
        found.append(0 if gets == 0 else derived)
    return added(found)


def _by_name(records: Iterable[ReportRow]) -> dict[str, list[ReportRow]]:
    """The records of each latch we follow. There are several if a CDB report splits them by PDB."""
    found: dict[str, list[ReportRow]] = {}
    for record in records:
        name = record.name(asked(VIEW), "latchname", "latch")
        if name in asked(VIEW):
            found.setdefault(name, []).append(record)
    return found


LATCH = Reader(VIEW, read)
