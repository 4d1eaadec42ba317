"""Text reports: a section starts with its heading at the start of a line; a ruler of dashes gives the columns."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from collectors.errors import cut
from collectors.reports.tables import Document, Table, add, squeeze

_MARKS = ("DB/Inst:", " for DB:")
"""What follows the title of a section. The second form is that of 9.2."""
_SILENT = "No data exists for this section"
HEADING_LINES = 4
"""The most lines of column headings above a ruler."""
LONGEST_LINE = 2_000
MOST_COLUMNS = 40


@dataclass(slots=True)
class _Open:
    """The table whose rows are being read."""

    section: str
    headings: tuple[str, ...]
    columns: tuple[tuple[int, int], ...]
    rows: list[list[str]] = field(default_factory=list)
    name_above: bool = False
    """Whether each row's name has a line of its own, above its numbers: Latch Sleep Breakdown of 10.2."""
    name: str = ""


def parse(text: str, titles: Iterable[str] = ()) -> Document:
    """The tables of a text report. Pages repeat their heading, so a long section gives one table per page.

    `titles` are those of sections that may be alone on their line, without the database beside them.
    """
    walk = _Walk(frozenset(titles))
    for line in _lines(text):
        for part in line.split("\f"):
            walk.line(cut(part, LONGEST_LINE).expandtabs().rstrip())
    return walk.document()


def _lines(text: str) -> Iterator[str]:
    """One line at a time. A list of millions of short lines would take ten times the memory of the text."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


class _Walk:
    """The state of the parser: a section, the lines that may be column headings, a table."""

    def __init__(self, titles: frozenset[str]) -> None:
        self.titles = titles
        self.section = ""
        self.in_head = True
        self.above: list[str] = []
        self.table: _Open | None = None
        self.tables: list[Table] = []
        self.silent: set[str] = set()
        self.head: list[str] = []

    def line(self, line: str) -> None:
        """Handle the next line of the report."""
        title = line if line in self.titles else _title(line)
        if title:
            self._end()
            self.section, self.in_head = squeeze(title), False
        elif _is_end(line) and (self.table or not self.above):
            self._end()
            self.section = ""
        elif columns := _columns(line):
            named, above = _name_above(self.above)
            headings = _headings(above, columns)
            self._end()
            self.table = _Open(self.section, (*named, *headings), columns, name_above=bool(named))
        elif self.table and line:
            _take(self.table, line)
        elif _SILENT in line:
            self.silent.add(self.section)
        else:
            self._remember(line)
        if self.in_head:
            self.head.append(line)

    def _remember(self, line: str) -> None:
        if self.table and self.in_head:
            # The blocks of the head have no closing line; a blank line ends them.
            self._end()
        self.above = [*self.above, line][-HEADING_LINES:] if line and not line.startswith("->") else []

    def _end(self) -> None:
        if self.table:
            table = self.table
            widths = () if table.name_above else tuple(end - begin for begin, end in table.columns)
            rows = tuple(tuple(row) for row in table.rows)
            add(self.tables, Table(table.section, table.headings, rows, widths=widths))
        self.table, self.above = None, []

    def document(self) -> Document:
        """The report, after its last line."""
        # A line of dashes closes each section. Before that, the rest may be on the next page.
        cut = frozenset({self.section} - self.silent - {""})
        self._end()
        return Document("text", tuple(self.tables), frozenset(self.silent), cut, "\n".join(self.head))


def _title(line: str) -> str:
    """The title of the section that starts on this line. Empty if none does."""
    ends = [line.find(mark) for mark in _MARKS]
    end = next((end for end in ends if end > 0), 0)
    title = "" if line.startswith((" ", "-")) else line[:end].strip()
    return title.removesuffix("First") if " Second DB/Inst:" in line else title


def _is_end(line: str) -> bool:
    """Whether the line is the indented line of dashes that closes a section."""
    stroke = line.strip()
    return line.startswith(" ") and len(stroke) >= 5 and not stroke.strip("-")


def _columns(line: str) -> tuple[tuple[int, int], ...]:
    """Start and end of each column under a ruler. Empty if the line is not a ruler."""
    if not line.startswith(("-", "~")) or line.strip("-~ ") or " " not in line:
        return ()
    columns = tuple((match.start(), match.end()) for match in re.finditer(r"[-~]+", line))
    return columns if len(columns) <= MOST_COLUMNS else ()


def _name_above(above: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The heading of a name that has a line and a ruler of its own, and the headings of the numbers."""
    ruler = next((i for i, line in enumerate(above) if line.startswith("-") and not line.strip("-")), None)
    if ruler is None:
        return (), above
    return (squeeze(" ".join(above[:ruler])),), above[ruler + 1 :]


Spans = tuple[tuple[int, int], ...]


def _headings(above: list[str], columns: Spans) -> tuple[str, ...]:
    """The squeezed headings above each column, top down. An indented ruler has the names of groups above it."""
    groups = next((i for i, line in enumerate(above) if line.startswith(" ") and not line.strip("- ")), None)
    if groups is None:
        return tuple(squeeze(_above(above, span)) for span in columns)
    spans = tuple((match.start(), match.end()) for match in re.finditer(r"-+", above[groups]))
    names = {span: _above(above[:groups], span) for span in spans}
    return tuple(
        squeeze(f"{_group(names, (begin, end))} {_above(above[groups + 1 :], (begin, end))}") for begin, end in columns
    )


def _above(lines: list[str], span: tuple[int, int]) -> str:
    return " ".join(line[span[0] : span[1]] for line in lines)


def _group(names: Mapping[tuple[int, int], str], column: tuple[int, int]) -> str:
    return next((name for (begin, end), name in names.items() if begin <= column[0] < end), "")


def _take(table: _Open, line: str) -> None:
    """Add a row, or join a wrapped line to the row it continues."""
    if table.name_above:
        _take_stacked(table, line)
        return
    cells = _cells(line, table.columns)
    filled = [i for i, cell in enumerate(cells) if cell]
    last = table.rows[-1] if table.rows else None
    if last and not cells[0] and (len(filled) == 1 or not any(last[1:])):
        for i in filled:
            last[i] += cells[i]
    elif filled:
        table.rows.append(cells)


def _take_stacked(table: _Open, line: str) -> None:
    parts = line.split()
    if len(parts) == len(table.columns) and all(_numeric(part) for part in parts):
        table.rows.append([table.name, *parts])
        table.name = ""
    else:
        table.name = line.strip()


def _cells(line: str, columns: tuple[tuple[int, int], ...]) -> list[str]:
    """Cells by the ruler. If a line has shifted columns, cells by blanks from the right."""
    reached = sum(begin < len(line) for begin, _ in columns)
    gaps = [line[left[1] : right[0]] for left, right in pairwise(columns[: reached + 1])]
    if any(gap.strip() for gap in gaps):
        parts = line.rsplit(None, len(columns) - 1)
        if len(parts) == len(columns) and all(_numeric(part) for part in parts[1:]):
            return [part.strip() for part in parts]
    last = len(columns) - 1
    cells = [line[begin : None if i == last else end].strip() for i, (begin, end) in enumerate(columns[:reached])]
    return cells + [""] * (len(columns) - reached)


def _numeric(part: str) -> bool:
    return part == "N/A" or not part.strip("0123456789.,-#")
