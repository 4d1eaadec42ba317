"""Stores of a benchmark: a SQLite file, or a database on a PostgreSQL server that ends with it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.service.stores import Place, Postgres


@contextmanager
def server() -> Iterator[Postgres]:
    """A PostgreSQL server of our own."""
    started = Postgres()
    try:
        yield started
    finally:
        started.stop()


@contextmanager
def store_place(kind: str) -> Iterator[tuple[Place, int | None]]:
    """The place of an empty store, and the first process of its server; a SQLite file has none."""
    with tempfile.TemporaryDirectory(prefix="latchscope-bench-") as folder:
        if kind == "sqlite":
            yield Place(kind, Path(folder), None), None
            return
        with server() as started:
            place = Place(kind, Path(folder), started)
            yield place, started.pid
            place.close()
