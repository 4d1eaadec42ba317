"""What both parsers give: the tables of a report by section, and one way to read their cells."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any, Literal

from collectors import data_beside
from collectors.model import Missing

# Numbers as reports print them: 1,234 · 1 234 · .5 · -4,018 · 20.1K · 109.72us · N/A · blank · ####. Unknown stays None.

LARGEST_CELL = 40
_NUMBER = re.compile(r"([-+]?)((?:\d[\d,]*(?:[ '\u00a0\u202f]\d{3})*)?(?:\.\d*)?(?:E\+\d+)?)\s*([A-Za-z%]*)")
_PARTED = str.maketrans(dict.fromkeys(", '\u00a0\u202f", ""))
_SCALES = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
"""The reports' own legend: K is 1000, M is 1000000."""
_UNITS = {"ns": 0.001, "us": 1.0, "ms": 1e3, "cs": 1e4, "s": 1e6, "min": 6e7}


def is_overflow(cell: str) -> bool:
    """Whether the number did not fit its column and was printed as signs."""
    return bool(cell) and not cell.strip("#")


def real(cell: str) -> float | None:
    """A number with thousands separators, a sign or a scale. None for anything else, including blank and N/A."""
    parsed = _parsed(cell)
    if parsed is None or parsed[1].upper() not in _SCALES:
        return None
    return parsed[0] * _SCALES[parsed[1].upper()]


def count(value: str) -> int | float | None:
    """A number, as an int if it is printed without decimals."""
    number = real(value)
    if number is None:
        return None
    return int(number) if number.is_integer() else number


def micro(cell: str, unit: str) -> int | None:
    """A time in microseconds. A unit in the cell (109.72us) wins over `unit`, the unit of the column heading."""
    parsed = _parsed(cell)
    if parsed is None:
        return None
    number, suffix = parsed
    if suffix.lower() in _UNITS:
        return round(number * _UNITS[suffix.lower()])
    if suffix.upper() in _SCALES:
        return round(number * _SCALES[suffix.upper()] * _UNITS[unit])
    return None


def decimals(cell: str) -> int | None:
    """How many decimals a number is printed with. None if it is not a number."""
    parsed = _NUMBER.fullmatch(cell.strip()) if len(cell) <= LARGEST_CELL else None
    return len(parsed[2].partition(".")[2]) if parsed and parsed[2] else None


@lru_cache(8192)  # most cells of a report are among a few; bounded, as the others are
def _parsed(cell: str) -> tuple[float, str] | None:
    cell = cell.strip()
    match = _NUMBER.fullmatch(cell) if len(cell) <= LARGEST_CELL else None
    if not match or not any(sign.isdigit() for sign in match[2]):
        return None
    return float(match[1] + match[2].translate(_PARTED)), match[3]


_SIGNS = re.compile(r"[^a-z0-9]+")


@lru_cache(4096)  # headings and names come back in every section; bounded, because anybody may upload a report
def squeeze(heading: str) -> str:
    """A heading in lower case without blanks and signs: 'Avg Slps /Miss' → 'avgslpsmiss', the same in HTML and in text."""
    return _SIGNS.sub("", heading.lower())


_FOOTNOTES = re.compile(r"(?:\s{0,9}(?:\[\d{1,9}\]|[*†‡¹²³])){1,9}$")
_LAST_OF_FOOTNOTES = tuple("]*†‡¹²³")
"""Marks that lead to a footnote, as 23ai prints them behind names: "parse time elapsed [1]"."""


def plain(name: str) -> str:
    """A printed name without the marks of its footnotes."""
    return _FOOTNOTES.sub("", name) if name.endswith(_LAST_OF_FOOTNOTES) else name


@cache
def _by_letters(known: tuple[str, ...]) -> Mapping[str, str]:
    return {squeeze(name): name for name in known}


# A name that is asked for and not printed is zero only if no printed name may be it.

LIKENESS = 0.85
"""Names at least this alike, by `difflib`, may be one name that a copy or a new release changed (our bound)."""
_TYPE_OF_ENQUEUE = re.compile(r"enq: ([A-Z]{2}) - ")


def in_doubt(known: Iterable[str], printed: Iterable[str], others: Iterable[str] = ()) -> frozenset[str]:
    """The known names that are not printed as they are, though a strange printed name may stand for them.

    `others` are names that belong to the section and only look like a known one. A name with letters that no name of Oracle
    has may stand for any.
    """
    listed, wanted, genuine = set(printed), set(known), set(others)
    lacking, strange = wanted - listed, listed - wanted - genuine - {""}
    if not (letters := "".join(strange)).isascii() or "?" in letters:
        return frozenset(lacking)
    spelt = [(other, squeeze(other)) for other in strange]
    return frozenset(name for name in lacking if _like_any(name, spelt))


