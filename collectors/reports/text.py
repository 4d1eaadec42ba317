"""Text reports: a section starts with its heading at the start of a line; a ruler of dashes gives the columns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from collectors.errors import cut
from collectors.reports.tables import SILENT, UNREAD, Document, Table, add, headings_known, optional_of, real, squeeze
from collectors.reports.undo import Span, columns_of, in_gaps

_MARKS = ("DB/Inst:", " for DB:")
"""What follows the title of a section. The second form is that of 9.2."""
HEADING_LINES = 8
"""The most lines of column headings above a ruler: four, each perhaps broken in two."""
LONGEST_LINE = 2_000
_MOMENT = re.compile(r"(\d{1,2}-\S{3,8}-\d{2,4}) (\d{1,2}:\d{2})")


@dataclass(slots=True)
class _Open:
    """The table whose rows are being read."""

    section: str
    headings: tuple[str, ...]
    columns: tuple[Span, ...]
    rows: list[list[str]] = field(default_factory=list)
    name_above: bool = False
    """Whether each row's name has a line of its own, above its numbers: Latch Sleep Breakdown of 10.2."""
    adrift: bool = False
    """Whether the headings do not stand over their columns: then no cell does, and their order says which is which."""
    name: str = ""


def parse(text: str, titles: Iterable[str] = ()) -> Document:
    """The tables of a text report. Pages repeat their heading, so a long section gives one table per page.

    `titles` are those of sections that may be alone on their line, without the database beside them.
    """
    walk = _Walk(frozenset(titles))
    for line in text.split("\n"):
        walk.line(cut(line, LONGEST_LINE).rstrip())
    return walk.document()


class _Walk:
    """The state of the parser: a section, the lines that may be column headings, a table."""

    def __init__(self, titles: frozenset[str]) -> None:
        self.titles = titles
        self.section = ""
        self.in_head = True
        self.above: list[str] = []
        self.last = ""
        """The line before, empty ones left out."""
        self.table: _Open | None = None
        self.title = ""
        """That of the section, while neither a table nor its end came behind it."""
        self.torn: dict[str, None] = {}
        self.tables: list[Table] = []
        self.silent: set[str] = set()
        self.printed: set[str] = set()
        self.head: list[str] = []

    def line(self, line: str) -> None:
        """Handle the next line of the report."""
        if self.in_head and self.table and line.startswith("~~~"):
            del self.table.rows[-1:]  # without an empty line before it, this title was taken for a row
            self._end()
            self.above = [self.last]
        if self.in_head and line and not line.strip("~") and self.last:
            self._end()
            self.section = squeeze(self.last)
            return
        title = line if line in self.titles else _title(line)
        if title:
            if self.title or (self.table and not self.in_head and squeeze(title) != self.section):
                self.torn[self.title or self.section] = None
            self._end()
            self.title, self.section, self.in_head = title, squeeze(title), False
            self.printed.add(self.section)
        elif _is_end(line, bool(self.table)) and (self.table or not self.above):
            self.torn |= dict.fromkeys(filter(None, [self.title]))
            self._end()
            self.title = self.section = ""
        elif columns := columns_of(line):
            self._begin(columns)
        elif self.table and line:
            _take(self.table, line)
        elif SILENT in line:
            self.silent.add(self.section)
            self.title = ""
        else:
            self._remember(line)
        if self.in_head:
            self.head.append(line)
        self.last = line or self.last

    def _begin(self, columns: tuple[Span, ...]) -> None:
        if self.in_head and self.table and self.table.rows:
            # Without an empty line before them, headings were taken for a row.
            self.table.rows.pop()
            self.above = [self.last]
        named, above = _name_above(self.above)
        headings = (*named, *_headings(above, columns))
        if headings[0].startswith("top") and headings[0].endswith("event"):
            # The title stands over the first columns.
            self.section, headings = headings[0].removesuffix("event"), ("event", *headings[1:])
        known = headings_known(above, len(headings)) if not named else None
        self._end()
        adrift = known is not None and known[0] != _headings(above[known[1] :], columns)
        spelt = known[0] if known else headings
        self.title = ""
        self.table = _Open(self.section, spelt, columns, name_above=bool(named), adrift=adrift)

    def _remember(self, line: str) -> None:
        if self.table and self.in_head:
            # The blocks of the head have no closing line; a blank line ends them.
            self._end()
            self.section = ""
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
        head, silent, printed = "\n".join(self.head), frozenset(self.silent), frozenset(self.printed)
        return Document("text", tuple(self.tables), silent, cut, head, printed, tuple(self.torn))


# What a line is: a title, an end, headings, a row.


def _title(line: str) -> str:
    """The title of the section that starts on this line. Empty if none does."""
    ends = [line.find(mark) for mark in _MARKS]
    end = next((end for end in ends if end > 0), 0)
    title = "" if line.startswith((" ", "-")) else line[:end].strip()
    return title.removesuffix("First") if " Second DB/Inst:" in line else title


def _is_end(line: str, within: bool) -> bool:
    """Whether the line is the indented line of dashes that closes a section. Within a table it may have lost its indent."""
    stroke = line.strip()
    return len(stroke) >= 5 and not stroke.strip("-") and (line.startswith(" ") or within)


