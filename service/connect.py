"""From a configured database to a Connection: real through the driver, scripted for the demo."""

import time
from datetime import UTC, datetime

from collectors.errors import SessionError
from collectors.oracle import OracleConnection
from collectors.poll import Connection
from collectors.replay import ScriptedDatabase
from collectors.scenarios import scenarios
from service.board import Watched


class Connector:
    """Opens connections; scripted databases all began when the process did."""

    def __init__(self) -> None:
        self._began = datetime.now(UTC)
        self._zero = time.monotonic()

    def __call__(self, watched: Watched) -> Connection:
        """A fresh session on the database. Raises SessionError."""
        database = watched.settings
        if database.scripted is not None:
            if database.scripted not in scenarios():
                raise SessionError(f"no scripted database {database.scripted}; there are {', '.join(scenarios())}")
            return ScriptedDatabase(scenarios()[database.scripted], self._began, lambda: time.monotonic() - self._zero)
        if database.password_file is None:
            raise SessionError(f"{database.name} has no password; set password_file")
        try:
            password = database.password_file.read_text(encoding="utf-8").strip("\r\n")
        except OSError as error:
            raise SessionError(f"password_file of {database.name} cannot be read: {error.strerror}") from None
        return OracleConnection(database.dsn, database.user, password)
