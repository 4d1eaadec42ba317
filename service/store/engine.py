"""One SQLAlchemy engine per store: durable SQLite, or PostgreSQL; and the errors of a store in trouble."""

import logging
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError

from service.extras import MissingExtra, require
from service.store.migrations import to_0015
from service.store.migrations.to_0015 import NEWEST

# Whether a store answers. A store that hangs does not block the caller.

PATIENCE = 2.0
"""A store that has not answered after this many seconds counts as not answering."""


class Probe:
    """Asks in its own thread, one question at a time. A caller during a question that hangs gets the answer at once."""

    def __init__(self, ask: Callable[[], bool], patience: float | None = None) -> None:
        """`patience`: seconds, else PATIENCE."""
        self._ask = ask
        self._patience = patience
        self._lock = Lock()
        self._asked: Future[bool] | None = None
        self._began = 0.0

    def answers(self) -> bool:
        """Whether the store answers within its patience."""
        with self._lock:
            asked = self._asked
            if asked is None or asked.done():
                asked, self._began = Future(), monotonic()
                self._asked = asked
                try:
                    Thread(target=self._look, args=(asked,), name="store probe", daemon=True).start()
                except RuntimeError:  # there may be no more threads; then whoever asks waits for the store
                    self._look(asked)
            rest = self._began + (PATIENCE if self._patience is None else self._patience) - monotonic()
        try:
            return asked.result(max(0.0, rest))  # of this question: a later one may have begun meanwhile
        except TimeoutError:
            return False

    def _look(self, asked: Future[bool]) -> None:
        answer = False
        try:
            answer = self._ask()
        finally:
            asked.set_result(answer)


log = logging.getLogger("latchscope.store")

CONNECT_SECONDS = 5
"""Timeout for a PostgreSQL that does not answer."""

DATABASE_ERROR = SQLAlchemyError
"""The base class of every trouble with the database behind the store."""
STORE_ERRORS = (SQLAlchemyError, OSError)
"""The errors that a reader of the store must expect."""


class StoreError(Exception):
    """The store cannot be used: which, why, and the way out."""


class StoreGone(SQLAlchemyError):
    """The store's file was removed, replaced or damaged. What is written to it now would be lost. The text has the way out."""


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
        if (file := sqlite_file(url)) is not None:
            StoreFile(file).watch(engine)
    return engine


def _durable_sqlite(connection: Any, record: object) -> None:
    """Write-ahead log: readers never wait for the writer, and a killed process leaves a consistent file."""
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000"):
        connection.execute(f"pragma {pragma}")


_WAY_OUT = (
    "stop latchscope, bring the file back from a backup or move it away, and start again: the store takes what waits"
)


