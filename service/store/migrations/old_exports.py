"""Figures one by one in exports of 0.1.0 to 0.2.0: those of polls and hours become the columns of today.

Those of five minutes become polls that cover them, where the store has none. Frozen, as old_figures.py.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, func, select

from service.store.migrations.old_figures import numbers, wanted
from service.store.migrations.to_0015 import CHANGE, changed_to, put_steps
from service.store.rows import batched, insert_new
from service.store.tables import HOURS, POLLS

TABLES: Mapping[str, tuple[str, ...]] = {
    "items": ("id", "view", "key", "column", "gauge"),
    "deltas": ("database_id", "at", "item_id", "value"),
    "five_minutes": ("database_id", "at", "item_id", "total", "most"),
    "hours": ("database_id", "item_id", "at", "total", "most"),
    "buckets": ("width", "database_id", "at", "polls", "seconds", "missing"),
    "unrolled": ("width", "database_id", "at", "times"),
}
"""Tables that only such a file has, and their columns."""
AT_ONCE = 2000
WIDTHS = {"five_minutes": 300, "hours": 3600}


def is_old(name: str, columns: Sequence[str]) -> bool:
    """Whether a table of a file is one of them. Today's `hours` has other columns."""
    return name in TABLES and set(columns) <= set(TABLES[name])


class OldFigures:
    """Takes their rows, in the order of the file, after everything else is in the store."""

    def __init__(self, engine: Engine, databases: Mapping[int, int]) -> None:
        self._engine, self._databases = engine, databases
        self._items: dict[int, tuple[int, float, int]] = {}
        self._buckets: dict[tuple[int, int], dict[int, tuple[int, float, str]]] = defaultdict(dict)
        self._of: tuple[str, int] | None = None
        """Table and database of what waits: they come together, and polls may be many."""
        self._waiting: dict[int, list[tuple[tuple[int, float, int], float, float]]] = defaultdict(list)

    def take(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Some rows of a table."""
        for row in rows:
            if name == "items":
                if (found := wanted(row["view"], row["key"], row["column"])) is not None:
                    self._items[row["id"]] = found
            elif name == "buckets":
                bucket = row["polls"], row["seconds"], row["missing"]
                self._buckets[row["width"], self._databases[row["database_id"]]][row["at"]] = bucket
            elif name in ("deltas", "five_minutes", "hours") and row["item_id"] in self._items:
                of = name, self._databases[row["database_id"]]
                if of != self._of:
                    self.put()
                    self._of = of
                figure = self._items[row["item_id"]], row.get("total", row.get("value")), row.get("most", 0.0)
                self._waiting[row["at"]].append(figure)

    def put(self) -> None:
        """Write what waits."""
        name, database = self._of or ("", 0)
        with self._engine.begin() as connection:
            steps = []
            for at, (polls, seconds, missing) in self._buckets.pop((WIDTHS.get(name, 0), database), {}).items():
                steps.append((at, polls, seconds, missing, *numbers(self._waiting.get(at, ()), missing, seconds)))
            if name == "hours":
                hours = ((database, *step[:3], *step[4], *step[5]) for step in steps)
                insert_new(connection, HOURS, [dict(zip(HOURS.c.keys(), hour, strict=True)) for hour in hours])
            elif name == "five_minutes":
                first = connection.scalar(select(func.min(POLLS.c.at)).where(POLLS.c.database_id == database)) or 2**62
                old = [
                    (at, seconds, missing, told) for at, _, seconds, missing, told, _ in steps if at + 300_000 <= first
                ]
                put_steps(connection, database, old)
            for some in batched(sorted(self._waiting), AT_ONCE) if name == "deltas" else ():
                # A poll that the store had before has its figures.
                bare = (POLLS.c.executions.is_(None), POLLS.c.gets.is_(None), POLLS.c.db_time.is_(None))
                query = select(POLLS.c.at, POLLS.c.seconds, POLLS.c.missing).where(
                    POLLS.c.database_id == database, POLLS.c.at.in_(some), *bare
                )
                changes = [
                    changed_to(database, at, seconds, missing, self._waiting[at])
                    for at, seconds, missing in connection.execute(query).all()
                ]
                if changes:
                    connection.execute(CHANGE, changes)
        self._of, self._waiting = None, defaultdict(list)