def _like_any(name: str, spelt: Sequence[tuple[str, str]]) -> bool:
    """Whether any of some names is much like this one. Each comes with its letters."""
    letters, kind = squeeze(name), _TYPE_OF_ENQUEUE.match(name)
    # One letter of "DB CPU" is a fifth of it.
    least = min(LIKENESS, 1.0 - 1.0 / max(len(letters), 2))
    return any(
        2 * min(len(letters), len(others)) >= least * (len(letters) + len(others))  # else no letters make them alike
        and not (kind and (its := _TYPE_OF_ENQUEUE.match(other)) and its[1] != kind[1])
        and _alike(letters, others, least)
        for other, others in spelt
    )


@lru_cache(4096)  # bounded, because the names come from reports that anybody may upload
def _alike(letters: str, others: str, least: float) -> bool:
    matcher = SequenceMatcher(None, letters, others, autojunk=False)
    return matcher.quick_ratio() >= least and matcher.ratio() >= least


@dataclass(frozen=True, slots=True)
class Table:
    """One printed table: squeezed section and column headings, and cells as printed without surrounding blanks.

    `widths` are the column widths of a text report, which cuts names. Empty for HTML.
    """

    section: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summary: str = ""
    widths: tuple[int, ...] = ()


MOST_TABLES = 5_000
"""Reports have some fifty to a few hundred tables, pages of text among them."""


class TooManyTables(Exception):
    """More tables than any report has. Reading on would only fill the memory."""


