"""A query for one number, bounded: what a cause wants confirmed, or anything else that is asked once."""

from collectors.errors import StatementError
from collectors.poll import Connection

ROW_LIMIT = 1


def limited(sql: str) -> str:
    """The query with our mark and a row limit that every release understands."""
    return f"select /* latchscope confirm */ *\n  from ({sql})\n where rownum <= {ROW_LIMIT}"


def one_number(connection: Connection, sql: str) -> float:
    """The one number a query gives. Raises StatementError when it gives none, SessionError."""
    answer = connection.query(limited(sql), {})
    value = answer.rows[0][0] if answer.rows and answer.rows[0] else None
    if not isinstance(value, int | float):
        raise StatementError("the query gave no number")
    return float(value)
