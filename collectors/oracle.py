"""Sessions on a real database, with deadlines and with marks for the DBA. The only file that imports oracledb."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from sys import getsizeof
from threading import Lock
from time import monotonic, perf_counter
from typing import Literal, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import oracledb

from collectors.deadline import (
    CONNECT_SECONDS,
    LOOK_SECONDS,
    MOST_LEFT_BEHIND,
    STATEMENT_SECONDS,
    SessionCalls,
    left_behind,
)
from collectors.errors import (
    LONGEST_TEXT,
    Cancelled,
    CollectError,
    CredentialError,
    SessionError,
    SessionKept,
    SetupError,
    StatementError,
    TooLarge,
    UnlistedStatement,
    brief,
    classified,
    cut,
)
from collectors.model import Binds, Value
from collectors.ondemand.blockers import of_look
from collectors.poll import Answer
from collectors.registry import collectors
from collectors.sql_list import MOST_BYTES, rows_at_most, texts

T = TypeVar("T")
Opened: TypeAlias = tuple[SessionCalls, oracledb.Connection]
LogIn: TypeAlias = Callable[[], Opened]

ROOM = 250
"""Rows that the first execution fetches. Nearly every one of our statements gives fewer, so it is one round trip. The
driver reserves this many rows for each cached statement. So a statement is cached from its second execution on, with
room for the rows it gave; many statements run only once."""
LEAST_ROOM, MOST_ROOM = 32, 2000
USUAL_BYTES, MOST_TOGETHER = 4 * 2**20, 128 * 2**20
"""What the answers of one database may always hold, and what those of all larger ones hold together at most."""
REMAINS, REMAINS_PAUSE = 100, 60.0
"""Ended sessions whose remains are collected at once, and the least seconds between two such collections: each stops every
thread, half a second where thousands of databases are polled."""


@dataclass(frozen=True, slots=True)
class ConnectTarget:
    """Where and as which user to connect. No text made from it holds the password."""

    dsn: str
    user: str
    password: str = field(repr=False)
    config_dir: Path | None = None
    wallet: Path | None = None
    wallet_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The most seconds that each step may take."""

    connect: float = CONNECT_SECONDS
    statement: float = STATEMENT_SECONDS
    """The driver's call_timeout. A slow statement is cancelled; its session is kept if it answers a ping."""
    blocker_look: float = LOOK_SECONDS
    """The same for a statement of the look for blockers, which runs on an instance that hangs."""
    ping: float = 2.0
    close: float = 2.0

    def of(self, sql: str) -> "Deadlines":
        """The deadlines of this statement: a statement of a look for blockers has its own."""
        return replace(self, statement=self.blocker_look) if of_look(sql) else self

    @property
    def frozen(self) -> float:
        """Our own limit, for a server that does not even answer the cancel. Then the session is given up."""
        return _guard(self.statement)


def _guard(call_timeout: float) -> float:
    """Seconds to wait for the driver. It uses its call_timeout twice: for the answer, and for the answer to the cancel."""
    return 2 * call_timeout + 2.0


class TooSlow(SessionKept):
    """Several statements in a row are too slow. More statements would only add to the load."""


@cache
def prepare(mode: Literal["thin", "thick"], client: Path | None = None) -> None:
    """Set the process to thin or thick mode, once. Raises SetupError.

    Thin mode must be set explicitly: until the driver has chosen, one silent listener blocks every other connect.
    """
    try:
        if mode == "thin":
            oracledb.enable_thin_mode()  # type: ignore[no-untyped-call]
        else:
            oracledb.init_oracle_client(lib_dir=str(client) if client else None)
    except oracledb.Error as error:
        raise SetupError(f"{mode} mode cannot be used: {brief(error)}; see docs/connect.md") from None


