"""Figures that know the rows they come from, so that the arithmetic of a signal is written once and can be shown.

In a traced Delta every number is a Figure: a float that keeps, beside its value, how it was made of cells. The signals compute
with it as with any other number; nothing of them is written a second time. An ordinary Delta has plain numbers and costs nothing.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

from collectors.model import Changes, ColumnKind, Delta, Row, Value
from collectors.registry import collectors

Operator = Literal["sum", "difference", "ratio", "share", "largest"]
Group = TypeVar("Group", bound=Hashable)
INTERVAL = "interval"
"""Stands for a view: the interval that a Delta covers, with its seconds."""
SESSIONS = "sessions"
"""Stands for a column of v$session: the number of sampled sessions whose cells are these."""
SAID_IN_TEXT: Mapping[str, tuple[str, ...]] = {
    "v$parameter": ("value",),
    "v$instance": ("parallel", "version_full", "version"),
}
"""Cells that a signal reads as a number although they are text."""


SHOWN = ("parameter", "event", "type", "p1", "p1raw", "p2", "p3", "blocking_instance", "blocking_session", "sql_id")
"""Columns that say what a row is beside those that identify it. Names of people and programs are not needed for that."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceRow:
    """A row as it was captured. It is compared as an object: two equal rows are two rows."""

    view: str
    names: tuple[str, ...]
    """The columns that identify it, or say what it is."""
    cells: Row


class Cell(NamedTuple):
    """A cell; without a column the row itself, which counts one."""

    row: SourceRow
    column: str | None
    part: int | None = None
    """Of a release: which of its numbers, from 0."""


class Step(NamedTuple):
    """One operation. The terms of a share are part, whole, and optionally the amount that it is a share of."""

    operator: Operator
    terms: tuple["Term", ...]


Term = Cell | Step | float


