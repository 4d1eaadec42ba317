"""Databases and items by their small numbers, kept in memory once known.

A writer looks up by name and a reader by number, each only what it needs. So neither reads the whole table of items, and
a reader holds no lock, so that the writer never waits for one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import TypeVar, cast

from sqlalchemy import Engine, Executable, select, tuple_

from service.store.ingest.bulk import insert_raw, table_of
from service.store.ingest.samples import SampleItem
from service.store.schema.history_tables import StoredDatabase, StoredItem

T = TypeVar("T")
AT_ONCE = 500
"""Names or numbers per query."""


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
        for some in _chunks(number for number in wanted if number not in self._items):
            self._items.update({number: item for item, number in self._read(_ITEMS.where(StoredItem.id.in_(some)))})
        return {number: self._items[number] for number in wanted if number in self._items}

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


_ITEMS = select(StoredItem.id, StoredItem.view, StoredItem.key, StoredItem.column, StoredItem.gauge)
_DATABASES = select(StoredDatabase.name, StoredDatabase.id)


def _chunks(members: Iterable[T]) -> Iterator[Sequence[T]]:
    rest = iter(members)
    while some := list(islice(rest, AT_ONCE)):
        yield some
