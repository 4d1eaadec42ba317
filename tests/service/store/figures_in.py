"""The figures of a store as rows, for tests that look below its queries."""

from collections.abc import Callable
from typing import Any

from service.store.figures import Tier, once, read
from service.store.repository import Repository

FigureRow = tuple[str, int, tuple[str, str, str, bool], float, float]
END = 2**47


def figures_in(
    store: Repository, tier: Tier = "poll", keep: Callable[[Any], bool] = lambda item: True
) -> list[FigureRow]:
    """Database, milliseconds, item, total and highest of every figure of a tier, in order."""
    rows: list[FigureRow] = []
    for number, database in store.names.all_databases().items():
        with store.engine.connect() as connection:
            found = once(read(connection, tier, number, 0, END))
        items = store.names.named(found.items.tolist())
        columns = (found.items.tolist(), found.at.tolist(), found.totals.tolist(), found.mosts.tolist())
        rows += [
            (database, at, items[item], total, most)
            for item, at, total, most in zip(*columns, strict=True)
            if keep(items[item])
        ]
    return sorted(rows)
