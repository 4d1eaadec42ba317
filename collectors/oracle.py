"""The only file that imports oracledb: one session on a real database behind the Connection protocol."""

import oracledb

from collectors.errors import SessionError, StatementError, ViewRefused
from collectors.model import Binds
from collectors.poll import Answer

REFUSED = (942, 1031, 2030)
PREFETCH_ROWS = 2000
"""Above the row count of every view we read, so that each statement is one round trip."""


class OracleConnection:
    """A session of our own, read-only by use; see Connection."""

    def __init__(self, dsn: str, user: str, password: str) -> None:
        oracledb.enable_thin_mode()  # type: ignore[no-untyped-call]
        try:
            self._session = oracledb.connect(dsn=dsn, user=user, password=password, tcp_connect_timeout=10)
        except (oracledb.Error, OSError) as error:
            raise SessionError(f"cannot connect: {error}") from None
        self._session.module = "latchscope"

    def query(self, sql: str, binds: Binds) -> Answer:
        """Run one statement; see Connection."""
        try:
            with self._session.cursor() as cursor:
                cursor.prefetchrows = cursor.arraysize = PREFETCH_ROWS
                cursor.execute(sql, dict(binds))
                columns = tuple(column.name.lower() for column in cursor.description)
                return Answer(columns, cursor.fetchall())
        except oracledb.Error as error:
            (detail,) = error.args
            if not self._session.is_healthy():
                raise SessionError(str(error)) from None
            if detail.code in REFUSED:
                raise ViewRefused(str(error)) from None
            raise StatementError(str(error)) from None

    def close(self) -> None:
        """Give the session back."""
        try:
            self._session.close()
        except oracledb.Error:
            return