class OracleConnection:
    """One session on a real database; see Connection. Every call has a deadline.

    It sends the texts in `accepted` and no other: by default those of `collectors.sql_list`, which has no confirming queries.
    """

    def __init__(
        self,
        name: str,
        target: ConnectTarget,
        deadlines: Deadlines | None = None,
        accepted: frozenset[str] | None = None,
        replacing: Callable[[LogIn], Opened] = lambda log_in: log_in(),
    ) -> None:
        """Logs in. `replacing` decides about each later login, in place of a session that does not answer."""
        self._name = f"session {name}"
        self._target = target
        self._accepted = texts() if accepted is None else accepted
        self._deadlines = deadlines or Deadlines()
        self._replacing = replacing
        self._cancelled = False
        self._in_doubt = False
        self._room: dict[str, int] = {}
        self._kept: dict[str, oracledb.Cursor] = {}
        """Cursors of statements that were run before. A new one costs as much as the answer."""
        self._calls, self._session = self._log_in()

    def _log_in(self) -> Opened:
        if left_behind(self._name) >= MOST_LEFT_BEHIND:
            raise SessionError(f"{MOST_LEFT_BEHIND} earlier attempts still hang in the driver, so no other is made")
        calls = SessionCalls(self._name)
        try:
            return calls, _within(calls, lambda: self._connect(self._target), self._deadlines.connect, "the login")
        except StatementError as error:  # for example of a logon trigger: then there is no good session
            calls.abandon()
            _REMAINS.add()
            raise SessionError(f"the login failed: {error}") from None
        except BaseException:
            calls.abandon()
            _REMAINS.add()
            raise

    def _connect(self, target: ConnectTarget) -> oracledb.Connection:
        session = oracledb.connect(
            user=target.user,
            password=target.password,
            dsn=target.dsn,
            config_dir=str(target.config_dir) if target.config_dir else None,
            wallet_location=str(target.wallet) if target.wallet else None,
            wallet_password=target.wallet_password,
            tcp_connect_timeout=self._deadlines.connect,
            expire_time=1,
            retry_count=0,
            stmtcachesize=statement_cache_size(),
        )
        session.call_timeout = int(self._deadlines.statement * 1000)
        session.module, session.action, session.client_identifier = "latchscope", "poll", "latchscope"
        return session

    @property
    def release(self) -> str | None:
        """The release that the server reported at login, for a user who may not read v$instance."""
        version: str | None = getattr(self._session, "version", None)
        return version

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run a statement of the list; see Connection. Raises UnlistedStatement for any other text, which is not sent."""
        if sql not in self._accepted:
            raise UnlistedStatement(
                "not sent, for it is not on the list of SQL (`latchscope sql list` prints it); please report this text: "
                f"{' '.join(sql.split())[:100]!r}"
            )
        if self._in_doubt and not self._answers():
            raise SessionError("the session failed a second ping and is given up")
        self._in_doubt = False
        look, deadlines = of_look(sql), self._deadlines.of(sql)
        try:
            fetch = partial(self._fetch, sql, binds, deadlines.statement)
            answer = _within(self._calls, fetch, deadlines.frozen, "a statement")
        except Cancelled as error:
            self._recover(error, look)
            raise
        self._cancelled &= look
        return answer

    def _recover(self, error: Cancelled, look: bool) -> None:
        """Keep a session that answers a ping. A login costs the database far more, and fails first in a logon storm.

        A look for blockers does not count against the polls: it reads what hangs.
        """
        usable = self._answers()
        again, self._cancelled = self._cancelled and not look, self._cancelled or not look
        if again:
            raise (TooSlow if usable else SessionError)(f"two statements in a row were too slow: {error}") from None
        if not usable:
            self._replace()

    def _answers(self) -> bool:
        """Whether the session answers a ping in time. Only then does its next answer belong to its next statement."""
        try:
            _within(self._calls, self._ping, _guard(self._deadlines.ping), "the ping")
        except (SessionError, StatementError):
            return False
        return True

    def _ping(self) -> None:
        self._session.call_timeout = int(self._deadlines.ping * 1000)
        self._session.ping()

    def _replace(self) -> None:
        """Replace a session that did not answer. The old one is given up only when the new one is open."""
        try:
            new = self._replacing(self._log_in)
        except (CredentialError, SetupError):
            raise
        except SessionError as error:
            self._in_doubt = True
            raise SessionKept(
                f"a statement was cancelled and no new session opens, so the old one is kept: {error}"
            ) from None
        self.close()
        self._calls, self._session = new
        self._kept.clear()

    def _fetch(self, sql: str, binds: Binds, seconds: float) -> Answer:
        self._session.call_timeout = int(seconds * 1000)
        began = perf_counter()
        # It gives few rows, and its cursor stays open from the first time on (`collectors.ondemand.blockers`).
        look, again = of_look(sql), sql in self._room
        cursor = self._kept.pop(sql, None)
        if cursor is None:
            cursor = self._session.cursor()
            cursor.prepare(sql, cache_statement=look or again)
        try:
            cursor.prefetchrows = cursor.arraysize = room = self._room.get(sql, LEAST_ROOM if look else ROOM)
            cursor.execute(None, dict(binds))
            columns = tuple([column.name.lower() for column in cursor.description or ()])
            rows = _bounded(cursor, rows_at_most(sql), partial(HELD.take, self, sql))
            if again and not look and len(self._kept) < statement_cache_size():
                self._kept[sql] = cursor
        finally:
            if sql not in self._kept:
                cursor.close()
        seconds = perf_counter() - began
        if sql not in self._room or len(rows) >= room:
            self._room[sql] = min(max(LEAST_ROOM, len(rows) * 3 // 2), MOST_ROOM)
        return Answer(columns, rows, _round_trips(len(rows), room), seconds)

    def close(self) -> None:
        """Close the session. A session that does not close in time is abandoned."""
        try:
            _within(self._calls, self._session.close, self._deadlines.close, "the goodbye")
        except (SessionError, StatementError):
            return
        finally:
            self._calls.abandon()
            _REMAINS.add()


# What answers may hold, and what ended sessions leave.


class HeldAnswers:
    """Bytes of the last answer to each statement of each session, as snapshots hold them. A database of the usual size is not
    counted. All larger ones have MOST_TOGETHER in equal shares, however many are sick at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: WeakKeyDictionary[object, dict[str, int]] = WeakKeyDictionary()

    def take(self, session: object, sql: str, size: int) -> None:
        """So much of this answer has come by now. Raises TooLarge."""
        with self._lock:
            answers = self._of.setdefault(session, {})
            answers[sql] = size
            if (mine := sum(answers.values())) <= USUAL_BYTES:
                return
            large = [held for each in self._of.values() if (held := sum(each.values())) > USUAL_BYTES]
            if sum(large) > MOST_TOGETHER and mine > MOST_TOGETHER / len(large):
                del answers[sql]
                raise TooLarge(
                    f"{len(large)} databases give more than {MOST_TOGETHER / 2**20:g} MiB together; this is too much of it"
                )


