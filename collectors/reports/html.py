"""Reads HTML reports with lxml as a stream of tags. No tree is built, so nesting and size cost only time."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from collectors.errors import LONGEST_TEXT, cut
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
_PASSED_OVER = re.compile(
    r"""<table\b[^<>]*summary=["'][Tt]his\s+table\s+displays\s+"""
    r"(?:total\s+number\s+of\s+waits|enqueue\s+activity|top\s+SQL|the\s+text\s+of|top\s+segments)",
    re.IGNORECASE,
)
"""The begin of large tables that no reader needs: histograms, statements, segments."""
_END = re.compile(r"</table\b", re.IGNORECASE)


def parse(text: str) -> Document:
    """The tables of an HTML report, each under the nearest heading before it. Raises TooManyTables."""
    walk = _Walk()
    # lxml calls only the methods that a target has; the stubs require all of them.
    parser = etree.HTMLParser(target=walk, encoding="utf-8", huge_tree=True)  # type: ignore[call-overload]
    data = "".join(_needed(text)).replace("\0", " ").encode(errors="replace") + PADDING
    for begin in range(0, len(data), PIECE):
        parser.feed(data[begin : begin + PIECE])
    walk.whole = True
    document: Document = parser.close()
    return document


def _needed(text: str) -> Iterator[str]:
    """The page without the tables that are passed over. One that the end of the file cuts stays."""
    done = 0
    for table in _PASSED_OVER.finditer(text):
        if table.start() >= done and (end := _END.search(text, table.end())):
            yield text[done : table.start()]
            done = end.start()
    yield text[done:]


@dataclass(slots=True)
class _Open:
    """The table that is open."""

    summary: str
    headings: list[tuple[str, ...]] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def named(self, spanned: bool) -> tuple[str, ...]:
        """One name per column. Of two rows of headings, of which some are `spanned`, the upper one names groups."""
        if not self.headings:
            return ()
        last, upper = self.headings[-1], self.headings[-2] if len(self.headings) > 1 and spanned else ()
        if len(upper) != len(last):
            return tuple(squeeze(heading) for heading in last)
        return tuple(squeeze(f"{group} {heading}") for group, heading in zip(upper, last, strict=True))


class _Walk:
    """The open elements of the stream: a heading, a table, its row and its cell."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.silent: set[str] = set()
        self.printed: set[str] = set()
        self.section = ""
        self.heading: list[str] | None = None
        self.table: _Open | None = None
        self.row: list[str] | None = None
        self.row_is_heading = False
        self.cell: list[str] | None = None
        self.span, self.spanned = 1, False
        """Columns of the cell, and whether a heading of the table has several."""
        self.hidden: list[list[str] | None] = []
        """The cell that goes on behind what no browser shows."""
        self.whole = False
        """Whether the whole file has been read. Elements that end after that were cut off with it."""
        self.cut: set[str] = set()
        self.ended = False
        """Whether the last tag of the page was there."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle an opening tag. It closes any element that cannot contain it, as browsers do."""
        if tag in _CELLS:  # nearly every tag of a report
            if self.cell is not None:
                self.end(tag)
            if self.row is not None:
                self.cell = []
                self.row_is_heading |= tag == "th"
                if "colspan" in attributes:
                    self.span = _span(attributes)
        elif tag == "tr":
            self._end_row()
            self.row = [] if self.table else None
        elif tag in _INVISIBLE:
            self.hidden.append(self.cell)
            self.cell = None
        elif tag in _HEADINGS:
            self._end_table()
            self.heading = []
        elif tag == "table":
            self._end_table()
            self.table, self.spanned = _Open(_clean(attributes.get("summary", ""))), False
        elif tag in _BREAKS:
            self.data(" ")

    def end(self, tag: str) -> None:
        if tag in _CELLS:
            if self.cell is not None and self.row is not None and len(self.row) < MOST_COLUMNS:
                self.row.append("".join(self.cell))
                if self.span > 1:  # a heading over several columns counts for each of them
                    self.row += self.row[-1:] * min(self.span - 1, MOST_COLUMNS - len(self.row))
                    self.spanned |= self.row_is_heading
                    self.span = 1
            self.cell = None
        elif tag == "tr":
            self._end_row()
        elif tag in _INVISIBLE:
            self.cell = self.hidden.pop() if self.hidden else None
        elif tag in _HEADINGS and self.heading is not None:
            self.section, self.heading = squeeze(_clean("".join(self.heading))), None
            self.printed.add(self.section)
        elif tag == "table":
            self._end_table()
        elif tag == "html":
            self.ended = not self.whole

    def data(self, words: str) -> None:
        if self.cell is not None:
            self.cell.append(words)
        elif self.hidden:
            return
        elif self.heading is not None:
            self.heading.append(words)
        elif len(words) >= len(SILENT) and SILENT in words.replace("\xa0", " "):
            self.silent.add(self.section)

    def close(self) -> Document:
        """The report, after its last tag."""
        self._end_table()
        if not self.ended and not any(table.section == self.section for table in self.tables):
            self.cut.add(self.section)  # its title alone came through
        # An office program saves headings as ordinary cells.
        tables = tuple(self.tables)
        if not any(table.headings for table in tables):
            tables, _ = by_titles(row for table in tables for row in ((), (table.section,), *table.rows))
        bare = (table for table in tables if table.summary and table.rows and not table.headings)
        torn = tuple(table.section for table in bare if not table.rows[0][0].endswith(":"))  # else each row has its own
        silent, cut, printed = frozenset(self.silent), frozenset(self.cut), frozenset(self.printed)
        return Document("html", tables, silent, cut, printed=printed, torn=torn)

    def _end_row(self) -> None:
        if self.cell is not None:
            self.end("td")
        if self.row and self.table:
            cells = tuple([" ".join(words.split()) for words in self.row])  # a hard blank is a blank, too
            if max(map(len, cells)) > LONGEST_TEXT:
                cells = tuple(map(cut, cells))
            (self.table.headings if self.row_is_heading else self.table.rows).append(cells)
        self.row, self.row_is_heading = None, False

    def _end_table(self) -> None:
        self._end_row()
        if self.table:
            if self.whole:
                self.cut.add(self.section)
            add(
                self.tables,
                Table(self.section, self.table.named(self.spanned), tuple(self.table.rows), self.table.summary),
            )
        self.table = None


def _clean(words: str) -> str:
    return cut(" ".join(words.split()))


def _span(attributes: Mapping[str, str]) -> int:
    """Columns that a cell covers."""
    colspan = attributes["colspan"].strip()
    return int(colspan) if colspan.isdecimal() and 1 <= int(colspan[:4]) <= MOST_COLUMNS else 1