class StoreFile:
    """The file of a SQLite store. An open file that is removed takes writes without an error, and they end with the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None
        """What is known to be wrong inside it, in one line."""
        self._identity: tuple[int, int] | None = None
        self._size = 0
        self._log: tuple[tuple[int, int] | None, tuple[int, int] | None] = None, None

    def watch(self, engine: Engine) -> None:
        """Look at it before each transaction of this engine, and note what its errors say."""
        event.listen(engine, "begin", lambda _: self.look())
        event.listen(engine, "handle_error", self._noted)
        _files[engine] = self

    def look(self) -> None:
        """Raises StoreGone if it is no longer the file that was opened. It costs one `stat`."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise StoreGone(f"its file {self.path} is gone ({error.strerror}); {_WAY_OUT}") from None
        identity = found.st_dev, found.st_ino
        if self._identity not in (None, identity):
            raise StoreGone(f"its file {self.path} was replaced by another one; {_WAY_OUT}")
        if (
            found.st_size < self._size and self._pages() > found.st_size
        ):  # a VACUUM makes it shorter, and says so inside
            raise StoreGone(f"its file {self.path} was cut from {self._size:,} to {found.st_size:,} bytes; {_WAY_OUT}")
        self._identity, self._size = identity, found.st_size

    def _pages(self) -> int:
        """The size of its pages together, by its own header."""
        with self.path.open("rb") as opened:
            header = opened.read(32)
        page = int.from_bytes(header[16:18], "big")
        return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big") if len(header) == 32 else 1

    def before_polls(self) -> None:
        """Raises StoreGone if polls should rather wait."""
        self.look()
        if self.damage is not None:
            raise StoreGone(f"its file {self.path} is damaged ({self.damage}); {_WAY_OUT}")

    def after_polls(self) -> None:
        """Raises StoreGone if what was just committed may be in no file that a later start can read."""
        self.look()
        log_now, index_now = self._beside("-wal"), self._beside("-shm")
        log_before, index_before = self._log
        # SQLite itself removes both when the last connection closes, and then makes two new ones.
        if log_now is None or (log_now != log_before and index_now == index_before):
            raise StoreGone(f"its log {self.path}-wal was removed or replaced; {_WAY_OUT}")
        self._log = log_now, index_now

    def _beside(self, end: str) -> tuple[int, int] | None:
        """Which file this one of SQLite's own is now."""
        try:
            found = self.path.with_name(f"{self.path.name}{end}").stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _noted(self, context: ExceptionContext) -> None:
        said = str(context.original_exception)
        if "malformed" in said or "not a database" in said:
            self.found(said)

    def found(self, damage: str) -> None:
        """Note a damage. It stays until the next start, because the file does not mend itself."""
        if self.damage is None:
            self.damage = " ".join(damage.split())[:200]
            log.error(
                "store: its file %s is damaged (%s); polls wait in the spool; %s", self.path, self.damage, _WAY_OUT
            )

    def quick_check(self, give_up: Callable[[], bool]) -> bool:
        """SQLite's own check of the structure. False if it was given up before the end."""
        connection = sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True)
        try:
            connection.set_progress_handler(lambda: int(give_up()), 10_000)
            (said,) = connection.execute("pragma quick_check(1)").fetchone()
            if said != "ok":
                self.found(said)
        except sqlite3.DatabaseError as error:
            if "malformed" not in str(error) and "not a database" not in str(error):
                log.info("store: the check of %s was not finished: %s", self.path, error)
                return False
            self.found(str(error))
        finally:
            connection.close()
        return True


_files: "WeakKeyDictionary[Engine, StoreFile]" = WeakKeyDictionary()


def file_of(engine: Engine) -> StoreFile | None:
    """The watched file of a SQLite store. None for PostgreSQL and for a store in memory."""
    return _files.get(engine)


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


def lasting_trouble(error: Exception) -> str | None:
    """What is wrong with a store that answers and still takes nothing, for people. None for any other trouble."""
    if isinstance(error, StoreGone):
        return f"the store cannot be used: {brief(error)}"
    if isinstance(error, DBAPIError) and re.search(r"no such table|relation \S+ does not exist", brief(error)):
        return (
            f"the store lacks a table ({brief(error)}): somebody removed it, or restored a part of a backup; restore it whole, "
            "or name a new store"
        )
    return None


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


# Brings a store to the newest schema.

LOCK = 0x1A7C5C09E
"""PostgreSQL's advisory lock with which processes that start together migrate one after the other."""


OLDEST = "0010"
"""The schema of 0.2.0, the oldest release whose stores are upgraded."""


