"""Databases and items by their small numbers, kept in memory once known.

A writer looks up by name and a reader by number, each only what it needs. So neither reads the whole table of items, and
a reader holds no lock, so that the writer never waits for one.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import islice
from threading import Lock
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Dialect, Engine, Executable, Table, select, text, tuple_
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import DeclarativeBase

from collectors.errors import InputError
from collectors.model import Snapshot
from service.store.record import IngestRecord, SampleItem, unpack
from service.store.tables import PARTITION_DAYS, StoredDatabase, StoredFrame, StoredItem, millis, moment

# Many rows in one statement, on both engines. The caller decides about rows whose key exists.

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


T = TypeVar("T")
K = TypeVar("K")
AT_ONCE = 500
"""Names or numbers per query."""


MOST_KNOWN = 20_000
"""Items whose numbers are kept in memory, some 600 bytes each. A fleet has a few thousand. Without a limit a database that
names something new in each poll would take the memory."""


class NameTables:
    """The two tables that give numbers to names. A number, once given, stays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._databases: dict[str, int] = {}
        self._numbers: dict[SampleItem, int] = {}
        """What a writer knows."""
        self._items: dict[int, SampleItem] = {}
        """What readers know."""
        self._writing = Lock()

    def database(self, name: str) -> int | None:
        """The number of a database, or None while the store has nothing of it."""
        if name not in self._databases:
            self._load_databases({name})
        return self._databases.get(name)

    def databases(self, names: Iterable[str]) -> dict[str, int]:
        """The numbers of these databases. New ones get a number."""
        wanted = set(names)
        with self._writing:
            self._learn(wanted, self._load_databases, self._add_databases, self._databases)
        return {name: self._databases[name] for name in wanted}

    def items(self, wanted: set[SampleItem]) -> Mapping[SampleItem, int]:
        """The numbers of these items. New ones get a number."""
        with self._writing:
            self._numbers = _younger(self._numbers)
            self._learn(wanted, self._load_numbers, self._add_items, self._numbers)
            return self._numbers

    def numbers(self, polls: Sequence[Sequence[SampleItem]]) -> list[list[int]]:
        """The number of each item of these polls. New ones get a number."""
        known = self._numbers
        found = [[*map(known.get, items)] for items in polls]
        if missing := [place for place, numbers in enumerate(found) if None in numbers]:
            learned = self.items({item for place in missing for item in polls[place]})
            for place in missing:
                found[place] = [learned[item] for item in polls[place]]
        return cast(list[list[int]], found)

    def named(self, numbers: Iterable[int]) -> dict[int, SampleItem]:
        """The items of these numbers. One that the store does not know is left out."""
        wanted = list(numbers)
        known = _younger(self._items)
        for some in _chunks(number for number in wanted if number not in known):
            known.update({number: item for item, number in self._read(_ITEMS.where(StoredItem.id.in_(some)))})
        self._items = known
        return {number: known[number] for number in wanted if number in known}

    def all_databases(self) -> dict[int, str]:
        with self._engine.connect() as connection:
            return {number: name for name, number in connection.execute(_DATABASES)}

    def forget(self) -> None:
        """Forget everything: an import may have added names."""
        with self._writing:
            self._databases.clear()
            self._numbers.clear()

    @staticmethod
    def _learn(
        wanted: set[T], load: Callable[[set[T]], None], add: Callable[[set[T]], None], known: dict[T, int]
    ) -> None:
        """Look for missing names, add new ones, and look again: another process may add the same."""
        for step in (load, add, load):
            if missing := wanted - known.keys():
                step(missing)

    def _load_databases(self, names: set[str]) -> None:
        for some in _chunks(names):
            with self._engine.connect() as connection:
                rows = connection.execute(_DATABASES.where(StoredDatabase.name.in_(some)))
                self._databases.update((name, number) for name, number in rows)

    def _add_databases(self, names: set[str]) -> None:
        with self._engine.begin() as connection:
            insert_raw(connection, table_of(StoredDatabase), [(name,) for name in sorted(names)], ("name",))

    def _load_numbers(self, items: set[SampleItem]) -> None:
        named = tuple_(StoredItem.view, StoredItem.key, StoredItem.column)
        for some in _chunks(items):
            found = self._read(_ITEMS.where(named.in_([(view, key, column) for view, key, column, _ in some])))
            self._numbers.update(found)

    def _add_items(self, items: set[SampleItem]) -> None:
        """Numbers of a column are contiguous, as they are read."""
        rows = sorted(items, key=lambda item: (item[0], item[2], item[1]))
        with self._engine.begin() as connection:
            insert_raw(connection, table_of(StoredItem), rows, ("view", "key", "column", "gauge"))

    def _read(self, query: Executable) -> list[tuple[SampleItem, int]]:
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [((view, key, column, bool(gauge)), number) for number, view, key, column, gauge in rows]


