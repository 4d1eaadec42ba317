"""Many rows in one statement, on both engines; a row whose key is there already is left as it is."""

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Column, Connection, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import DeclarativeBase

BulkRows = Sequence[Sequence[Any]]


def table_of(mapped: type[DeclarativeBase]) -> Table:
    """The table behind a mapped class."""
    return cast(Table, mapped.__table__)


def insert_raw(connection: Connection, table: Table, rows: BulkRows, names: Sequence[str] | None = None) -> None:
    """Rows of values as the engine itself keeps them (times of figures as milliseconds), the fast way."""
    if not rows:
        return
    columns = list(table.columns) if names is None else [table.columns[name] for name in names]
    listed = ", ".join(f'"{column.name}"' for column in columns)
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(columns))
        sql = f'insert or ignore into "{table.name}" ({listed}) values ({marks})'
        connection.exec_driver_sql(sql, [tuple(row) for row in rows])
        return
    # One array per column: psycopg sends a statement per row otherwise.
    arrays = ", ".join(f"%s::{_type(column)}[]" for column in columns)
    sql = f'insert into "{table.name}" ({listed}) select * from unnest({arrays}) on conflict do nothing'
    connection.exec_driver_sql(sql, tuple(list(values) for values in zip(*rows, strict=True)))


def _type(column: Column[Any]) -> str:
    return column.type.compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Rows by column name, through the columns' own types; one that is there stays."""
    if rows:
        connection.execute(dialect_insert(connection, table).on_conflict_do_nothing(), list(rows))


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Rows by column name; one that is there takes the new values of the columns given."""
    if not rows:
        return
    statement = dialect_insert(connection, table)
    keys = [column.name for column in table.primary_key]
    changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), list(rows))


def dialect_insert(connection: Connection, table: Table) -> Any:
    """The engine's own insert, which knows `on conflict`."""
    return sqlite_insert(table) if connection.dialect.name == "sqlite" else postgresql_insert(table)
