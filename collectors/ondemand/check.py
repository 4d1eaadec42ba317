"""Bounded queries that somebody asks for: one number of a confirming query, and what `check` reads once."""

from dataclasses import dataclass

from collectors.errors import StatementError
from collectors.grants import FoundKind, detected
from collectors.model import NamedRow, Row, Snapshot, Value, number, text
from collectors.poll import Connection
from collectors.release import at_least
from collectors.statement import Statement

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


# What `latchscope check` reads once, besides a poll, to find the kind of database. PUBLIC may read all of it.

SURROUNDINGS = """\
select /* latchscope kind */ sys_context('userenv', 'database_role') as database_role,
       (select count(*) from all_users where username = 'RDSADMIN') as rds_users
  from dual"""
CLOUD = """\
select /* latchscope kind */ sys_context('userenv', 'cloud_service') as cloud_service
  from dual"""
"""A statement of its own, because a release that does not know the name answers ORA-02003."""
STATEMENTS = (
    Statement(
        kind="check",
        name="kind",
        text=SURROUNDINGS,
        why="whether the database is a standby, or one of Amazon RDS: its grants differ",
        when="a person asks: `latchscope check` or `latchscope init`",
        how_often="once per command",
    ),
    Statement(
        kind="check",
        name="kind",
        text=CLOUD,
        why="whether the PDB is of an Autonomous Database: its grants differ",
        when="a person asks: `latchscope check` or `latchscope init`, inside a PDB",
        how_often="once per command",
        releases="12.1 and later",
    ),
)


def ask_for_kind(connection: Connection, snapshot: Snapshot) -> FoundKind:
    """The kind of the database that was polled just now. Raises SessionError."""
    surroundings = _row(connection, SURROUNDINGS)
    found = detected(snapshot, surroundings)
    return detected(snapshot, {**surroundings, **_row(connection, CLOUD)}) if found.kind == "pdb" else found


def _row(connection: Connection, sql: str) -> Row:
    """The one row of a statement. Empty if it failed, because then the answer is unknown."""
    try:
        answer = connection.query(sql, {})
    except StatementError:
        return {}
    return dict(zip(answer.columns, answer.rows[0], strict=True)) if answer.rows else {}
