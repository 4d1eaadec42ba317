"""An old store to open: as a SQLite file, and on PostgreSQL, each time as the old release left it."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.service.stores import Postgres
from tests.upgrade.old import FIRST, MADE, OldStore

ENGINES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
"""`make test` upgrades SQLite. PostgreSQL takes the same steps of the same migrations."""


@pytest.fixture(scope="session")
def dumped() -> dict[Path, str]:
    """The names of databases that were restored from pg_dump's output, to copy."""
    return {}


@pytest.fixture(params=ENGINES)
def old(request: pytest.FixtureRequest, tmp_path: Path, dumped: dict[Path, str]) -> Iterator[OldStore]:
    """The store of the release before this one, not opened yet."""
    with restored(MADE, request, tmp_path, dumped) as store:
        yield store


@pytest.fixture(params=ENGINES)
def first(request: pytest.FixtureRequest, tmp_path: Path, dumped: dict[Path, str]) -> Iterator[OldStore]:
    """The store of 0.1.0, not opened yet."""
    with restored(FIRST, request, tmp_path, dumped) as store:
        yield store


@contextmanager
def restored(made: Path, request: pytest.FixtureRequest, tmp_path: Path, dumped: dict[Path, str]) -> Iterator[OldStore]:
    """A copy of the store of a release."""
    if request.param == "sqlite":
        file = tmp_path / "store.sqlite"
        file.write_bytes(gzip.decompress((made / "store.sqlite.gz").read_bytes()))
        yield OldStore(request.param, f"sqlite:///{file}", None)
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    if made not in dumped:
        dumped[made] = f"old{uuid4().hex[:12]}"
        postgres.query(f'create database "{dumped[made]}"')
        script = gzip.decompress((made / "postgresql.sql.gz").read_bytes()).decode()
        with psycopg.connect(dbname=dumped[made], host=postgres.socket, user="postgres", autocommit=True) as connection:
            connection.execute(script)  # type: ignore[call-overload]
    name = f"t{uuid4().hex[:12]}"
    postgres.query(f'create database "{name}" template "{dumped[made]}"')
    yield OldStore(request.param, postgres.url(name), postgres)
    postgres.query(f'drop database "{name}" with (force)')
