"""From a configured database to a Connection: real through the driver, scripted for the demo."""

import time
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from collectors.demo.database import ScriptedDatabase
from collectors.demo.scenarios import scenarios
from collectors.errors import CredentialError, SetupError
from collectors.oracle import ConnectTarget, Deadlines, OracleConnection, prepare
from collectors.poll import Connection
from service.config.load import fingerprint, password_of, read_secret
from service.config.settings import DatabaseSettings, Defaults, OracleSettings
from service.sql_list import texts
from service.state.board import MonitoredDatabase
from service.state.login_gate import LoginStopped


class ConnectionOpener(Protocol):
    """Where sessions come from."""

    def open(self, watched: MonitoredDatabase) -> Connection:
        """A new session. Raises SessionError in the class of its cure."""
        ...

    def credential(self, watched: MonitoredDatabase) -> str:
        """A fingerprint of the current password. Raises SetupError."""
        ...


def open_session(watched: MonitoredDatabase, opener: ConnectionOpener) -> Connection:
    """A new session, if a login may be tried: polls and actions alike. Raises LoginStopped, SessionError.

    The replica that polls a database reports a refused login to the others.
    """
    if not watched.owned:
        refuse_without_login(watched)
    return watched.login.open(partial(opener.credential, watched), partial(opener.open, watched))


def refuse_without_login(watched: MonitoredDatabase) -> None:
    """Raises LoginStopped if the last poll, here or on another replica, failed because the login is refused."""
    failure = watched.failure
    if failure is not None and failure.kind == "credential":
        raise watched.login.stopped or LoginStopped(failure.why, failure.since, first=False)


class Connector:
    """Opens connections. The loops of all scripted databases began at `began`, else with the process."""

    def __init__(self, oracle: OracleSettings, defaults: Defaults | None = None, began: datetime | None = None) -> None:
        self._oracle = oracle
        self._defaults = defaults or Defaults()
        now = datetime.now(UTC)
        self.began = began or now
        self._zero = time.monotonic() - (now - self.began).total_seconds()

    def open(self, watched: MonitoredDatabase) -> Connection:
        """A new session on the database, for `open_session`. Raises SessionError in the class of its cure."""
        database = watched.settings
        if database.scripted is not None:
            return self._scripted(database.scripted)
        prepare(self._oracle.mode, self._oracle.client_dir)
        deadlines = Deadlines(
            connect=self._oracle.connect_timeout,
            statement=self._oracle.statement_timeout,
            blocker_look=self._defaults.blocker_look_timeout,
        )
        target = target_of(database)
        sent = fingerprint(target.user, target.password)
        try:
            return OracleConnection(database.name, target, deadlines, texts(), partial(watched.login.replace, sent))
        except CredentialError as error:
            error.credential = sent
            raise

    def credential(self, watched: MonitoredDatabase) -> str:
        """A fingerprint of the current password, to notice a change. Raises SetupError."""
        database = watched.settings
        return "" if database.scripted is not None else fingerprint(database.user, password_of(database))

    def _scripted(self, name: str) -> Connection:
        if name not in scenarios():
            raise SetupError(f"there is no scripted database {name}; there are {', '.join(scenarios())}")
        return ScriptedDatabase(scenarios()[name], self.began, lambda: time.monotonic() - self._zero)


def target_of(database: DatabaseSettings) -> ConnectTarget:
    """Where and as which user to connect, with the password just read."""
    wallet_password = database.wallet_password_file
    return ConnectTarget(
        dsn=database.dsn,
        user=database.user,
        password=password_of(database),
        config_dir=database.config_dir,
        wallet=database.wallet_dir,
        wallet_password=read_secret(wallet_password, f"{database.name}: wallet_password_file")
        if wallet_password
        else None,
    )
