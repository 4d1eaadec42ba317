"""Sessions that change a disposable database. They send the statements of the loads and no other text."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import oracledb

from collectors.errors import CollectError, SessionError, UnlistedStatement, brief, classified
from collectors.model import Row
from collectors.oracle import ConnectTarget, prepare
from tests.live.load.statements import DROPS, LEFTOVERS, READ_AS_WRITER, STATEMENTS, drop

CONNECT_SECONDS = 10.0
CALL_SECONDS = 40.0
"""More than the DDL that is held open takes, so that only a statement that hangs is cancelled."""


def code_of(error: Exception) -> str:
    """Oracle's code, else the driver's. The class of an error without one, because its text may hold names."""
    found = sorted(re.findall(r"\b(?:ORA|DPY|DPI)-\d+", str(error)), key=lambda code: not code.startswith("ORA"))
    return found[0] if found else type(error).__name__


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something with our prefix that is in the database."""

    kind: str
    owner: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name}" + (f" of {self.owner}" if self.owner else "")


@contextmanager
def _driver() -> Iterator[None]:
    """Errors of the driver in our classes, whatever they are: nothing may end a run before it is undone."""
    try:
        yield
    except (oracledb.Error, OSError) as error:
        raise classified(error) from None
    except Exception as error:  # noqa: BLE001  a cancel that crosses an answer can end the driver in many ways
        raise SessionError(f"the driver failed: {type(error).__name__}: {brief(error)}") from None


def _opened(target: ConnectTarget) -> oracledb.Connection:
    return oracledb.connect(
        user=target.user,
        password=target.password,
        dsn=target.dsn,
        tcp_connect_timeout=CONNECT_SECONDS,
        retry_count=0,
    )


def log_on(target: ConnectTarget) -> None:
    """Log on and off again. Raises CollectError."""
    with _driver():
        _opened(target).close()


class WritingSession:
    """One session of the user that may write. Every call has a deadline; each raises CollectError."""

    def __init__(self, target: ConnectTarget) -> None:
        prepare("thin")
        with _driver():
            self._session = _opened(target)
        self._session.call_timeout = int(CALL_SECONDS * 1000)
        self.mark = f"load {secrets.token_hex(8)}"
        """Its v$session.action, by which another session finds it."""
        self._session.module, self._session.action = "latchscope load", self.mark
        self.release = str(self._session.version)

    def make(self, text: str, number: int = 0, password: str = "") -> None:
        """Send a statement of the list, with its number or password. Raises UnlistedStatement for another."""
        if text not in STATEMENTS:
            raise UnlistedStatement("not sent, because it is no statement of a load")
        self._send(text.format(number=number, password=password))

    def drop(self, one: Leftover) -> None:
        """Drop what a load made. Raises ValueError for a name of others."""
        self._send(drop(one.kind, one.name, one.owner))

    def read(self, sql: str) -> list[Row]:
        """The rows of a safety check. Raises UnlistedStatement for another text."""
        if sql not in READ_AS_WRITER:
            raise UnlistedStatement("not sent, because it is no safety check of a load")
        return self._send(sql)

    def leftovers(self) -> list[Leftover]:
        """What is there of this run or an earlier one, in the order in which it can be dropped."""
        found = [
            Leftover(str(row["kind"]), None if row["owner"] is None else str(row["owner"]), str(row["name"]))
            for row in self.read(LEFTOVERS)
        ]
        return sorted(found, key=lambda one: (list(DROPS).index(one.kind), one.name))

    def cancel(self) -> None:
        """End the statement that another thread runs on this session. Never raises."""
        with suppress(CollectError), _driver():
            self._session.cancel()

    def close(self) -> None:
        """Close the session; never raises."""
        with suppress(CollectError), _driver():
            self._session.close()

    def _send(self, sql: str) -> list[Row]:
        with _driver(), self._session.cursor() as cursor:
            cursor.execute(sql)
            if cursor.description is None:
                return []
            names = [column.name.lower() for column in cursor.description]
            return [dict(zip(names, cells, strict=True)) for cells in cursor.fetchall()]


def addresses(dsn: str, config_dir: str | None = None) -> frozenset[tuple[str, int]]:
    """Hosts, in lower case, and ports that a dsn leads to. Raises CollectError if it cannot be read."""
    with _driver():
        parameters = oracledb.ConnectParams(config_dir=config_dir)
        parameters.parse_connect_string(dsn)
    hosts, ports = parameters.host, parameters.port
    listed = zip(hosts, ports, strict=True) if isinstance(hosts, list) else [(hosts, ports)]
    return frozenset((str(host).lower(), int(port)) for host, port in listed if host)
