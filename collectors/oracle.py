"""The only file that imports oracledb: sessions with deadlines and marks for the DBA."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Literal, TypeVar

import oracledb

from collectors.deadline import MOST_LEFT_BEHIND, SessionCalls, left_behind
from collectors.errors import CollectError, CredentialError, SessionError, SessionKept, SetupError, StatementError
from collectors.model import Binds
from collectors.ondemand.blockers import of_look
from collectors.oracle_errors import Cancelled, brief, classified
from collectors.poll import Answer
from collectors.registry import collectors

T = TypeVar("T")

ROOM = 250
"""Rows fetched with the first execution, above what nearly every statement of ours gives: then it is one round trip. The
driver keeps room for so many rows of each statement in its cache, so a statement is cached from its second execution on, with
room for what it gave; many are never executed again."""
LEAST_ROOM, MOST_ROOM = 32, 2000


@dataclass(frozen=True, slots=True)
class ConnectTarget:
    """Where and as whom to connect. The password stays out of every text made from this."""

    dsn: str
    user: str
    password: str = field(repr=False)
    config_dir: Path | None = None
    wallet: Path | None = None
    wallet_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds a step may take."""

    connect: float = 15.0
    statement: float = 5.0
    """The driver's call_timeout: a slow statement is cancelled, and its session kept where it answers a ping."""
    blocker_look: float = 3.0
    """The same of a statement of the look for blockers, which meets an instance that hangs."""
    ping: float = 2.0
    close: float = 2.0

    def of(self, sql: str) -> "Deadlines":
        """Those of this statement: one of a look for blockers has its own."""
        return replace(self, statement=self.blocker_look) if of_look(sql) else self

    @property
    def frozen(self) -> float:
        """Our own, for a server that does not even answer the cancel: then the session is given up."""
        return _guard(self.statement)


def _guard(call_timeout: float) -> float:
    """Seconds to wait for the driver: it takes its call_timeout twice, to wait for the answer and for the cancel's."""
    return 2 * call_timeout + 2.0


class TooSlow(SessionKept):
    """Statement after statement takes too long: asking on would only add to the load."""


@cache
def prepare(mode: Literal["thin", "thick"], client: Path | None = None) -> None:
    """Set the process to thin or thick mode, once. Raises SetupError.

    Thin must be chosen aloud: until the driver has chosen, one silent listener blocks every other connect.
    """
    try:
        if mode == "thin":
            oracledb.enable_thin_mode()  # type: ignore[no-untyped-call]
        else:
            oracledb.init_oracle_client(lib_dir=str(client) if client else None)
    except oracledb.Error as error:
        raise SetupError(f"{mode} mode cannot be used: {brief(error)}; see docs/oracle-11.md") from None


class OracleConnection:
    """One session on a real database; see Connection. Every call has a deadline."""

    def __init__(self, name: str, target: ConnectTarget, deadlines: Deadlines | None = None) -> None:
        self._name = f"session {name}"
        self._target = target
        self._deadlines = deadlines or Deadlines()
        self._cancelled = False
        self._in_doubt = False
        self._room: dict[str, int] = {}
        self._calls, self._session = self._log_in()

    def _log_in(self) -> tuple[SessionCalls, oracledb.Connection]:
        if left_behind(self._name) >= MOST_LEFT_BEHIND:
            raise SessionError(f"{MOST_LEFT_BEHIND} earlier attempts still hang in the driver; none is added to them")
        calls = SessionCalls(self._name)
        try:
            return calls, _within(calls, lambda: self._connect(self._target), self._deadlines.connect, "the login")
        except StatementError as error:  # of a logon trigger, say: there is no session that would be good
            calls.abandon()
            raise SessionError(f"the login failed: {error}") from None
        except BaseException:
            calls.abandon()
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
        """The release as the server said it at the login, for whoever may not read v$instance."""
        version: str | None = getattr(self._session, "version", None)
        return version

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run one query of ours; see Connection."""
        if not sql.lstrip().lower().startswith(("select", "with")):
            raise StatementError("latchscope runs queries only")
        if self._in_doubt and not self._answers():
            raise SessionError("the session did not answer a ping again, and is given up")
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
        """Keep a session that answers a ping: a login costs the database far more, and fails first in a logon storm.

        A look for blockers says nothing of the statements of polls: it walks through what hangs.
        """
        usable = self._answers()
        again, self._cancelled = self._cancelled and not look, self._cancelled or not look
        if again:
            raise (TooSlow if usable else SessionError)(f"two statements in a row were too slow: {error}") from None
        if not usable:
            self._replace()

    def _answers(self) -> bool:
        """Whether the session answers a ping in time; only then its next answer is the one to its next statement."""
        try:
            _within(self._calls, self._ping, _guard(self._deadlines.ping), "the ping")
        except (SessionError, StatementError):
            return False
        return True

    def _ping(self) -> None:
        self._session.call_timeout = int(self._deadlines.ping * 1000)
        self._session.ping()

    def _replace(self) -> None:
        """Put a new session in place of one that did not answer, which is not given up before the new one stands."""
        try:
            new = self._log_in()
        except (CredentialError, SetupError):
            raise
        except SessionError as error:
            self._in_doubt = True
            raise SessionKept(
                f"a statement was cancelled, no new session stands, the old one is kept: {error}"
            ) from None
        self.close()
        self._calls, self._session = new

    def _fetch(self, sql: str, binds: Binds, seconds: float) -> Answer:
        self._session.call_timeout = int(seconds * 1000)
        began = perf_counter()
        with self._session.cursor() as cursor:
            cursor.prefetchrows = cursor.arraysize = room = self._room.get(sql, ROOM)
            cursor.prepare(sql, cache_statement=sql in self._room)
            cursor.execute(None, dict(binds))
            columns = tuple(column.name.lower() for column in cursor.description)
            rows = cursor.fetchall()
        seconds = perf_counter() - began
        if sql not in self._room or len(rows) >= room:
            self._room[sql] = min(max(LEAST_ROOM, len(rows) * 3 // 2), MOST_ROOM)
        return Answer(columns, rows, _round_trips(len(rows), room), seconds)

    def close(self) -> None:
        """Give the session back; a session that cannot say goodbye in time is left behind."""
        try:
            _within(self._calls, self._session.close, self._deadlines.close, "the goodbye")
        except (SessionError, StatementError):
            return
        finally:
            self._calls.abandon()


def statement_cache_size() -> int:
    """Statements the driver keeps parsed: those of a poll, and as many again for looks and what is asked on request."""
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


def _round_trips(rows: int, room: int) -> int:
    """Round trips of one query by the driver's fetch rule: one while the rows fit the prefetch, then one per array."""
    return 1 + max(0, -(-(rows + 1 - room) // room))
