"""What is asked outside a poll: one view on request, one number of a confirming query, and what `check` reads once."""

from dataclasses import dataclass

from collectors.errors import Cancelled, StatementError, ViewRefused
from collectors.grants import ANYBODY, FoundKind, detected, grant
from collectors.model import Missing, NamedRow, Reading, Row, Snapshot, Value, number, text
from collectors.poll import Connection, sound
from collectors.registry import collectors
from collectors.release import at_least, text_for
from collectors.statement import Statement

# A view that is read on request.

COLD = ", cold: it had not run before, so the database may have had to parse it, which needs the dictionary cache"
LATER = "latchscope looks again after a minute while the hang lasts; by hand, see docs/emergency.md, part 3"


def read(connection: Connection, view: str, release: str | None, *, cold: bool = False, later: str = LATER) -> Reading:
    """The rows of a view that is read on request, or why there are none. Raises SessionError. `later`: when it is read again."""
    try:
        return asked(connection, view, release)
    except Cancelled as error:
        why = f"{view}: the look hit its deadline and was ended{COLD * cold}: {error}"
        return Missing(view, "failed", why, later)


def asked(connection: Connection, view: str, release: str | None) -> Reading:
    """The same. Raises Cancelled if it hits its deadline, and SessionError."""
    statement = text_for(collectors()[view].statements, release)
    if statement is None:
        return Missing(view, "not_asked", f"{view} needs a newer release", "nothing to do on this release")
    try:
        return sound(collectors()[view], connection.query(statement, {}).as_rows())
    except Cancelled:
        raise
    except StatementError as error:
        return not_answered(view, error, release)


def not_answered(view: str, error: StatementError, release: str | None) -> Missing:
    """The reading of a view whose statement failed: a grant cures one that is refused."""
    if isinstance(error, ViewRefused):
        return Missing(view, "refused", f"{view}: {error}", grant(collectors()[view], ANYBODY, release=release))
    return Missing(view, "failed", f"{view}: {error}", "see the error; the polls go on")


# The number that a query of a cause gives, and the names behind it.

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


def counted(connection: Connection, sql: str, release: str | None) -> Counted:
    """The number that a query gives, and where it ran. Raises StatementError if it gives none, SessionError."""
    answer = connection.query(limited(sql, release), {})
    cells = answer.rows[0] if answer.rows else ()
    value = number(cells[0] if cells else None)
    if value is None:
        raise StatementError("the query gave no number")
    container, con_id = cells[-2:] if len(cells) > 2 else (None, None)
    return Counted(value, text(container), None if (place := number(con_id)) is None else int(place))


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
