"""A section of a report in Oracle's layout: headings, widths and decimals of its columns, and the rows."""

from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class Column:
    """One column. `head` has a bar where the text report breaks it. None prints as `empty` in text and as blank in HTML."""

    head: str
    width: int
    places: int = 0
    text_places: int = 0
    left: bool = False
    bare: bool = False
    """The text report leaves out the zero before the point."""
    empty: str = ""

    def html(self, cell: Cell) -> str:
        """The cell in the HTML report."""
        return _written(cell, self.places)

    def text(self, cell: Cell, statspack: bool) -> str:
        """The cell in SQL*Plus: a long name is cut, and a number that does not fit becomes hashes."""
        if cell is None:
            return ("" if statspack else self.empty).rjust(self.width)
        if self.left:
            return str(cell)[: self.width].ljust(self.width)
        written = _written(cell, self.text_places)
        if self.bare and written.startswith("0."):
            written = written[1:]
        return written.rjust(self.width) if len(written) <= self.width else "#" * self.width


def _written(cell: Cell, places: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return f"{round(cell, places) + 0.0 if places else round(cell):,.{places}f}"


@dataclass(frozen=True)
class Table:
    """One section: its heading, the HTML summary from 11g on, notes, columns and rows."""

    name: str
    summary: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    containers: tuple[str, ...] | None = None
    """Name of each row's container, in a separate column, where the section has one."""


def name(head: str, width: int) -> Column:
    """A column of names."""
    return Column(head, width, left=True)


def count(head: str, width: int) -> Column:
    """A column of whole numbers."""
    return Column(head, width)


def decimal(head: str, width: int, places: int, text_places: int = 1, empty: str = "", bare: bool = False) -> Column:
    """A column of decimals, with more places in HTML than in text."""
    return Column(head, width, places, text_places, empty=empty, bare=bare)
