"""An interval as SQL*Plus prints it: the AWR report and the Statspack report as text, page by page."""

from collections.abc import Iterable, Iterator

from . import row_cache_sections as cache
from . import time_sections as time
from .as_html import sections
from .interval import Interval
from .tables import Cell, Column, Table
from .text_heads import awr_head, statspack_head

PAGE = 7
"""Rows of a page here. Oracle's pages are longer; ours are short so that a small report has sections of several pages."""
WIDE = 78


def awr(told: Interval) -> str:
    """The AWR report: headings run across the page, and a form feed begins each page."""
    lines = [*awr_head(told), *_top(told)]
    for table in sections(told):
        lines += _pages(told, table, lambda page: _across(told, page.name), statspack=False)
    return "\n".join((*lines, "\fEnd of Report", ""))


def statspack(told: Interval) -> str:
    """The Statspack report: headings are short, and cells without a value stay empty."""
    lines = [*statspack_head(told)]
    for table in _statspack_sections(told):
        lines += _pages(told, table, lambda page: _beside(told, page.name), statspack=True)
    return "\n".join((*lines, "", "                                 End of Report", ""))


def _statspack_sections(told: Interval) -> Iterator[Table]:
    found = (
        time.time_model(told, True),
        time.foreground(told, True),
        time.background(told, True),
        time.both(told) if told.version >= (11,) else None,
        time.activity(told, True),
        time.absolute(told, True) if told.version >= (10,) else None,
        time.host(told, True),
        cache.activity(told, True),
        cache.breakdown(told, True),
        cache.sources(told),
        cache.mutexes(told, True),
        cache.children(told) if told.children else None,
        cache.caches(told, True),
        cache.library(told),
        time.parameters(told),
    )
    return (table for table in found if table is not None)


def _across(told: Interval, name: str) -> str:
    right = f"DB/Inst: {told.database}/{told.instance}  Snaps: {told.snaps[0]}-{told.snaps[1]}"
    return (name.ljust(WIDE - len(right)) + right)[:WIDE]


def _beside(told: Interval, name: str) -> str:
    first, last = told.snaps
    if told.version < (10,):
        return f"{name} for DB: {told.database}  Instance: {told.instance}  Snaps: {first} -{last}"
    return f"{name}  DB/Inst: {told.database}/{told.instance}  Snaps: {first}-{last}"


def _pages(told: Interval, table: Table, heading: object, statspack: bool) -> list[str]:
    assert callable(heading)
    end = "          -------------------------------------------------------------"
    if not table.rows:
        return [heading(table), "", "                  No data exists for this section of the report.", end, ""]
    notes = [f"-> {note}".replace("     ", "\n   ") for note in table.notes]
    head = [*notes, "", *_headings(table.columns)]
    lines: list[str] = []
    for number in range(0, len(table.rows), PAGE):
        feed = "\f" if number or _begins_a_page(table.name) else ""
        feed += "\n" if feed and told.version >= (12, 2) else ""
        lines += [f"{feed}{heading(table)}", *head]
        for row in table.rows[number : number + PAGE]:
            lines += _row(told, table, row, statspack)
    return [*lines, end, ""]


def _begins_a_page(name: str) -> bool:
    """Oracle begins a page for most sections, not for all. In 12.2 the form feed is on its own line."""
    return name not in ("Mutex Sleep Summary", "Child Latch Statistics", "Operating System Statistics", "OS Statistics")


def _headings(columns: tuple[Column, ...]) -> list[str]:
    """Headings of up to three lines, above the ruler whose dashes are the widths of the columns."""
    if _stacked(columns):
        return [columns[0].head, "-" * 40, *_headings_of(columns[1:])]
    return _headings_of(columns)


def _stacked(columns: tuple[Column, ...]) -> bool:
    """Whether the latch's name is on its own line, as in 10.2, where the row is too wide."""
    return columns[-1].head == "Sleep3"


def _headings_of(columns: tuple[Column, ...]) -> list[str]:
    parts = [[part.strip() for part in column.head.split("|")] for column in columns]
    deepest = max(len(part) for part in parts)
    lines = []
    for depth in range(deepest):
        cells = []
        for column, part in zip(columns, parts, strict=True):
            index = depth - (deepest - len(part))
            word = part[index] if index >= 0 else ""
            cells.append(word.ljust(column.width) if column.left else word[: column.width].rjust(column.width))
        lines.append(" ".join(cells).rstrip())
    return [*lines, " ".join("-" * column.width for column in columns)]


def _row(told: Interval, table: Table, row: tuple[Cell, ...], statspack: bool) -> Iterator[str]:
    """One row. The sleeps of 9.2 wrap in their column, and 10.2's AWR has the name on its own line."""
    cells = [column.text(cell, statspack) for column, cell in zip(table.columns, row, strict=True)]
    last, width = row[-1], table.columns[-1].width
    if isinstance(last, str) and table.columns[-1].head.startswith("Spin &") and len(last) > width:
        yield " ".join(cells).rstrip()
        yield from _wrapped(last[width:], width, len(" ".join(cells)) - width)
    elif _stacked(table.columns):
        yield str(row[0])
        yield " ".join(cells[1:])
    else:
        yield " ".join(cells).rstrip()


def _wrapped(rest: str, width: int, indent: int) -> Iterable[str]:
    return (" " * indent + rest[at : at + width] for at in range(0, len(rest), width))


def _top(told: Interval) -> list[str]:
    table = time.top(told)
    rows = [line for row in table.rows for line in _row(told, table, row, False)]
    return [table.name, "~" * len(table.name), *_headings(table.columns), *rows]
