"""One SQLAlchemy engine per store: durable SQLite, or PostgreSQL; and the errors of a store in trouble."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError

from service.extras import require

log = logging.getLogger("latchscope.store")

CONNECT_SECONDS = 5
"""Timeout for a PostgreSQL that does not answer."""

DATABASE_ERROR = SQLAlchemyError
"""The base class of every trouble with the database behind the store."""
STORE_ERRORS = (SQLAlchemyError, OSError)
"""The errors that a reader of the store must expect."""


class StoreError(Exception):
    """The store cannot be used: which, why, and the way out."""


class StoreUnavailable(Exception):
    """The store did not answer just now. The request may be repeated."""


@contextmanager
def unavailable_as_one_line() -> Iterator[None]:
    """Raise the errors of the store's driver as StoreUnavailable, in one line."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreUnavailable(brief(error)) from None


def make_engine(url: str) -> Engine:
    """An engine for this URL, not connected yet. Raises SQLAlchemyError, MissingExtra, ModuleNotFoundError or ValueError."""
    timeout: dict[str, int] = {}
    if make_url(url).get_backend_name() == "postgresql":
        timeout = {"connect_timeout": CONNECT_SECONDS}
        if make_url(url).get_driver_name() == "psycopg":
            require("psycopg", "postgresql", "stores in PostgreSQL")
    engine = create_engine(url, pool_pre_ping=True, connect_args=timeout)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _durable_sqlite)
    return engine


def _durable_sqlite(connection: Any, record: object) -> None:
    """Write-ahead log: readers never wait for the writer, and a killed process leaves a consistent file."""
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000"):
        connection.execute(f"pragma {pragma}")


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite store. None for PostgreSQL and for a store in memory."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        return None
    return Path(str(parsed.database))


def close_to_others(file: Path) -> None:
    """Remove the rights of others on a SQLite store and its log that an older latchscope left open."""
    for path in (file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm", "-journal", "-lock"))):
        close_path(path)


def close_path(path: Path) -> None:
    """Leave a file or folder of ours to its owner only. One that belongs to somebody else is theirs to protect."""
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077 and not path.is_symlink():
            path.chmod(mode & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("%s can be read by others, and its mode cannot be changed: %s", path, error.strerror)


def out_of_order(error: Exception) -> bool:
    """Whether the store itself is in trouble (down, locked, full, damaged), so that the same write may succeed later.

    False if the store refuses the data, now and later.
    """
    if isinstance(error, DataError | IntegrityError):
        return False
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
        return False
    return isinstance(error, STORE_ERRORS)


def passfile_trouble(url: str) -> str | None:
    """Why PostgreSQL's client takes no password from the `passfile` of this URL. None if it can, or if there is none.

    The client itself goes on without a password, and the server then says that none was supplied.
    """
    named = make_url(url).query.get("passfile")
    if not isinstance(named, str):
        return None
    file = Path(named)
    try:
        with file.open("rb"):
            mode = stat.S_IMODE(file.stat().st_mode)
    except OSError as error:
        way = f"; give it to uid {os.getuid()}, with mode 0400" if isinstance(error, PermissionError) else ""
        return f"the password file {file} cannot be read: {error.strerror}{way}"
    if mode & 0o077:
        return (
            f"the password file {file} has mode {mode:04o}, so others may read it and it does not count; make that 0400"
        )
    return None


def masked(url: str) -> str:
    """The URL without its password and its query, which may contain one. If it cannot be parsed, only the scheme."""
    try:
        return make_url(url).set(query={}).render_as_string()
    except (SQLAlchemyError, ValueError):
        return f"{url.partition('://')[0]}://…" if "://" in url else "without a scheme"


def brief(error: Exception) -> str:
    """The first line of the store's message."""
    return str(getattr(error, "orig", None) or error).splitlines()[0]
