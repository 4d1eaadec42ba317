"""HTML reports: a flat walk over the tags, which is all a report needs, in time linear in its length.

A tree parser is not used on purpose: a megabyte of nested tags, harmless here, keeps one busy for a minute.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from collectors.reports.tables import Document, Table, add, squeeze

_COMMENT_OPEN, _COMMENT_CLOSE = "<!--", "-->"
_TOKEN = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"<>]*"|'[^'<>]*')*+)>|([^<]+)|<""")
_SUMMARY = re.compile(r"""\bsummary\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
MOST_COLUMNS = 300
"""Oracle's widest table has some forty; what a row has beyond is dropped, so that spans cannot fill the memory."""
_SPAN = re.compile(r"""\bcolspan\s*=\s*["']?\s*(\d{1,2})\b""", re.IGNORECASE)
_HEADINGS = {"h1", "h2", "h3", "h4"}
_SILENT = "No data exists for this section"
_INVISIBLE = {"style", "script"}
_BREAKS = {"br", "p", "div", "li"}


def parse(text: str) -> Document:
    """The tables of an HTML report, each under the nearest heading before it."""
    walk = _Walk()
    for closing, tag, attributes, words in _tokens(text):
        if words:
            walk.words(words)
        elif closing:
            walk.close(tag)
        else:
            walk.open(tag, attributes)
    return walk.document()


def _tokens(text: str) -> Iterator[tuple[bool, str, str, str]]:
    for part in _outside_comments(text):
        for match in _TOKEN.finditer(part):
            yield bool(match[1]), (match[2] or "").lower(), match[3] or "", match[4] or ""


def _outside_comments(text: str) -> Iterator[str]:
    begin = 0
    while (opened := text.find(_COMMENT_OPEN, begin)) >= 0:
        yield text[begin:opened]
        closed = text.find(_COMMENT_CLOSE, opened)
        if closed < 0:
            return
        begin = closed + len(_COMMENT_CLOSE)
    yield text[begin:]


@dataclass(slots=True)
class _Open:
    """The table, row and cell being read."""

    summary: str
    headings: list[list[str]] = field(default_factory=list)
    spanned: bool = False
    rows: list[tuple[str, ...]] = field(default_factory=list)
    row: list[str] | None = None
    row_is_heading: bool = False
    cell: list[str] | None = None
    span: int = 1

    def end_cell(self) -> None:
        """Close the cell, if one is open; a heading over several columns stands over each of them."""
        if self.cell is not None and self.row is not None:
            self.row += [_clean(self.cell)] * min(self.span, MOST_COLUMNS - len(self.row))
            self.spanned |= self.row_is_heading and self.span > 1
        self.cell = None

    def end_row(self) -> None:
        """Close the row, if one is open."""
        self.end_cell()
        if self.row and self.row_is_heading:
            self.headings.append(self.row)
        elif self.row:
            self.rows.append(tuple(self.row))
        self.row = None

    def named(self) -> tuple[str, ...]:
        """One name per column; where two rows of headings stand above each other, the upper names a group."""
        if not self.headings:
            return ()
        last, upper = self.headings[-1], self.headings[-2] if len(self.headings) > 1 and self.spanned else []
        if len(upper) != len(last):
            return tuple(squeeze(one) for one in last)
        return tuple(squeeze(f"{group} {one}") for group, one in zip(upper, last, strict=True))


class _Walk:
    """What is open while the tags go by: a heading, a table."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.silent: set[str] = set()
        self.head: list[str] = []
        self.section = ""
        self.heading: list[str] | None = None
        self.table: _Open | None = None
        self.hidden = False

    def open(self, tag: str, attributes: str) -> None:
        """Take an opening tag; it ends what cannot hold it, as browsers do."""
        if tag in _INVISIBLE:
            self.hidden = True
        elif tag in _HEADINGS:
            self._end_table()
            self.heading = []
        elif tag == "table":
            self._end_table()
            found = _SUMMARY.search(attributes)
            self.table = _Open(_clean([found[1] or found[2] or ""]) if found else "")
        elif tag in _BREAKS:
            self.words(" ")
        elif self.table:
            self._open_cell(self.table, tag, attributes)

    def _open_cell(self, table: _Open, tag: str, attributes: str) -> None:
        if tag == "tr":
            table.end_row()
            table.row, table.row_is_heading = [], False
        elif tag in ("td", "th"):
            table.end_cell()
            span = _SPAN.search(attributes)
            table.cell, table.span = [], max(1, int(span[1])) if span else 1
            table.row_is_heading |= tag == "th"

    def close(self, tag: str) -> None:
        """Take a closing tag."""
        if tag in _INVISIBLE:
            self.hidden = False
        elif tag in _HEADINGS and self.heading is not None:
            self.section, self.heading = squeeze(_clean(self.heading)), None
        elif tag == "table":
            self._end_table()
        elif tag in ("td", "th") and self.table:
            self.table.end_cell()
        elif tag == "tr" and self.table:
            self.table.end_row()

    def words(self, words: str) -> None:
        """Take text between tags."""
        if self.hidden:
            return
        if self.heading is not None:
            self.heading.append(words)
        if self.table and self.table.cell is not None:
            self.table.cell.append(words)
        elif _SILENT in words:
            self.silent.add(self.section)
        if not self.tables:
            self.head.append(words)

    def document(self) -> Document:
        """The report, after its last tag."""
        cut = frozenset({self.section} if self.table else ())
        self._end_table()
        return Document("html", tuple(self.tables), frozenset(self.silent), cut, _clean(self.head))

    def _end_table(self) -> None:
        if self.table:
            self.table.end_row()
            add(self.tables, Table(self.section, self.table.named(), tuple(self.table.rows), self.table.summary))
        self.table = None


def _clean(pieces: list[str]) -> str:
    return " ".join(unescape("".join(pieces)).replace("\xa0", " ").split())
