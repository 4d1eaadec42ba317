"""A table that you supply: CSV text with a header, read strictly. Every mistake is reported with its line and the way out."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

MOST_ROWS = 10_000
DELIMITERS = (",", ";", "\t")


class BadStudy(Exception):
    """Input that cannot become a study. The message says what, where and the way out."""


@dataclass(frozen=True, slots=True)
class StudyColumn:
    """One quantity of a study: the possible names of its column, its least and most value, whether it may be absent."""

    field: str
    names: tuple[str, ...] = ()
    least: float = 0.0
    optional: bool = False
    most: float = 1e15

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every name, its own first."""
        return (self.field, *self.names)


@dataclass(frozen=True, slots=True)
class SuppliedRow:
    """One line: its number, its words by column, and its numbers by field. None for an empty optional number."""

    line: int
    words: Mapping[str, str]
    numbers: Mapping[str, float | None]

    def need(self, field: str) -> float:
        """A number that is never absent."""
        value = self.numbers[field]
        assert value is not None, field
        return value

    def label(self, columns: Sequence[str]) -> str:
        """The words of some columns as a name, without empty ones."""
        return ", ".join(self.words[column] for column in columns if self.words.get(column))


def rows(
    text: str, name: str, columns: Sequence[StudyColumn], chosen: Mapping[str, str] | None = None, least_rows: int = 2
) -> list[SuppliedRow]:
    """The rows of a table with the numbers of `columns`. Each column is found by its names or as `chosen` (field → header).

    Raises BadStudy.
    """
    header, lines = _parsed(text, name)
    places = _places(header, name, columns, chosen or {})
    if len(lines) < least_rows:
        count = {0: "no row", 1: "one row"}.get(len(lines), f"{len(lines)} rows")
        raise BadStudy(f"{name} has {count}; a study needs at least {least_rows}: measure at more settings")
    return [
        SuppliedRow(
            line,
            dict(zip(header, cells, strict=True)),
            {column.field: _number(cells, places, column, f"{name} line {line}") for column in columns},
        )
        for line, cells in lines
    ]


def _parsed(text: str, name: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header in lower case with underscores, and the non-empty lines with their numbers. `#` starts a comment."""
    kept = [
        (number, line)
        for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not kept:
        raise BadStudy(f"{name} is empty; give a CSV file with a header and a row for each measurement")
    if len(kept) > MOST_ROWS + 1:
        raise BadStudy(f"{name} has {len(kept) - 1:,} rows, more than {MOST_ROWS:,}; give the measurements, not a log")
    delimiter = max(DELIMITERS, key=kept[0][1].count)
    split = [(number, _cells(line, delimiter, f"{name} line {number}")) for number, line in kept]
    header = [re.sub(r"[^a-z0-9]+", "_", cell.lower()).strip("_") for cell in split[0][1]]
    if all(_as_number(cell) is not None for cell in split[0][1]):
        raise BadStudy(f"{name} line {split[0][0]} has numbers; the first line must name the columns")
    twice = sorted({column for column in header if column and header.count(column) > 1})
    if twice:
        raise BadStudy(f"{name} names the column {twice[0]} twice; rename one of them")
    for number, cells in split[1:]:
        if len(cells) != len(header):
            raise BadStudy(f"{name} line {number} has {len(cells)} values, the header {len(header)}; complete the line")
    return header, split[1:]


def _cells(line: str, delimiter: str, where: str) -> list[str]:
    try:
        (cells,) = csv.reader(io.StringIO(line), delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        raise BadStudy(f"{where} is not a line of CSV; close every quote and write one row per line") from None
    return [cell.strip() for cell in cells]


def _places(
    header: Sequence[str], name: str, columns: Sequence[StudyColumn], chosen: Mapping[str, str]
) -> dict[str, int]:
    fields = [column.field for column in columns]
    for field, heading in chosen.items():
        if field not in fields:
            raise BadStudy(f"this study has no {field}; it reads {', '.join(fields)}")
        if heading not in header:
            raise BadStudy(f"{name} has no column {heading}; it has {', '.join(header)}")
    places = {}
    for column in columns:
        accepted = (chosen[column.field],) if column.field in chosen else column.accepted
        found = [header.index(each) for each in accepted if each in header]
        if found:
            places[column.field] = found[0]
        elif not column.optional:
            raise BadStudy(
                f"{name} has no column for {column.field}: name it {' or '.join(column.accepted)}, or say "
                f"--column {column.field}=NAME; it has {', '.join(header)}"
            )
    return places


def _number(cells: Sequence[str], places: Mapping[str, int], column: StudyColumn, where: str) -> float | None:
    place = places.get(column.field)
    if place is None:
        return None
    cell = cells[place]
    if not cell and column.optional:
        return None
    value = _as_number(cell)
    if value is None:
        shown = f"{cell[:40]!r} is not a number" if cell else "the value is missing"
        raise BadStudy(f"{where}, {column.field}: {shown}; write a plain number such as 1234.5")
    if value < column.least:
        raise BadStudy(
            f"{where}, {column.field}: {cell} is less than {column.least:g}, which is impossible; correct the line"
        )
    if value > column.most:
        raise BadStudy(
            f"{where}, {column.field}: {cell} is more than {column.most:,g}, which no study takes; correct the line"
        )
    return value


def _as_number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None