def _name_above(above: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The heading of a name that has a line and a ruler of its own, and the headings of the numbers."""
    ruler = next((i for i, line in enumerate(above) if line.startswith("-") and not line.strip("-")), None)
    if ruler is None:
        return (), above
    return (squeeze(" ".join(above[:ruler])),), above[ruler + 1 :]


def _headings(above: list[str], columns: tuple[Span, ...]) -> tuple[str, ...]:
    """The squeezed headings above each column, top down. An indented ruler has the names of groups above it."""
    groups = next((i for i, line in enumerate(above) if line.startswith(" ") and not line.strip("- ")), None)
    if groups is None:
        return tuple(squeeze(_above(above, span)) for span in columns)
    spans = tuple((match.start(), match.end()) for match in re.finditer(r"-+", above[groups]))
    names = {span: _above(above[:groups], span) for span in spans}
    return tuple(
        squeeze(f"{_group(names, (begin, end))} {_above(above[groups + 1 :], (begin, end))}") for begin, end in columns
    )


def _above(lines: list[str], span: Span) -> str:
    return " ".join(line[span[0] : span[1]] for line in lines)


def _group(names: Mapping[Span, str], column: Span) -> str:
    return next((name for (begin, end), name in names.items() if begin <= column[0] < end), "")


def _take(table: _Open, line: str) -> None:
    """Add a row, or join a wrapped line to the row it continues."""
    if table.name_above:
        _take_stacked(table, line)
        return
    cells = _cells(table, line)
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


def _cells(table: _Open, line: str) -> list[str]:
    """Cells by the ruler. If a line has shifted columns, cells by their order."""
    columns = table.columns
    reached = sum(begin < len(line) for begin, _ in columns)
    last = len(columns) - 1
    cells = [line[begin : None if i == last else end].strip() for i, (begin, end) in enumerate(columns[:reached])]
    shifted = in_gaps(line, columns[: reached + 1])
    if table.adrift and not shifted and table.headings[0] != "parametername":
        # Numbers end where their column ends. Where all do, the row has kept its places.
        ends = [line[begin:end].rstrip() == line[begin:end] for begin, end in columns[1:reached]]
        shifted = not all(ends[at] for at, cell in enumerate(cells[1:]) if cell and _numeric(cell)) or reached < 3
    if shifted and (table.adrift or (by_order := _in_order(table, line))[-1] != UNREAD):
        return _in_order(table, line) if table.adrift else by_order
    return cells + [""] * (len(columns) - reached)


def _in_order(table: _Open, line: str) -> list[str]:
    """Cells by blanks from the right. Where some are blank, the one choice of columns that may be, and that fits; else unread."""
    words = _MOMENT.sub(r"\1_\2", line).split()
    many, optional = len(table.columns), optional_of(table.headings)
    if not table.section:  # the head, whose cells are words; a platform has several
        if table.headings[0] == "database" and words[0].isdecimal():
            words = ["", *words]  # Statspack leaves the first column empty
        first, tail = words[:1], words[len(words) - many + 2 :] if table.headings[1:2] == ("platform",) else words[1:]
        cells = [*first, *[""] * (many - 1 - len(tail)), *tail]
        return [cell.replace("_", " ") if ":" in cell else cell for cell in cells][:many]
    numbers = 0
    while numbers < len(words) - 1 and _numeric(words[-1 - numbers]):
        numbers += 1
    name, figures = " ".join(words[: len(words) - numbers]), words[len(words) - numbers :]
    lacking = many - 1 - numbers
    fitting = [
        cells
        for absent in (combinations(optional, lacking) if lacking >= 0 else ())
        if _fits(table.headings, cells := _spread(figures, absent, many - 1))
    ]
    if len(fitting) == 1 and not name.rpartition(" ")[2][:1].isdigit():  # else a figure that is none stands there
        return [name, *fitting[0]]
    end = next((at for at, word in enumerate(words[1:], 1) if word[0] in "0123456789#"), len(words))
    return [" ".join(words[:end]), *[UNREAD] * (many - 1)]


def _spread(figures: list[str], absent: tuple[int, ...], many: int) -> list[str]:
    """The figures in their columns, with blanks in those that are absent. The name is column 0."""
    left = iter(figures)
    return ["" if at in absent else next(left) for at in range(1, many + 1)]


_SHARES = ("pct", "avgslps", "waitstxn", "dbtime", "bgtime", "totalcalltime", "persecond", "pertrans", "ofdbtime")
_COUNTS = (
    "waits", "timeouts", "timout", "getreq", "nowait", "misses", "sleeps", "spingets", "scanreq", "modreq", "final",
)  # fmt: skip


def _fits(headings: tuple[str, ...], cells: list[str]) -> bool:
    """Whether shares have decimals and counts have none, and the average of a wait is its time by its number."""
    of = dict(zip(headings[1:], cells, strict=True))
    for heading, cell in of.items():
        if cell and heading.startswith(_SHARES) and "." not in cell and cell != "N/A":
            return False
        if cell and heading.startswith(_COUNTS) and not heading.startswith(_SHARES) and "." in cell:
            return False
    waits, total, average = real(of.get("waits", "")), real(of.get("totalwaittimes", "")), real(of.get("avgwaitms", ""))
    if not waits or total is None or average is None:
        return True
    return abs(total - waits * average / 1e3) <= 0.5 + waits / 2e3 + 0.02 * total


def _numeric(part: str) -> bool:
    return part == "N/A" or not part.rstrip("KMGTnums").strip("0123456789.,-#")
