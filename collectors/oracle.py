"""The only file that imports oracledb: sessions with deadlines and marks for the DBA."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import oracledb

from collectors.deadline import MOST_LEFT_BEHIND, CallThread, left_behind
from collectors.errors import SessionError, SetupError, StatementError
from collectors.model import Binds
from collectors.oracle_errors import Cancelled, brief, classified
from collectors.poll import Answer

T = TypeVar("T")

PREFETCH_ROWS = 2000
"""Above the row count of every view we read, so that each statement is one round trip."""


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
    """Seconds a step may take before the session is given up."""

    connect: float = 15.0
    statement: float = 5.0
    """The driver's call_timeout: a slow statement is cancelled, and its session replaced."""
    frozen: float = 7.0
    """Our own, for a server that does not even answer the cancel."""
    close: float = 2.0


class TooSlow(SessionError):
    """Statement after statement takes too long: asking on would cost the database a login for each."""


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
        self._begin()

    def _begin(self) -> None:
        if left_behind(self._name) >= MOST_LEFT_BEHIND:
            raise SessionError(f"{MOST_LEFT_BEHIND} earlier attempts still hang in the driver; none is added to them")
        self._thread = CallThread(self._name)
        try:
            self._session = self._log_in()
        except SessionError:
            self._thread.give_up()
            raise

    def _log_in(self) -> oracledb.Connection:
        try:
            return self._within(lambda: self._connect(self._target), self._deadlines.connect, "the login")
        except StatementError as error:  # of a logon trigger, say: there is no session that would be good
            raise SessionError(f"the login failed: {error}") from None

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
        )
        session.call_timeout = int(self._deadlines.statement * 1000)
        session.module, session.action, session.client_identifier = "latchscope", "poll", "latchscope"
        return session

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run one query of ours; see Connection."""
        if not sql.lstrip().lower().startswith(("select", "with")):
            raise StatementError("latchscope runs queries only")
        try:
            answer = self._within(lambda: self._fetch(sql, binds), self._deadlines.frozen, "a statement")
        except Cancelled as error:
            if self._cancelled:
                raise TooSlow(f"two statements in a row were too slow: {error}") from None
            # It looks healthy, but a late answer could be taken for the next one's: log in anew.
            self._cancelled = True
            self.close()
            self._begin()
            raise
        self._cancelled = False
        return answer

    def _fetch(self, sql: str, binds: Binds) -> Answer:
        with self._session.cursor() as cursor:
            cursor.prefetchrows = cursor.arraysize = PREFETCH_ROWS
            cursor.execute(sql, dict(binds))
            columns = tuple(column.name.lower() for column in cursor.description)
            rows = cursor.fetchall()
        return Answer(columns, rows, _round_trips(len(rows)), _size(rows))

    def close(self) -> None:
        """Give the session back; a session that cannot say goodbye in time is left behind."""
        try:
            self._within(self._session.close, self._deadlines.close, "the goodbye")
        except (SessionError, StatementError):
            return
        finally:
            self._thread.give_up()

    def _within(self, call: Callable[[], T], seconds: float, what: str) -> T:
        try:
            return self._thread.run(call, seconds, what)
        except (oracledb.Error, OSError) as error:
            raise classified(error) from None


def _round_trips(rows: int) -> int:
    """Round trips of one query by the driver's fetch rule: one while the rows fit the prefetch, then one per array."""
    return 1 + max(0, -(-(rows + 1 - PREFETCH_ROWS) // PREFETCH_ROWS))


def _size(rows: list[tuple[Any, ...]]) -> int:
    """Bytes of the values fetched, as text; the wire adds its own framing."""
    return sum(len(str(cell)) for row in rows for cell in row if cell is not None)