def add(tables: list[Table], table: Table) -> None:
    """Append a table. Raises TooManyTables."""
    if len(tables) >= MOST_TABLES:
        raise TooManyTables
    tables.append(table)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed report. `silent` sections say that they have no data; `cut` ones end with the file."""

    form: Literal["html", "text"]
    tables: tuple[Table, ...]
    silent: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()
    head: str = ""
    """Plain text before the first section."""
    printed: frozenset[str] = frozenset()
    """Every section whose title is there, with a table or without."""
    torn: tuple[str, ...] = ()
    """Sections that lost lines: a ruler, a headline, the line of dashes that closes them."""


def by_titles(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[Table, ...], frozenset[str]]:
    """Tables of rows that have nothing but their order, and the sections that say they have no data.

    A row of one cell behind a table is a title, and so is each that a section of ours has; the next one of several cells holds
    the headings. Tables of the head have no titles.
    """
    tables, silent = list[Table](), set[str]()
    section, headings, taken = "", tuple[str, ...](), list[tuple[str, ...]]()
    for row in (*rows, ()):
        filled = [cell for cell in row if cell and not cell.startswith("Back to ")]
        ours = _titled(section)
        if headings and (len(filled) < 2 or (ours is None and not any(map(str.isdigit, "".join(row))))):
            add(tables, Table(section, headings, tuple(taken)))
            headings, taken, section = (), [], section if len(filled) > 1 else ""
        if len(filled) > 1 and headings:
            taken += _parted(row, len(headings))
            filled = [row[-1]] if _titled(row[-1]) else filled
        elif len(filled) > 1:
            headings = tuple(map(squeeze, row))
            if ours and not any({*headings} & {*known} for known in ours.texts.values()):
                section = "another"  # whose title is none of ours
        if len(filled) == 1 and filled[0].startswith(SILENT):
            silent.add(section)
        elif len(filled) == 1 and (not section or _titled(filled[0])):
            section = squeeze(filled[0])
    return tuple(tables), frozenset(silent)


SILENT = "No data exists for this section"


def _parted(row: tuple[str, ...], many: int) -> Iterator[tuple[str, ...]]:
    """The rows of a line. A browser that copies a page loses the line end behind a blank last cell, and so joins rows."""
    for at in range(0, len(row) - 1, many - 1):
        cells = row[at : at + many]
        joined = at + many < len(row) or cells[-1].startswith("Back to ") or _titled(cells[-1])
        yield (*cells[:-1], "") if joined and len(cells) == many else cells


# What sections.yaml says: each section once, for text and HTML.

ReportKind = Literal["AWR", "Statspack", "compare", "cluster", "ASH"]

UNREAD = "?"
"""A cell whose content is unknown."""


@dataclass(frozen=True, slots=True)
class Section:
    """One printed section: where it is found, and under which headings its columns stand."""

    title: str
    view: str
    titles: frozenset[str]
    summary: tuple[str, ...]
    """How the summary of its HTML table begins, in lower case."""
    quiet: bool
    texts: Mapping[str, Mapping[str, str]]
    numbers: Mapping[str, Mapping[str, str]]
    """Column → heading → unit of a cell without one, empty for counts."""
    others: frozenset[tuple[str, ...]]
    """Headings of tables under the same title that hold something else."""
    names: tuple[str, ...]
    """Names of rows beside those that we follow."""
    layouts: tuple[tuple[str, ...], ...]
    """All headings of its table in a text report, "?" at those that may be blank."""


@cache
def sections() -> Mapping[str, Section]:
    """The file, read once: title → section."""
    read = data_beside(__file__, "sections")
    return {title: _section(title, members) for title, members in read.items()}


def _section(title: str, members: Mapping[str, Any]) -> Section:
    def columns(of: str) -> Mapping[str, Mapping[str, str]]:
        return {
            name: {heading: unit for heading, _, unit in (each.partition("=") for each in headings.split())}
            for name, headings in members.get(of, {}).items()
        }

    return Section(
        title,
        members["view"],
        frozenset(_untold_number(squeeze(each)) for each in (title, *members.get("titles", ()))),
        tuple(_untold_number(each.lower()) for each in members.get("summary", "").split(" | ") if each),
        members.get("quiet", False),
        columns("texts"),
        columns("numbers"),
        frozenset(tuple(each.split()) for each in members.get("others", ())),
        tuple(members.get("names", ())),
        tuple(tuple(each.split()) for each in members.get("text", ())),
    )


@lru_cache(4096)
def _titled(words: str) -> Section | None:
    """The section that has this title."""
    title = _untold_number(squeeze(words))
    return next((section for section in sections().values() if title in section.titles), None) if title else None


@cache
def _layouts() -> Mapping[tuple[int, str], tuple[str, ...]]:
    """Those of all sections by their number and their letters in order of the alphabet."""
    return {(len(each), _letters(each)): each for section in sections().values() for each in section.layouts}


def _letters(words: Iterable[str]) -> str:
    return "".join(sorted(squeeze("".join(words))))


def headings_known(above: Sequence[str], many: int) -> tuple[tuple[str, ...], int] | None:
    """The headings of a known table with so many columns that the lines above a ruler spell, wherever their words stand; and
    the first of these lines."""
    for first in range(len(above)):
        if found := _layouts().get((many, _letters(above[first:]))):
            return tuple(heading.rstrip("?") for heading in found), first
    return None


def optional_of(headings: tuple[str, ...]) -> tuple[int, ...]:
    """The columns of a known table that may be blank."""
    found = _layouts().get((len(headings), _letters(headings)), ())
    return tuple(at for at, heading in enumerate(found) if heading.endswith("?"))


@lru_cache(4096)
def _untold_number(title: str) -> str:
    """Top 5 and Top 10 are one title."""
    return re.sub(r"\btop ?\d+ ?", "top", title) if "top" in title else title


@lru_cache(4096)  # sections are read more than once
def _spelt(cell: str, known: tuple[str, ...], *, cut: bool) -> str:
    """A printed name as ReportRow.name gives it. `cut`: it fills its column, so its end may be missing."""
    if cell in known:
        return cell
    printed = plain(cell)
    if same := _by_letters(known).get(squeeze(printed)):
        return same
    full = [name for name in known if name.startswith(printed)] if cut else []
    return full[0] if len(full) == 1 else printed


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of a section, by the columns of sections.yaml. A column that its table does not have is not there."""

    cells: Mapping[str, str]
    units: Mapping[str, str]
    widths: Mapping[str, int]
    section: str
    printed: "ReportTables"
    readable: bool = True
    """Whether each cell of its numbers is one, or blank. If not, all of them are unknown."""

    def text(self, column: str) -> str:
        """The cell. Empty if the table does not have it, or it is blank."""
        return self.cells.get(column, "")

    def name(self, known: tuple[str, ...], column: str = "name") -> str:
        """A name without its footnote marks, spelt as a known name of the same letters is.

        If a text report cut it at the column's width and exactly one known name starts with it, the full name.
        """
        cell = self.text(column)
        return _spelt(cell, known, cut=len(cell) >= self.widths.get(column, 1_000) - 1)

    def number(self, column: str) -> int | float | None:
        """A count, or a time in microseconds. None if it is blank, N/A, or did not fit its column."""
        cell = self.text(column)
        if is_overflow(cell):
            note = f"{self.section}: a number too wide for its column is printed as {cell} and not used"
            (self.printed.lost if column in TELLING else self.printed.notes)[note] = None
        unit = self.units.get(column, "")
        return micro(cell, unit) if unit else count(cell)


TELLING = {"gets", "misses", "sleeps", "waits", "total", "value"}
"""The columns without which a row tells nothing."""


@lru_cache(8192)
def _is_number(cell: str) -> bool:
    return cell in ("", "N/A") or is_overflow(cell) or _parsed(cell) is not None


ALWAYS_FILLED = ("timemodelstatistics", "timemodelsystemstats", "latchactivity", "foregroundwaitevents", "waitevents",
                 "dictionarycachestats", "dictionarycachestatistics")  # fmt: skip
