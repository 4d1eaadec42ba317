"""An old store to open: as a SQLite file, and on PostgreSQL, each time as the old release left it."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.service.stores import ENGINES, Postgres
from tests.upgrade.old import MADE, OldStore


@pytest.fixture(scope="session")
def dumped(postgres: Postgres) -> str:
    """A database restored from pg_dump's output, to copy."""
    name = f"old{uuid4().hex[:12]}"
    postgres.query(f'create database "{name}"')
    script = gzip.decompress((MADE / "postgresql.sql.gz").read_bytes()).decode()
    with psycopg.connect(dbname=name, host=postgres.socket, user="postgres", autocommit=True) as connection:
        connection.execute(script)  # type: ignore[call-overload]
    return name


@pytest.fixture(params=ENGINES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OldStore]:
    """The old store, not opened yet."""
    if request.param == "sqlite":
        file = tmp_path / "store.sqlite"
        file.write_bytes(gzip.decompress((MADE / "store.sqlite.gz").read_bytes()))
        yield OldStore(request.param, f"sqlite:///{file}", None)
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    name = f"t{uuid4().hex[:12]}"
    postgres.query(f'create database "{name}" template "{request.getfixturevalue("dumped")}"')
    yield OldStore(request.param, postgres.url(name), postgres)
    postgres.query(f'drop database "{name}" with (force)')
