"""Where the files of older releases are, and a store of one."""

import sqlite3
from pathlib import Path
from typing import Any

from tests.service.stores import Postgres

MADE = Path(__file__).parent / "0.2.0"
"""What the release before this one wrote."""
BETWEEN = Path(__file__).parent / "before-0.3.0"
"""What was on main between that release and 0.3.0, with members of a diagnosis that 0.3.0 lacks."""
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
        return int(self.query(f'select count(*) from "{table}"')[0][0])

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, which is committed."""
        if self._postgres is not None:
            return self._postgres.query(sql, self.url.partition("@/")[2].partition("?")[0])
        with sqlite3.connect(self.url.removeprefix("sqlite:///")) as connection:
            found = connection.execute(sql).fetchall()
        connection.close()
        return found

    def content(self) -> object:
        """The whole store: the bytes of a SQLite file, else every row of every table."""
        if self._postgres is None:
            return Path(self.url.removeprefix("sqlite:///")).read_bytes()
        tables = self.query("select tablename from pg_tables where schemaname = 'public' order by 1")
        return {name: self.query(f'select t::text from "{name}" t order by 1') for (name,) in tables}
