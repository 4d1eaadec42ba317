"""The type of a reader of one view, and the small steps that readers share."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from collectors.model import Missing, Reading, Row, Value
from collectors.registry import collectors
from collectors.reports.tables import ReportTables


@dataclass(frozen=True, slots=True)
class Reader:
    """Which view is read from a report, and how. `read` gives Missing if its sections are not printed."""

    view: str
    read: Callable[[ReportTables], Reading]


@cache
def asked(view: str) -> tuple[str, ...]:
    """The names that our newest statement asks of a view. A reader ignores any others that a report prints."""
    statement = list(collectors()[view].statements.values())[-1]
    return tuple(re.findall(r"'([^']+)'", statement))


ANOTHER = "make the report again with all its sections, or diagnose what `latchscope script` writes"


def missing(view: str, title: str, way_out: str = ANOTHER) -> Missing:
    """A view whose section is not printed or is cut off."""
    return Missing(view, "unread", f"the report has no complete section {title}", way_out)


def added(values: Iterable[int | float | None]) -> int | float | None:
    """The sum. None if one of the values is unknown."""
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)


def known_cells(row: dict[str, Value]) -> Row:
    """The row without the columns of unknown value: absent, not NULL."""
    return {name: value for name, value in row.items() if value is not None}