class _Traced:
    """The arithmetic of Figure and Count: the value as before, and how it is made."""

    term: Term

    def __add__(self, other: Any) -> Any:
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self)

    def __sub__(self, other: Any) -> Any:
        return _difference(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _difference(other, self)

    def __mul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _ratio(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _ratio(other, self)


class Figure(_Traced, float):
    """A number with its provenance."""


class Count(_Traced, int):
    """A whole number with its provenance."""


class Text(str):
    """A text that a signal reads as a number, with its cell."""

    cell: Cell


def term_of(value: float) -> Term:
    """How a number was made. A plain number stands for itself."""
    return value.term if isinstance(value, _Traced) else float(value)


def _made(value: float, term: Term) -> Figure | Count:
    figure: Figure | Count = Count(value) if isinstance(value, int) else Figure(value)
    figure.term = term
    return figure


def _plain(value: Any) -> Any:
    """The value without its provenance. A text stays as it is."""
    if isinstance(value, Count):
        return int(value)
    return float(value) if isinstance(value, Figure) else value


def _sum(one: Any, other: Any) -> Any:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return NotImplemented
    terms = [each for value in (one, other) for each in _terms_of_sum(term_of(value)) if each != 0.0]
    return _made(_plain(one) + _plain(other), terms[0] if len(terms) == 1 else Step("sum", tuple(terms)))


def _terms_of_sum(term: Term) -> tuple[Term, ...]:
    return term.terms if isinstance(term, Step) and term.operator == "sum" else (term,)


def _difference(one: Any, other: Any) -> Any:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return NotImplemented
    less = term_of(other)
    return _made(_plain(one) - _plain(other), term_of(one) if less == 0.0 else Step("difference", (term_of(one), less)))


def _ratio(one: Any, other: Any) -> Any:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return NotImplemented
    return _made(_plain(one) / _plain(other), Step("ratio", (term_of(one), term_of(other))))


def _product(one: Any, other: Any) -> Any:
    """A product is the share of an amount; another one is written as a ratio: x over (1 over y)."""
    if not isinstance(other, int | float):
        return NotImplemented
    value, terms = _plain(one) * _plain(other), (term_of(one), term_of(other))
    for factor, amount in (terms, terms[::-1]):
        if factor == 1.0 and not all(isinstance(each, int) for each in (one, other) if not isinstance(each, Figure)):
            return _made(value, amount)  # all of an amount; a whole number says how often, also where that is once
        # A ratio to a plain number is another unit of a figure, and no share.
        if isinstance(factor, Step) and factor.operator == "ratio" and not isinstance(factor.terms[1], float):
            return _made(value, Step("share", (*factor.terms, amount)))
    return _made(value, Step("ratio", (terms[0], Step("ratio", (1.0, terms[1])))))


def largest(values: Iterable[float], default: float = 0.0) -> float:
    """The largest of some numbers, which remembers what it was compared with."""
    numbers = list(values)
    most = max(numbers, default=default)
    terms = tuple(dict.fromkeys(map(term_of, numbers)))
    if len(terms) < 2 or not isinstance(most, _Traced):
        return most
    return _made(_plain(most), Step("largest", terms))


def read_as(said: object, value: float, part: int | None = None) -> float:
    """The number that a text says; `part`: which number of a release it is."""
    return _made(value, said.cell._replace(part=part)) if isinstance(said, Text) else value


def one_of(row: Row) -> int:
    """1, for a row that is counted."""
    return _made(1, Cell(row.source, None)) if isinstance(row, _Row) else 1  # type: ignore[return-value]


def tallied(counts: Counter[Group], rows: Sequence[Row], columns: Sequence[str]) -> Counter[Group]:
    """How many sampled sessions have the same cells in some columns. In a traced Delta each count is a cell of its own row."""
    if not rows or not isinstance(rows[0], _Row):
        return counts
    view = rows[0].source.view
    for cells, times in counts.items():
        each = zip(columns, cells, strict=True)  # type: ignore[call-overload]
        said = {name: cell for name, cell in each if cell is not None and name in SHOWN}
        counts[cells] = _made(times, Cell(SourceRow(view, tuple(said), {**said, SESSIONS: times}), SESSIONS))  # type: ignore[assignment]
    return counts


class _Row(dict[str, Value]):
    """A row of a traced Delta."""

    source: SourceRow


def traced(delta: Delta) -> Delta:
    """The same Delta with figures for numbers. Whatever is judged on it is judged as before."""
    readings = {
        view: replace(reading, rows=tuple(_traced_row(view, row) for row in reading.rows))
        if isinstance(reading, Changes)
        else reading
        for view, reading in delta.readings.items()
    }
    begun = {
        view: replace(reading, rows=tuple(_traced_row(view, row, " at the beginning") for row in reading.rows))
        for view, reading in delta.at_begin.items()
    }
    basis = delta.basis
    if basis.seconds is not None:
        row = SourceRow(INTERVAL, (), {"seconds": basis.seconds})
        basis = replace(basis, seconds=_made(float(basis.seconds), Cell(row, "seconds")))
    return replace(delta, readings=readings, at_begin=begun, basis=basis)


_NUMBERS = (ColumnKind.COUNTER, ColumnKind.GAUGE)


def _traced_row(view: str, row: Row, when: str = "") -> _Row:
    declared = collectors().get(view)
    kinds = {column.name: column.kind for column in declared.columns} if declared else {}
    names = declared.key if declared else ()
    made = _Row(row)
    shown = tuple(name for name in (*names, *SHOWN) if row.get(name) is not None)
    made.source = SourceRow(view + when, shown, dict(row))
    for column, value in row.items():
        cell = Cell(made.source, column)
        if isinstance(value, str) and column in SAID_IN_TEXT.get(view, ()):
            text = Text(value)
            text.cell = cell
            made[column] = text
        elif kinds.get(column) in _NUMBERS and isinstance(value, int | float):
            made[column] = _made(float(value), cell)
    return made
