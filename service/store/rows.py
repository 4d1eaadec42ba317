"""Many rows in one statement on both engines, the numbers of databases, and the partitions of polls on PostgreSQL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from threading import Lock
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Dialect, Engine, Table, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import DeclarativeBase

from service.store.tables import DAY, StoredDatabase, millis, moment

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
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    arrays = ", ".join(f"%b::{table.columns[name].type.compile(dialect)}[]" for name in names)
    return f'insert into "{table.name}" ({", ".join(_quoted(names))}) select * from unnest({arrays})'


def _quoted(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in names]


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


class NameTables:
    """The numbers of databases, in memory once known. A number, once given, stays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._databases: dict[str, int] = {}
        self._writing = Lock()

    def database(self, name: str) -> int | None:
        """The number of a database, or None while the store has nothing of it."""
        if name not in self._databases:
            self._load({name})
        return self._databases.get(name)

    def databases(self, names: Iterable[str]) -> dict[str, int]:
        """The numbers of these databases. New ones get a number."""
        wanted = set(names)
        with self._writing:
            if wanted - self._databases.keys():
                self._load(wanted)
            if missing := wanted - self._databases.keys():
                with self._engine.begin() as connection:
                    insert_raw(connection, table_of(StoredDatabase), [(name,) for name in sorted(missing)], ("name",))
                self._load(missing)  # another process may have added the same
        return {name: self._databases[name] for name in wanted}

    def all_databases(self) -> dict[int, str]:
        with self._engine.connect() as connection:
            return {number: name for name, number in connection.execute(_DATABASES)}

    def forget(self) -> None:
        """Forget everything: an import may have added names."""
        with self._writing:
            self._databases.clear()

    def _load(self, names: Iterable[str]) -> None:
        for some in batched(sorted(names), AT_ONCE):
            with self._engine.connect() as connection:
                rows = connection.execute(_DATABASES.where(StoredDatabase.name.in_(some)))
                self._databases.update((name, number) for name, number in rows)


T = TypeVar("T")
AT_ONCE = 500
"""Names per query."""
_DATABASES = select(StoredDatabase.name, StoredDatabase.id)


def batched(members: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """At most so many at once."""
    return (members[at : at + most] for at in range(0, len(members), most))


# PostgreSQL keeps polls in partitions by day, created ahead and dropped as a whole. SQLite has no partitions.

AHEAD = timedelta(days=2)
LOCK = 0x1A7C5C09F
"""Advisory lock for the creation of partitions: two writers may want the same one."""


class Partitions:
    """The partitions of one store's polls; does nothing on SQLite."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active = engine.dialect.name == "postgresql"
        self._known: set[int] = set()

    def ensure(self, times: Iterable[int]) -> None:
        """Make sure that polls of these times (milliseconds) have a partition."""
        if not self._active:
            return
        for begin in sorted({at - at % DAY for at in times} - self._known):
            with self._engine.begin() as connection:
                connection.execute(text(f"select pg_advisory_xact_lock({LOCK})"))
                connection.execute(
                    text(
                        f"create table if not exists polls_{moment(begin):%Y%m%d} partition of polls "
                        f"for values from ({begin}) to ({begin + DAY})"
                    )
                )
            self._known.add(begin)

    def ahead(self, now: datetime) -> None:
        """Create the partitions of the coming days, so that no poll waits for one."""
        self.ensure((millis(now), millis(now + AHEAD)))

    def drop_before(self, before: datetime) -> int:
        """Drop each partition that ends before this time. Returns their number."""
        children = text(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid "
            "where i.inhparent = to_regclass('polls')"
        )
        with self._engine.begin() as connection:
            begins = {_begin(name): name for name in connection.scalars(children)}
        old = {begin: name for begin, name in begins.items() if begin + DAY <= millis(before)}
        for begin, name in old.items():
            with self._engine.begin() as connection:
                connection.execute(text(f"drop table if exists {name}"))
            self._known.discard(begin)
        return len(old)


def _begin(partition: str) -> int:
    """When the day of a partition began, in milliseconds, by its name, perhaps from an older release."""
    return millis(datetime.strptime(partition.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC))