"""Sections that have rows wherever the snapshots hold figures at all."""
RESEND = (
    "send the file as awrrpt.sql or spreport.sql wrote it: as an attachment or in a .zip, not as the text of a mail"
)
CUT = "the file ends inside it"
ANOTHER = "make the report again with all its sections, or diagnose what `latchscope script` writes"


@dataclass(slots=True)
class ReportTables:
    """A report as the section readers see it. They add notes that people must read."""

    document: Document
    kind: ReportKind
    db_time_micro: int | None = None
    cpus: int | None = None
    year: int | None = None
    """Year of the end snapshot, for sections that print no year."""
    notes: dict[str, None] = field(default_factory=dict)
    """Ordered and without repetition, as keys."""
    absent: dict[str, None] = field(default_factory=dict)
    rows: dict[str, tuple[ReportRow, ...] | None] = field(default_factory=dict)
    """The sections that were read before."""
    unread: dict[str, str] = field(default_factory=dict)
    """Sections that are in the file and cannot be read: title → what is wrong."""
    lost: dict[str, None] = field(default_factory=dict)
    """Figures that cannot be read, the first of each section."""

    @property
    def hollow(self) -> bool:
        """Whether the report says of every section that always has rows that there is no data, as an empty snapshot does."""
        if any(table.section in ALWAYS_FILLED and table.rows for table in self.document.tables):
            return False
        return len({*ALWAYS_FILLED} & self.document.silent) >= 2

    def section(self, title: str, *, quiet: bool = False) -> tuple[ReportRow, ...] | None:
        """The rows of a section, pages joined. None if it is not printed, cut off, or in the file and not to be read.

        A section that is absent becomes a note, unless it is `quiet`.
        """
        section = sections()[title]
        if title not in self.rows:
            self.rows[title] = self._rows(section)
        if self.rows[title] is None and title not in self.unread and not (quiet or section.quiet):
            self.absent[title] = None
        return self.rows[title]

    def _rows(self, section: Section) -> tuple[ReportRow, ...] | None:
        title, document = section.title, self.document
        tables = [table for table in document.tables if _is(table, section)]
        if section.titles & document.cut or any(table.section in document.cut for table in tables):
            self.unread[title] = CUT
            return None
        seen: set[tuple[str, ...]] = set()
        rows = [
            row
            for table in tables
            if table.headings not in section.others
            for row in self._records(section, table, seen)
        ]
        if rows and section.numbers and not any(row.readable for row in rows):
            self.unread[title] = "no row of it can be read"
        printed = bool(tables) or bool(section.titles & document.printed)
        silent = bool(section.titles & document.silent)
        if title not in self.unread and not rows and printed and not silent:
            self.unread[title] = "it gives no row"
        if title in self.unread:
            return None
        return tuple(rows) if rows or (silent and not self.hollow) or (printed and not silent) else None

    def missing(self, view: str, title: str) -> Missing:
        """A view whose section gives nothing: it is not printed, or cannot be read."""
        if why := self.unread.get(title):
            return Missing(view, "unread", f"{title} is in the report and cannot be read: {why}", RESEND)
        return Missing(view, "unread", f"the report has no complete section {title}", ANOTHER)

    def _records(self, section: Section, table: Table, seen: set[tuple[str, ...]]) -> Iterator[ReportRow]:
        names = _numbered(table.headings)
        at, units = dict[str, int](), dict[str, str]()
        for column, headings in (*section.texts.items(), *section.numbers.items()):
            if found := next((heading for heading in headings if heading in names), None):
                at[column], units[column] = names.index(found), headings[found]
        if not at.keys() & section.texts.keys() or (section.numbers and not at.keys() & section.numbers.keys()):
            self.unread[section.title] = "the headings of its columns are lost"
            return
        widths = {column: table.widths[i] for column, i in at.items() if i < len(table.widths)}
        for row in table.rows:
            # A page printed twice repeats whole rows; rows of several PDBs differ at least in the PDB's name.
            if row in seen:
                continue
            seen.add(row)
            cells = {column: row[i] for column, i in at.items() if i < len(row)}
            strange = [cells[column] for column in section.numbers if not _is_number(cells.get(column, ""))]
            if strange:
                if not any(note.startswith(f"{section.title}: a cell") for note in self.lost):
                    note = f"{section.title}: a cell of {row[0][:40]} cannot be read as a number ({strange[0][:40]})"
                    self.lost[note] = None
                cells |= dict.fromkeys(section.numbers.keys() & cells.keys(), "")
            yield ReportRow(cells, units, widths, section.title, self, not strange)


def _is(table: Table, section: Section) -> bool:
    if table.summary and _untold_number(table.summary.lower()).startswith(section.summary):
        return True
    return _untold_number(table.section) in section.titles


def _numbered(headings: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    for heading in headings:
        again = 2
        name = heading
        while name in names:
            name = f"{heading}#{again}"
            again += 1
        names.append(name)
    return names
