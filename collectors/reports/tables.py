"""What both parsers give: the tables of a report by section, and one way to read their cells."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Literal

# Numbers as reports print them: 1,234 · .5 · -4,018 · 20.1K · 109.72us · N/A · blank · ####. Unknown stays None.

LARGEST_CELL = 40
_NUMBER = re.compile(r"([-+]?)((?:\d[\d,]*)?(?:\.\d*)?)\s*([A-Za-z%]*)")
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


def _parsed(cell: str) -> tuple[float, str] | None:
    cell = cell.strip()
    match = _NUMBER.fullmatch(cell) if len(cell) <= LARGEST_CELL else None
    if not match or not any(sign.isdigit() for sign in match[2]):
        return None
    return float(match[1] + match[2].replace(",", "")), match[3]


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
    if any(not name.isascii() or "?" in name for name in strange):
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
    """One row, read by column heading. Of two columns with the same heading the second is '…#2'."""

    cells: Mapping[str, str]
    widths: Mapping[str, int]
    section: str
    notes: dict[str, None]

    def text(self, *headings: str) -> str:
        """The cell under the first of some headings that the table has. Empty if it has none or the cell is blank."""
        return next((self.cells[name] for name in headings if name in self.cells), "")

    def name(self, known: tuple[str, ...], *headings: str) -> str:
        """A name without its footnote marks, spelt as a known name of the same letters is.

        If a text report cut it at the column's width and exactly one known name starts with it, the full name.
        """
        for heading in headings:
            if heading in self.cells:
                cell = self.cells[heading]
                return _spelt(cell, known, cut=len(cell) >= self.widths.get(heading, 1_000) - 1)
        return ""

    def count(self, *headings: str) -> int | float | None:
        """A number. None if it is blank, N/A, or did not fit its column."""
        return count(self._number(*headings))

    def real(self, *headings: str) -> float | None:
        """A number with decimals, or None."""
        return real(self._number(*headings))

    def micro(self, unit: str, *headings: str) -> int | None:
        """A time in microseconds. `unit` is the unit of cells without one."""
        return micro(self._number(*headings), unit)

    def _number(self, *headings: str) -> str:
        cell = self.text(*headings)
        if is_overflow(cell):
            self.notes[f"{self.section}: a number too wide for its column is printed as {cell} and not used"] = None
        return cell


ALWAYS_FILLED = ("Time Model Statistics", "Time Model System Stats", "Latch Activity", "Foreground Wait Events", "Wait Events",
                 "Dictionary Cache Stats", "Dictionary Cache Statistics")  # fmt: skip
"""Sections that have rows wherever the snapshots hold figures at all."""


@dataclass(slots=True)
class ReportTables:
    """A report as the section readers see it. They add notes that people must read."""

    document: Document
    kind: Literal["AWR", "Statspack", "compare", "cluster"]
    db_time_micro: int | None = None
    cpus: int | None = None
    year: int | None = None
    """Year of the end snapshot, for sections that print no year."""
    notes: dict[str, None] = field(default_factory=dict)
    """Ordered and without repetition, as keys."""
    absent: dict[str, None] = field(default_factory=dict)
    cut: dict[str, None] = field(default_factory=dict)

    @property
    def hollow(self) -> bool:
        """Whether the report says of every section that always has rows that there is no data, as an empty snapshot does."""
        filled = {squeeze(title) for title in ALWAYS_FILLED}
        if any(table.section in filled and table.rows for table in self.document.tables):
            return False
        return len(filled & self.document.silent) >= 2

    def section(self, *titles: str, summary: str = "", wanted: bool = True) -> tuple[ReportRow, ...] | None:
        """The rows of a section under any of its titles, pages joined. None if it is not printed or cut off.

        `summary` is the start of the `summary` attribute of its HTML table, which changes less than the heading.
        A `wanted` section that is absent becomes a note.
        """
        names = {squeeze(title) for title in titles}
        tables = [t for t in self.document.tables if _is(t, names, summary)]
        if names & self.document.cut or any(t.section in self.document.cut for t in tables):
            self.cut[titles[0]] = None
            return None
        if tables or (names & self.document.silent and not self.hollow):
            return tuple(self._records(titles[0], tables))
        if wanted:
            self.absent[titles[0]] = None
        return None

    def _records(self, title: str, tables: list[Table]) -> Iterator[ReportRow]:
        seen: set[tuple[str, ...]] = set()
        for table in tables:
            names = _numbered(table.headings)
            widths = dict(zip(names, table.widths, strict=False))
            for row in table.rows:
                # A page printed twice repeats whole rows; rows of several PDBs differ at least in the PDB's name.
                if row not in seen:
                    seen.add(row)
                    yield ReportRow(dict(zip(names, row, strict=False)), widths, title, self.notes)


def _is(table: Table, names: set[str], summary: str) -> bool:
    by_summary = bool(summary) and table.summary.lower().startswith(summary.lower())
    return by_summary or table.section in names


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