HELD = HeldAnswers()


class _Remains:
    """What sessions and failed logins leave: circles of the driver's objects, 20 to 170 KB each, that only a collection of all
    garbage frees. On its own Python makes one after hours."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._left = 0
        self._not_before = 0.0

    def add(self) -> None:
        """A session, or an attempt to open one, has ended."""
        self._left += 1
        if self._left >= REMAINS and self._clock() >= self._not_before:
            self._left, self._not_before = 0, self._clock() + REMAINS_PAUSE
            gc.collect()


_REMAINS = _Remains()


def statement_cache_size() -> int:
    """Statements that the driver keeps parsed: those of a poll, and as many again for looks and for requests."""
    return 2 * len(collectors())


def _within(calls: SessionCalls, call: Callable[[], T], seconds: float, what: str) -> T:
    try:
        return calls.run(call, seconds, what)
    except CollectError:
        raise
    except (oracledb.Error, OSError) as error:
        raise classified(error) from None
    except Exception as error:  # noqa: BLE001  bytes that make no sense end the driver in many ways, and always the session
        raise SessionError(f"{what} failed inside the driver: {type(error).__name__}: {brief(error)}") from None


def _bounded(cursor: oracledb.Cursor, most: int, take: Callable[[int], None]) -> list[tuple[Value, ...]]:
    """All rows, one array after the other. Raises TooLarge as soon as they are too many or too long; no more is fetched then."""
    rows: list[tuple[Value, ...]] = []
    size = 0
    while batch := cursor.fetchmany():
        # Most cells are NULL, because a group has the columns of all its views. NULL and 0 take no memory of their own.
        sizes = [*map(getsizeof, filter(None, chain.from_iterable(batch)))]
        size += sum(sizes) + sum(map(getsizeof, batch))
        take(size)
        if max(sizes, default=0) > LONGEST_TEXT:
            batch = [tuple([cut(cell) if isinstance(cell, str) else cell for cell in row]) for row in batch]
        rows += batch
        if len(rows) > most or size > MOST_BYTES:
            take(0)
            over = f"{most:,} rows" if len(rows) > most else f"{MOST_BYTES / 2**20:g} MiB"
            raise TooLarge(
                f"the answer has more than {over}, which no such view should give; latchscope stopped reading it. Run the "
                "statement by hand (`latchscope sql list` prints it) to see what the view gives"
            )
        if len(batch) < cursor.arraysize:
            break  # the driver fills each array but the last
    return rows


def _round_trips(rows: int, room: int) -> int:
    """Round trips of one query by the driver's fetch rule: one while the rows fit the prefetch, then one per array."""
    return 1 + max(0, -(-(rows + 1 - room) // room))
