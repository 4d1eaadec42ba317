"""Where the files of older releases are, and a store of one."""

import sqlite3
from pathlib import Path

from tests.service.stores import Postgres

MADE = Path(__file__).parent / "0.2.0"
"""What the release before this one wrote."""
FIRST = Path(__file__).parent / "0.1.0"
"""What 0.1.0 wrote: its captures, exports and settings are read, its stores are refused."""


class OldStore:
    """Its place, and a way to query it without the code under test."""

    def __init__(self, kind: str, url: str, postgres: Postgres | None) -> None:
        self.kind = kind
        self.url = url
        self._postgres = postgres

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        query = f'select count(*) from "{table}"'
        name = self.url.removeprefix("sqlite:///")
        if self._postgres is not None:
            name = self.url.partition("@/")[2].partition("?")[0]
            return int(self._postgres.query(query, name)[0][0])
        with sqlite3.connect(name) as connection:
            found = connection.execute(query).fetchone()[0]
        connection.close()
        return int(found)
