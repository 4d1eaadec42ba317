"""Databases and items by their small numbers, kept in memory once known."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import TypeVar

from sqlalchemy import Engine, select

from service.store.ingest.bulk import insert_new, table_of
from service.store.ingest.samples import SampleItem
from service.store.schema.history_tables import StoredDatabase, StoredItem

T = TypeVar("T")


class NameTables:
    """The two tables that give numbers to names. A number, once given, stays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._databases: dict[str, int] = {}
        self._items: dict[SampleItem, int] = {}
        self._lock = Lock()

    def database(self, name: str) -> int | None:
        """The number of a database, or None while the store has nothing of it."""
        if name not in self._databases:
            with self._lock:
                self._load_databases()
        return self._databases.get(name)

    def databases(self, names: Iterable[str]) -> dict[str, int]:
        """The numbers of these databases, given where they have none yet."""
        wanted = set(names)
        with self._lock:
            self._learn(wanted - self._databases.keys(), self._load_databases, self._add_databases, self._databases)
        return {name: self._databases[name] for name in wanted}

    def items(self, wanted: set[SampleItem]) -> dict[SampleItem, int]:
        """The numbers of these items, given where they have none yet."""
        with self._lock:
            self._learn(wanted - self._items.keys(), self._load_items, self._add_items, self._items)
        return self._items

    def known_items(self, view: str | None = None) -> dict[int, SampleItem]:
        """Every item of a view, or of all, by number."""
        with self._lock:
            self._load_items()
            return {number: item for item, number in self._items.items() if view in (None, item[0])}

    def all_databases(self) -> dict[int, str]:
        with self._lock:
            self._load_databases()
            return {number: name for name, number in self._databases.items()}

    def forget(self) -> None:
        """Read everything anew; an import may have added names."""
        with self._lock:
            self._databases.clear()
            self._items.clear()

    @staticmethod
    def _learn(missing: set[T], load: Callable[[], None], add: Callable[[set[T]], None], known: dict[T, int]) -> None:
        """Look for what is missing, add what is really new, and look again: another process may add the same."""
        if not missing:
            return
        load()
        if missing := missing - known.keys():
            add(missing)
            load()

    def _load_databases(self) -> None:
        with self._engine.connect() as connection:
            rows = connection.execute(select(StoredDatabase.name, StoredDatabase.id))
            self._databases.update({row.name: row.id for row in rows})

    def _add_databases(self, names: set[str]) -> None:
        with self._engine.begin() as connection:
            insert_new(connection, table_of(StoredDatabase), [{"name": name} for name in sorted(names)])

    def _load_items(self) -> None:
        with self._engine.connect() as connection:
            table = StoredItem
            rows = connection.execute(select(table.id, table.view, table.key, table.column, table.gauge))
            self._items.update({(view, key, column, bool(gauge)): id for id, view, key, column, gauge in rows})

    def _add_items(self, items: set[SampleItem]) -> None:
        rows = [
            {"view": view, "key": key, "column": column, "gauge": gauge} for view, key, column, gauge in sorted(items)
        ]
        with self._engine.begin() as connection:
            insert_new(connection, table_of(StoredItem), rows)