def upgrade(engine: Engine) -> None:
    """Create the tables or bring them up to date, in one transaction: a killed process leaves the schema unchanged.

    Raises StoreError.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        else:
            connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
        stands = stands_at(connection)
        if why := refusal(connection, stands):
            raise StoreError(f"store {masked(str(engine.url))} {why}")
        if not stands:
            to_0015.create(connection)
        elif stands != [NEWEST]:
            to_0015.migrate(connection)
        elif inspect(connection).has_table("polls"):
            to_0015.add_columns(connection)


def refusal(connection: Connection, stands: list[str]) -> str | None:
    """Why this latchscope does not take a store with these revisions, and the way out. None if it does."""
    if stands in ([], [NEWEST]):
        return None
    if any(revision < OLDEST for revision in stands):
        return "was written by 0.1.0: start latchscope 0.2.0 once on it, then this version (docs/upgrade.md)"
    if stands[0] not in to_0015.FROM:
        return f"has schema {', '.join(stands)}, which this latchscope does not know; use the newer one, or a new store"
    tables = inspect(connection)
    for name in to_0015.OF_FIRST:
        if tables.has_table(name) and connection.exec_driver_sql(f"select 1 from {name} limit 1").first():
            return (
                f"still has figures of 0.1.0 in {name}: let latchscope 0.2.0 run on it until they are moved or expired, "
                "or carry them over with its `store export` (docs/upgrade.md)"
            )
    return None


def refused_file(file: Path) -> str | None:
    """The same of a SQLite file, which is only read: to open it for writing would change it. None if it cannot be read."""
    if not file.exists():
        return None
    engine = _read_only(file)
    try:
        with engine.connect() as connection:
            return refusal(connection, stands_at(connection))
    except SQLAlchemyError:
        return None
    finally:
        engine.dispose()


def _read_only(file: Path) -> Engine:
    return create_engine(f"sqlite:///file:{quote(str(file))}?mode=ro&uri=true")


def stands_at(connection: Connection) -> list[str]:
    """The revisions that the store reports."""
    if not inspect(connection).has_table("alembic_version"):
        return []
    return list(connection.exec_driver_sql("select version_num from alembic_version").scalars())


# A look at a store that changes nothing: whether it answers, which schema it has, and whether latchscope may write
# there.


@dataclass(frozen=True, slots=True)
class StoreLook:
    """What one look showed; `usable` if the service could start with it."""

    store: str
    said: str
    usable: bool


def look_at_store(url: str) -> StoreLook:
    """One look at the store of this URL. It says what is wrong and raises nothing."""
    try:
        file = sqlite_file(url)
        usable, said = _file(file) if file is not None else _server(url)
    except (SQLAlchemyError, MissingExtra, ModuleNotFoundError, ValueError) as error:
        usable, said = False, f"cannot be opened: {brief(error)}; correct `store`, or start what it names"
    return StoreLook(masked(url), said, usable)


def _file(file: Path) -> tuple[bool, str]:
    folder = file.absolute().parent
    if not folder.is_dir():
        return False, f"cannot be created: there is no folder {folder}; create it, or correct `store`"
    if not os.access(folder, os.W_OK):
        return False, f"cannot be written: this account may not write in {folder}; change its owner, or correct `store`"
    if not file.exists():
        return True, "does not exist yet; the first start creates it"
    if not os.access(file, os.R_OK | os.W_OK):
        return False, "cannot be written by this account; change the owner of the file, or correct `store`"
    engine = _read_only(file)
    try:
        with engine.connect() as connection:
            return _schema(connection)
    finally:
        engine.dispose()


def _server(url: str) -> tuple[bool, str]:
    engine = make_engine(url)
    try:
        with engine.connect() as connection:
            if engine.dialect.name != "postgresql":
                return True, "lives in memory, and ends with the process"
            asked = "select has_schema_privilege(current_schema(), 'create') and not pg_is_in_recovery()"
            if not connection.execute(text(asked)).scalar():
                return False, "answers, but its role may not create tables; see docs/history.md for the rights it needs"
            return _schema(connection)
    finally:
        engine.dispose()


def _schema(connection: Connection) -> tuple[bool, str]:
    found = stands_at(connection)
    if why := refusal(connection, found):
        return False, why
    if not found:
        return True, "answers and is empty; the first start creates its tables"
    later = "" if found == [NEWEST] else f"; the next start upgrades it to {NEWEST}"
    return True, f"answers, can be written, schema {', '.join(found)}{later}"
