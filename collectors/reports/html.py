"""Reads HTML reports with lxml as a stream of tags. No tree is built, so nesting and size cost only time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from collectors.errors import cut
from collectors.reports.tables import SILENT, Document, Table, add, by_titles, squeeze

MOST_COLUMNS = 300
"""Oracle's widest table has some forty columns. Cells beyond this are dropped, so that spans cannot fill the memory."""
PIECE = 1 << 20
PADDING = b" " * 100
"""What lxml may hold back until it is closed. It makes sure that every tag of the report has been seen before that."""
_HEADINGS = {"h1", "h2", "h3", "h4"}
_INVISIBLE = {"style", "script"}
_BREAKS = {"br", "p", "div", "li"}
_CELLS = {"td", "th"}
PASSED_OVER = (
    "This table displays total number of waits",
    "This table displays enqueue activity",
    "This table displays top SQL",
    "This table displays the text of",
    "This table displays top segments",
)
"""How the summaries of large tables begin that no reader needs: histograms, statements, segments."""


def parse(text: str) -> Document:
    """The tables of an HTML report, each under the nearest heading before it. Raises TooManyTables."""
    walk = _Walk()
    # lxml calls only the methods that a target has; the stubs require all of them.
    parser = etree.HTMLParser(target=walk, encoding="utf-8", huge_tree=True)  # type: ignore[call-overload]
    data = text.replace("\0", " ").encode(errors="replace") + PADDING
    for begin in range(0, len(data), PIECE):
        parser.feed(data[begin : begin + PIECE])
    walk.whole = True
    document: Document = parser.close()
    return document


@dataclass(slots=True)
class _Open:
    """The table, row and cell that are open."""

    summary: str
    headings: list[list[str]] = field(default_factory=list)
    spanned: bool = False
    rows: list[tuple[str, ...]] = field(default_factory=list)
    row: list[str] | None = None
    row_is_heading: bool = False
    cell: list[str] | None = None
    span: int = 1

    def end_cell(self) -> None:
        """Close the cell, if one is open. A heading over several columns counts for each of them."""
        if self.cell is not None and self.row is not None:
            if self.span == 1 and len(self.row) < MOST_COLUMNS:  # as nearly every cell of hundreds of thousands
                self.row.append(_clean(self.cell))
            else:
                self.row += [_clean(self.cell)] * min(self.span, MOST_COLUMNS - len(self.row))
                self.spanned |= self.row_is_heading and self.span > 1
        self.cell = None

    def end_row(self) -> None:
        self.end_cell()
        if self.row and self.row_is_heading:
            self.headings.append(self.row)
        elif self.row:
            self.rows.append(tuple(self.row))
        self.row = None

    def named(self) -> tuple[str, ...]:
        """One name per column. Where two rows of headings follow each other, the upper one names a group."""
        if not self.headings:
            return ()
        last, upper = self.headings[-1], self.headings[-2] if len(self.headings) > 1 and self.spanned else []
        if len(upper) != len(last):
            return tuple(squeeze(heading) for heading in last)
        return tuple(squeeze(f"{group} {heading}") for group, heading in zip(upper, last, strict=True))


class _Walk:
    """The open elements of the stream: a heading, a table."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.silent: set[str] = set()
        self.printed: set[str] = set()
        self.plain: list[tuple[str, ...]] = []
        """The rows of tables without a heading, each table behind its section."""
        self.head: list[str] = []
        self.section = ""
        self.heading: list[str] | None = None
        self.table: _Open | None = None
        self.hidden = False
        self.whole = False
        """Whether the whole file has been read. Elements that end after that were cut off with it."""
        self.cut: set[str] = set()
        self.ended = False
        """Whether the last tag of the page was there."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle an opening tag. It closes any element that cannot contain it, as browsers do."""
        table = self.table
        if tag in _CELLS:  # nearly every tag of a report
            if table:
                if table.cell is not None:
                    table.end_cell()
                table.cell = []
                table.span = _span(attributes) if "colspan" in attributes else 1
                if tag == "th":
                    table.row_is_heading = True
        elif tag == "tr":
            if table:
                table.end_row()
                table.row, table.row_is_heading = [], False
        elif tag in _INVISIBLE:
            self.hidden = True
        elif tag in _HEADINGS:
            self._end_table()
            self.heading = []
        elif tag == "table":
            self._end_table()
            summary = _clean([attributes.get("summary", "")])
            self.table = None if summary.startswith(PASSED_OVER) else _Open(summary)
        elif tag in _BREAKS:
            self.data(" ")

    def end(self, tag: str) -> None:
        if tag in _CELLS:
            if self.table:
                self.table.end_cell()
        elif tag == "tr":
            if self.table:
                self.table.end_row()
        elif tag in _INVISIBLE:
            self.hidden = False
        elif tag in _HEADINGS and self.heading is not None:
            self.section, self.heading = squeeze(_clean(self.heading)), None
            self.printed.add(self.section)
        elif tag == "table":
            self._end_table()
        elif tag == "html":
            self.ended = not self.whole

    def data(self, words: str) -> None:
        if self.hidden:
            return
        if self.heading is not None:
            self.heading.append(words)
        if self.table and self.table.cell is not None:
            self.table.cell.append(words)
        elif SILENT in words.replace("\xa0", " "):
            self.silent.add(self.section)
        if not self.tables:
            self.head.append(words)

    def close(self) -> Document:
        """The report, after its last tag."""
        self._end_table()
        if not self.ended and not any(table.section == self.section for table in self.tables):
            self.cut.add(self.section)  # its title alone came through
        # An office program saves headings as ordinary cells.
        tables = tuple(self.tables) if any(table.headings for table in self.tables) else by_titles(self.plain)[0]
        silent, cut, printed = frozenset(self.silent), frozenset(self.cut), frozenset(self.printed)
        bare = (table for table in tables if table.summary and table.rows and not table.headings)
        torn = tuple(table.section for table in bare if not table.rows[0][0].endswith(":"))  # else each row has its own
        return Document("html", tables, silent, cut, _clean(self.head), printed, torn)

    def _end_table(self) -> None:
        if self.table:
            if self.whole:
                self.cut.add(self.section)
            self.table.end_row()
            add(self.tables, Table(self.section, self.table.named(), tuple(self.table.rows), self.table.summary))
            if not self.table.headings:
                self.plain += [(), (self.section,), *self.table.rows]
        self.table = None


def _clean(pieces: list[str]) -> str:
    words = pieces[0] if len(pieces) == 1 else "".join(pieces)
    return cut(" ".join(words.split()))  # which takes a hard blank for a blank, too


def _span(attributes: Mapping[str, str]) -> int:
    """Columns that a cell covers."""
    colspan = attributes["colspan"].strip()
    return int(colspan) if colspan.isdecimal() and 1 <= int(colspan[:4]) <= MOST_COLUMNS else 1
