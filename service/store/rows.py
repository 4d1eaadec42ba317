"""Many rows in one statement on both engines, the numbers of databases, and the partitions of polls on PostgreSQL."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, select, text
from sqlalchemy.dialects import postgresql, sqlite

from service.store.tables import DATABASES, DAY, millis, moment

BulkRows = Sequence[Mapping[str, Any]]
"""Rows by column name, all with the same columns."""
Newer = Callable[[Table, Any], Any]
"""The condition under which an existing row of a table gets the values of a new one."""


def always(table: Table, new: Any) -> None:
    """Any existing row gets them."""


def insert_into(engine: str, table: Table) -> Any:
    """An insert of this kind of engine, which can say what a conflict does."""
    return (postgresql if engine == "postgresql" else sqlite).insert(table)


@cache
def _new(engine: str, table: Table) -> Any:
    return insert_into(engine, table).on_conflict_do_nothing()


@cache
def _newest(engine: str, table: Table, names: tuple[str, ...], newer: Newer) -> Any:
    wanted = insert_into(engine, table)
    changed = {name: wanted.excluded[name] for name in names if name not in table.primary_key.columns}
    where = newer(table, wanted.excluded)
    return wanted.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed, where=where)


def insert_new(connection: Connection, table: Table, rows: BulkRows) -> None:
    """An existing row stays."""
    if rows:
        connection.execute(_new(connection.dialect.name, table), rows)


def upsert(connection: Connection, table: Table, rows: BulkRows, newer: Newer = always) -> None:
    """In order. An existing row gets the new values, if it is older."""
    if rows:
        connection.execute(_newest(connection.dialect.name, table, tuple(rows[0]), newer), rows)


class NameTables:
    """The numbers of databases, in memory once known. A number, once given, stays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, int] = {}

    def database(self, name: str) -> int | None:
        """The number of a database, or None while the store has nothing of it."""
        if name not in self._known:
            self.forget()
        return self._known.get(name)

    def databases(self, names: Iterable[str]) -> dict[str, int]:
        """The numbers of these databases. New ones get a number."""
        wanted = set(names)
        if wanted - self._known.keys():
            self.forget()
        if missing := wanted - self._known.keys():
            with self._engine.begin() as connection:  # another process may add the same
                insert_new(connection, DATABASES, [{"name": name} for name in sorted(missing)])
            self.forget()
        return {name: self._known[name] for name in wanted}

    def all(self) -> dict[str, int]:
        """Those of every database that the store ever had."""
        self.forget()
        return self._known

    def forget(self) -> None:
        """Read them again: an import or another process may have added some."""
        with self._engine.connect() as connection:
            self._known = {name: number for number, name in connection.execute(select(DATABASES))}


T = TypeVar("T")


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
        with self._engine.connect() as connection:
            # The name of a partition, perhaps from an older release, ends with its day.
            days = {
                name: datetime.strptime(name[-8:], "%Y%m%d").replace(tzinfo=UTC)
                for name in connection.scalars(children)
            }
        old = [name for name, day in days.items() if day + timedelta(days=1) <= before]
        for name in old:
            with self._engine.begin() as connection:
                connection.execute(text(f"drop table if exists {name}"))
            self._known.discard(millis(days[name]))
        return len(old)
