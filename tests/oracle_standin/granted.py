"""A user with some grants and no more: it answers every query whose views are granted. All others get ORA-00942.

READ allows queries only. `select … for update` and `lock table` need SELECT, and end with ORA-01031 without it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

import sqlglot
from sqlglot import exp

from .backend import Answer, OracleError, OracleType, ResultColumn

PUBLIC = frozenset({"dual", "all_users"})
LOCK = re.compile(r"\s*lock\s+table\s+(\S+)", re.IGNORECASE)
PLACE = (ResultColumn("CON_NAME", OracleType.VARCHAR2), ResultColumn("CON_ID"))


class GrantedBackend:
    """One row for every query over granted views. The session is in the root of a container database."""

    def __init__(self, granted: Iterable[str], selected: Iterable[str] = ()) -> None:
        """`granted`: names of views as statements write them, such as v$latch and cdb_users; `selected`: those with SELECT."""
        self.granted = frozenset(granted) | frozenset(selected) | PUBLIC
        self.selected = frozenset(selected)

    def answer(self, _service: str, sql: str, _binds: Mapping[str, object], /) -> Answer:
        """See `Backend.answer`: the number 1 for each column, and the container for a query that selects it."""
        tables, width = read_by(sql)
        if tables - self.granted:
            raise OracleError(942)
        if locks(sql) and tables - self.selected:
            raise OracleError(1031)
        columns = [ResultColumn(f"C{place}") for place in range(width)]
        if "con_name" not in sql:
            return Answer(columns, [(1,) * len(columns)])
        return Answer([*columns, *PLACE], [(*(1 for _ in columns), "CDB$ROOT", 1)])


@cache
def read_by(sql: str) -> tuple[frozenset[str], int]:
    """The tables that a query reads, and its number of columns.

    Each text is parsed once, because the same texts come again and again.
    """
    if (locked := LOCK.match(sql)) is not None:
        return frozenset({locked[1].lower().removeprefix("sys.")}), 1
    select = sqlglot.parse_one(sql, read="oracle")
    inner = select.find(exp.Subquery)
    asked = inner.this.selects if inner else select.assert_is(exp.Query).selects
    return frozenset(table.name.lower() for table in select.find_all(exp.Table)), len(asked)


def locks(sql: str) -> bool:
    """Whether a statement locks what it reads."""
    return LOCK.match(sql) is not None or re.search(r"\bfor\s+update\b", sql, re.IGNORECASE) is not None


def granted_in(script: str, privileges: Iterable[str] = ("read", "select")) -> frozenset[str]:
    """The views that a grants script opens with these privileges, spelled as in statements."""
    opening = tuple(f"grant {privilege} on sys." for privilege in privileges)
    grants = [line for line in script.splitlines() if line.startswith(opening)]
    return frozenset(line.split()[3].removeprefix("sys.").replace("v_$", "v$").rstrip(";") for line in grants)
