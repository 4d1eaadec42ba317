"""A bounded query for one number: the confirming query of a cause, or any other single question."""

from dataclasses import dataclass

from collectors.confirmation import NamedRow
from collectors.errors import StatementError
from collectors.model import Value, number, text
from collectors.poll import Connection
from collectors.release import at_least

ROW_LIMIT = 1
MOST_NAMES = 5
CONTAINER = ", sys_context('userenv', 'con_name') as con_name, to_number(sys_context('userenv', 'con_id')) as con_id"
"""Where a query ran. Before 12.1 there are no containers, and the expression fails there."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The number that a query gave, and its container. None before 12.1 or if the release is unknown."""

    number: float
    container: str | None
    con_id: int | None


def limited(sql: str, release: str | None = None, rows: int = ROW_LIMIT) -> str:
    """The query with our mark and a row limit that every release understands. From 12.1 on it asks for the container too."""
    columns_asked = f"q.*{CONTAINER}" if release is not None and at_least(release, "12.1") else "*"
    return f"select /* latchscope confirm */ {columns_asked}\n  from ({sql}) q\n where rownum <= {rows}"


def one_number(connection: Connection, sql: str) -> float:
    """The number that a query gives. Raises StatementError if it gives none, SessionError."""
    return counted(connection, sql, None).number


def counted(connection: Connection, sql: str, release: str | None) -> Counted:
    """The number that a query gives, and where it ran. Raises StatementError if it gives none, SessionError."""
    answer = connection.query(limited(sql, release), {})
    cells = answer.rows[0] if answer.rows else ()
    value = cells[0] if cells else None
    if not isinstance(value, int | float):
        raise StatementError("the query gave no number")
    container, con_id = cells[-2:] if len(cells) > 2 else (None, None)
    return Counted(float(value), text(container), None if (place := number(con_id)) is None else int(place))


def first_names(connection: Connection, sql: str) -> tuple[NamedRow, ...]:
    """The first rows of a query that names what another query counted. Raises StatementError, SessionError."""
    answer = connection.query(limited(sql, rows=MOST_NAMES), {})
    return tuple(dict(zip(answer.columns, map(_cell, cells), strict=True)) for cells in answer.rows[:MOST_NAMES])


def _cell(value: Value) -> str | float | None:
    return number(value) if isinstance(value, int | float) else text(value)
