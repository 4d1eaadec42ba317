"""Every reader of `collectors/reports/sections`, found by scanning; a module that is wrong is said loudly."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from collectors.model import Missing, Reading, Row, Value
from collectors.registry import collectors
from collectors.reports import sections
from collectors.reports.tables import ReportTables


class BadReader(Exception):
    """A module below collectors/reports/sections that does not hold exactly one sound Reader."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Which view is read from a report, and how; `read` gives Missing where its sections are not printed."""

    view: str
    read: Callable[[ReportTables], Reading]


@cache
def readers() -> Mapping[str, Reader]:
    """View name → reader."""
    found: dict[str, Reader] = {}
    for module in pkgutil.iter_modules(sections.__path__, f"{sections.__name__}."):
        own = [value for value in vars(importlib.import_module(module.name)).values() if isinstance(value, Reader)]
        if len(own) != 1:
            raise BadReader(f"{module.name} holds {len(own)} readers; each module of sections holds exactly one")
        if own[0].view not in collectors():
            raise BadReader(f"{module.name} reads {own[0].view}, which no collector declares")
        if own[0].view in found:
            raise BadReader(f"{module.name} reads {own[0].view} a second time; keep one")
        found[own[0].view] = own[0]
    return found


@cache
def asked(view: str) -> tuple[str, ...]:
    """The names our newest statement asks of a view: what a report prints beyond them is left alone likewise."""
    statement = list(collectors()[view].statements.values())[-1]
    return tuple(re.findall(r"'([^']+)'", statement))


ANOTHER = "make the report again with all its sections, or diagnose what `latchscope script` writes"


def missing(view: str, title: str, way_out: str = ANOTHER) -> Missing:
    """A view whose section the report does not print, or that the end of the file cuts off."""
    return Missing(view, "unread", f"the report has no complete section {title}", way_out)


def added(values: Iterable[int | float | None]) -> int | float | None:
    """The sum, or None when one of the values is unknown."""
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)


def known_cells(row: dict[str, Value]) -> Row:
    """The row without the columns nobody could tell: absent, not NULL."""
    return {name: value for name, value in row.items() if value is not None}
