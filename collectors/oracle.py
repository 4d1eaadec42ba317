"""The only file that imports oracledb: sessions with deadlines, marks for the DBA, and errors in classes with their cures."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from socket import gaierror
from typing import Any, Literal, TypeVar

import oracledb

from collectors.deadline import MOST_LEFT_BEHIND, CallThread, left_behind
from collectors.errors import CredentialError, SessionError, SetupError, StartingError, StatementError, ViewRefused
from collectors.model import Binds
from collectors.poll import Answer

T = TypeVar("T")

PREFETCH_ROWS = 2000
"""Above the row count of every view we read, so that each statement is one round trip."""

REFUSED = {"ORA-00942", "ORA-01031", "ORA-02030", "ORA-01702"}
CREDENTIAL = {
    *(
        "ORA-01005",
        "ORA-01017",
        "ORA-01045",
        "ORA-01988",
        "ORA-28000",
        "ORA-28001",
        "ORA-28007",
        "ORA-28030",
        "ORA-28046",
    ),
    *("DPY-4001", "ORA-28365"),
}
STARTING = {
    *(
        "ORA-01033",
        "ORA-01034",
        "ORA-01035",
        "ORA-01089",
        "ORA-01090",
        "ORA-01092",
        "ORA-01109",
        "ORA-12505",
        "ORA-12514",
    ),
    *(
        "ORA-12516",
        "ORA-12518",
        "ORA-12519",
        "ORA-12520",
        "ORA-12521",
        "ORA-12526",
        "ORA-12527",
        "ORA-12528",
        "ORA-27101",
    ),
    *("DPY-6001", "DPY-6003"),
}
SETUP = {
    *(
        "DPY-3001",
        "DPY-3010",
        "DPY-3015",
        "DPY-4000",
        "DPY-4003",
        "DPY-4017",
        "DPY-4018",
        "DPY-4019",
        "DPY-4020",
    ),
    *(
        "DPY-4021",
        "DPY-4022",
        "DPY-4026",
        "DPY-4027",
        "DPY-4028",
        "DPY-6002",
        "DPI-1047",
        "ORA-12154",
        "ORA-28040",
        "ORA-28759",
    ),
}
LOST = {
    "ORA-00028",
    "ORA-01012",
    "ORA-02396",
    "ORA-03113",
    "ORA-03114",
    "ORA-03135",
    "ORA-12541",
    "ORA-12543",
    "ORA-12170",
}
_CODE = re.compile(r"\b(?:ORA|DPY|DPI)-\d{4,5}\b")
_HELP = re.compile(r"\s*(?:Help: \S+|See https?://\S+ for help)")


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


class Cancelled(StatementError):
    """A statement took too long and was cancelled."""


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


def classified(error: Exception) -> SessionError | StatementError:
    """A driver's error as the class whose cure it has; the text keeps Oracle's own codes."""
    if isinstance(error, gaierror):
        return SessionError(f"the host name in the dsn cannot be resolved: {error.strerror}")
    found = set(_CODE.findall(" ".join(str(link) for link in _chain(error))))
    message = brief(error)
    if found & CREDENTIAL:
        return CredentialError(message)
    if found & STARTING:
        return StartingError(message)
    if "DPY-3010" in found:
        return SetupError(f"{message}: Oracle 11.2 needs thick mode, in a process of its own; see docs/oracle-11.md")
    if found & SETUP or any(code.startswith("DPY-2") for code in found):
        return SetupError(message)
    if found & REFUSED:
        return ViewRefused(message)
    if "DPY-4024" in found:
        return Cancelled(f"{message}; the statement was cancelled")
    lost = any(code.startswith(("DPY-1", "DPY-4011", "DPY-5", "DPY-6")) for code in found) or not found
    return SessionError(message) if lost or found & LOST else StatementError(message)


def brief(error: Exception) -> str:
    """An error as one line, without the driver's help links and connection ids."""
    text = _HELP.sub("", str(error)) or type(error).__name__
    text = re.sub(r" \(CONNECTION_ID=[^)]*\)", "", text)
    return " ".join(text.split())


def _chain(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_chain(error.__cause__)]


def _round_trips(rows: int) -> int:
    """Round trips of one query by the driver's fetch rule: one while the rows fit the prefetch, then one per array."""
    return 1 + max(0, -(-(rows + 1 - PREFETCH_ROWS) // PREFETCH_ROWS))


def _size(rows: list[tuple[Any, ...]]) -> int:
    """Bytes of the values fetched, as text; the wire adds its own framing."""
    return sum(len(str(cell)) for row in rows for cell in row if cell is not None)
