"""Many rows in one statement, on both engines. The caller decides about rows whose key exists."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from sqlalchemy import Column, Connection, Dialect, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import DeclarativeBase

BulkRows = Sequence[Sequence[Any]]
ColumnValues = Mapping[str, Any]
_NOTHING = "on conflict do nothing"


def table_of(mapped: type[DeclarativeBase]) -> Table:
    """The table behind a mapped class."""
    return cast(Table, mapped.__table__)


def insert_raw(connection: Connection, table: Table, rows: BulkRows, names: Sequence[str] | None = None) -> None:
    """Rows of values in the engine's own form (times of figures as milliseconds). An existing row stays."""
    if not rows:
        return
    columns = tuple(table.columns.keys()) if names is None else tuple(names)
    if connection.dialect.name == "sqlite":
        listed, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        sql = f'insert or ignore into "{table.name}" ({listed}) values ({marks})'
        connection.exec_driver_sql(sql, [tuple(row) for row in rows])
        return
    _from_arrays(connection, table, columns, list(zip(*rows, strict=True)), _NOTHING)


def insert_new(connection: Connection, table: Table, rows: Sequence[ColumnValues]) -> None:
    """Rows by column name, through the columns' own types. An existing row stays."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(sqlite_insert(table).on_conflict_do_nothing(), list(rows))
        return
    _from_arrays(connection, table, tuple(rows[0]), _typed(connection.dialect, table, rows), _NOTHING)


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[ColumnValues],
    changed: Mapping[str, str] | None = None,
    where: str | None = None,
) -> None:
    """Rows by column name, in order. An existing row gets the new values of the given columns.

    `changed`: columns and the SQL of their new values instead, in which `excluded` is the new row; `where`: only
    rows for which this SQL is true change.
    """
    if not rows:
        return
    names, keys = tuple(rows[0]), [column.name for column in table.primary_key]
    changed = changed or {name: f'excluded."{name}"' for name in names if name not in keys}
    sets = ", ".join(f'"{name}" = {value}' for name, value in changed.items())
    listed = ", ".join(f'"{key}"' for key in keys)
    conflict = f"on conflict ({listed}) do update set {sets}" + (f" where {where}" if where else "")
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(names))
        sql = f'insert into "{table.name}" ({", ".join(_quoted(names))}) values ({marks}) {conflict}'
        connection.exec_driver_sql(sql, list(zip(*_typed(connection.dialect, table, rows), strict=True)))
        return
    for some in _each_key_once(rows, keys):
        _from_arrays(connection, table, names, _typed(connection.dialect, table, some), conflict)


def _each_key_once(rows: Sequence[ColumnValues], keys: Sequence[str]) -> list[list[ColumnValues]]:
    """The rows in parts without duplicate keys, each row after earlier ones of its key: one statement changes a row once."""
    parts: list[list[ColumnValues]] = []
    seen: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        part = seen[key] = seen.get(key, -1) + 1
        if part == len(parts):
            parts.append([])
        parts[part].append(row)
    return parts


def _from_arrays(
    connection: Connection, table: Table, names: tuple[str, ...], values: Sequence[Sequence[Any]], conflict: str
) -> None:
    """PostgreSQL: one binary array per column. Otherwise psycopg sends a statement per row."""
    connection.exec_driver_sql(f"{_insert(table, names)} {conflict}", tuple(list(column) for column in values))


@cache
def _insert(table: Table, names: tuple[str, ...]) -> str:
    arrays = ", ".join(f"%b::{_type(table.columns[name])}[]" for name in names)
    return f'insert into "{table.name}" ({", ".join(_quoted(names))}) select * from unnest({arrays})'


def _quoted(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in names]


def _type(column: Column[Any]) -> str:
    return column.type.compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]


def _typed(dialect: Dialect, table: Table, rows: Sequence[ColumnValues]) -> list[list[Any]]:
    """A list per column of the first row, as the columns' own types give their values to the engine."""
    typed = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        process = table.columns[name].type.dialect_impl(dialect).bind_processor(dialect)
        if process is not None:
            values = [process(value) for value in values]
        typed.append(values)
    return typed