def _younger(known: dict[K, T]) -> dict[K, T]:
    """All names while they are few, else those that were learned last, half of the bound. The store has the others.

    The names are copied in one step, because another reader may be adding some.
    """
    return known if len(known) < MOST_KNOWN else dict(list(known.items())[-(MOST_KNOWN // 2) :])


_ITEMS = select(StoredItem.id, StoredItem.view, StoredItem.key, StoredItem.column, StoredItem.gauge)
_DATABASES = select(StoredDatabase.name, StoredDatabase.id)


def _chunks(members: Iterable[T]) -> Iterator[Sequence[T]]:
    """At most AT_ONCE members each, the last one repeated up to one of ten lengths.

    Each length is a statement of its own, and every connection keeps a hundred of them: 9 MB, which nobody sees as objects.
    """
    rest = iter(members)
    while some := list(islice(rest, AT_ONCE)):
        length = min(1 << (len(some) - 1).bit_length(), AT_ONCE)
        yield some + some[-1:] * (length - len(some))


# PostgreSQL keeps figures in partitions by time, created ahead and dropped as a whole. SQLite has no partitions.

DAY = 86_400_000
AHEAD = timedelta(days=2)
LOCK = 0x1A7C5C09F
"""Advisory lock for the creation of partitions: two writers may want the same one."""


class Partitions:
    """The partitions of one store; does nothing on SQLite."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._active = engine.dialect.name == "postgresql"
        self._known: set[tuple[str, int]] = set()

    def ensure(self, table: str, times: Iterable[int]) -> None:
        """Make sure that rows of these times (milliseconds) have a partition."""
        if not self._active:
            return
        width = PARTITION_DAYS[table] * DAY
        wanted = {at - at % width for at in times}
        for begin in sorted(wanted - {begin for name, begin in self._known if name == table}):
            with self._engine.begin() as connection:
                connection.execute(text(f"select pg_advisory_xact_lock({LOCK})"))
                connection.execute(
                    text(
                        f"create table if not exists {_name(table, begin)} partition of {table} "
                        f"for values from ({begin}) to ({begin + width})"
                    )
                )
            self._known.add((table, begin))

    def ahead(self, now: datetime) -> None:
        """Create the partitions of the coming days, so that no poll waits for one."""
        for table in PARTITION_DAYS:
            self.ensure(table, (millis(now), millis(now + AHEAD)))

    def drop_before(self, table: str, before: datetime) -> int:
        """Drop each partition that ends before this time. Returns their number."""
        if not self._active:
            return 0
        width = PARTITION_DAYS[table] * DAY
        dropped = 0
        with self._engine.begin() as connection:
            old = [(begin, name) for begin, name in _children(connection, table) if begin + width <= millis(before)]
        for begin, name in old:
            with self._engine.begin() as connection:
                connection.execute(text(f"drop table if exists {name}"))
            self._known.discard((table, begin))
            dropped += 1
        return dropped


def _name(table: str, begin: int) -> str:
    return f"{table}_{moment(begin).astimezone(UTC):%Y%m%d}"


def _children(connection: Connection, table: str) -> list[tuple[int, str]]:
    """The partitions of a table: the start of each in milliseconds, and its name, perhaps from an older release."""
    names = connection.scalars(
        text(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid "
            "where i.inhparent = to_regclass(:parent)"
        ),
        {"parent": table},
    )
    return [(millis(datetime.strptime(name.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC)), name) for name in names]


# Snapshots in the store. Each is packed with the first of its day as dictionary, which has nearly all of its content.
#
# A body of this form starts with a special byte, then the checksum of the dictionary. Any other is a snapshot without
# a dictionary: the first of a day, one of an older release, or one of a store that lost the frame.

WITH_FRAME = b"\x01"
"""No zlib stream starts with it."""
HEAD = 5
"""Bytes before the stream: the one above, and the checksum of the dictionary."""
REACH = 32_768
"""zlib looks back this far, so more of a frame is useless."""
OPEN_FRAMES = 512
"""Frames that a writer keeps ready, some 10 kB each: as many as one process polls on a core."""
Day = tuple[str, str]
"""Database and UTC date."""


class LostFrame(ValueError):
    """A snapshot whose frame is missing, or is not the one it was packed with, or that holds what no view gives."""


def day_of(database: str, at: datetime) -> Day:
    """The day whose frame a snapshot is packed with."""
    return database, at.astimezone(UTC).date().isoformat()


class Frames:
    """The current day's frame of each database, from the store."""

    def __init__(self) -> None:
        self._bodies: dict[str, tuple[str, bytes]] = {}

    def of(self, connection: Connection, records: Iterable[IngestRecord]) -> dict[Day, bytes]:
        """The frames of these polls. The first poll of a day becomes its frame, within the current transaction."""
        first: dict[Day, bytes] = {}
        for record in records:
            first.setdefault(day_of(record.database, record.at), record.body)
        found = {
            (database, day): known[1]
            for database, day in first
            if (known := self._bodies.get(database)) and known[0] == day
        }
        new = {key: zlib.compress(body) for key, body in first.items() if key not in found}
        rows = [{"database": database, "day": day, "body": body} for (database, day), body in new.items()]
        insert_new(connection, table_of(StoredFrame), rows)
        for key, body in new.items():
            found[key] = frame_of(connection, key) or body
        return found

    def remember(self, frames: dict[Day, bytes]) -> None:
        """After the commit: the newest day of each database."""
        for (database, day), body in sorted(frames.items()):
            self._bodies[database] = (day, body)

    def forget(self) -> None:
        """Forget everything: an import may have brought others."""
        self._bodies.clear()


def frame_of(connection: Connection, day: Day) -> bytes | None:
    """The frame of a day, or None."""
    of = (StoredFrame.database == day[0], StoredFrame.day == day[1])
    body: bytes | None = connection.scalar(select(StoredFrame.body).where(*of))
    return body


def packed(plain: bytes, frame: bytes) -> bytes:
    """A snapshot, given as JSON, packed with a frame. The first of a day is its frame, and needs no other."""
    first, head = _opened(frame)
    if plain == first:
        return frame
    squeezer = zlib.compressobj(zdict=first[-REACH:])
    return head + squeezer.compress(plain) + squeezer.flush()


@lru_cache(OPEN_FRAMES)
def _opened(frame: bytes) -> tuple[bytes, bytes]:
    """The plain frame, and the head of snapshots packed with it."""
    first = zlib.decompress(frame)
    return first, WITH_FRAME + _sum(first[-REACH:])


def self_contained(body: bytes, frame: bytes | None) -> bytes:
    """A stored body without its frame. Raises LostFrame."""
    if body[:1] != WITH_FRAME:
        return body
    if frame is None:
        raise LostFrame("the first snapshot of its day is missing")
    dictionary = _dictionary(frame)
    if _sum(dictionary) != body[1:HEAD]:
        raise LostFrame("the first snapshot of its day is another than the one it was packed with")
    return zlib.compress(zlib.decompressobj(zdict=dictionary).decompress(body[HEAD:]))


def stored_snapshot(connection: Connection, database: str, at: datetime, body: bytes) -> Snapshot:
    """A row of `snapshots` as it was. Raises LostFrame, ValueError or zlib.error."""
    frame = frame_of(connection, day_of(database, at)) if body[:1] == WITH_FRAME else None
    try:
        return unpack(self_contained(body, frame), database)
    except InputError as error:  # an older release kept whatever a database answered
        raise LostFrame(str(error)) from None


def checksum(frame: bytes | None) -> bytes | None:
    """The frame's checksum in the head of a body, after the first byte. None without a frame."""
    return None if frame is None else _sum(_dictionary(frame))


def _sum(dictionary: bytes) -> bytes:
    return zlib.crc32(dictionary).to_bytes(HEAD - 1, "big")


def _dictionary(frame: bytes) -> bytes:
    return zlib.decompress(frame)[-REACH:]
