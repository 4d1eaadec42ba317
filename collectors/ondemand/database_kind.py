"""What `latchscope check` reads once, besides a poll, to find the kind of database. PUBLIC may read all of it."""

from collectors.errors import StatementError
from collectors.granting.detection import FoundKind, detected
from collectors.model import Row, Snapshot
from collectors.poll import Connection
from collectors.statement import Statement

SURROUNDINGS = """\
select /* latchscope kind */ sys_context('userenv', 'database_role') as database_role,
       (select count(*) from all_users where username = 'RDSADMIN') as rds_users
  from dual"""
CLOUD = """\
select /* latchscope kind */ sys_context('userenv', 'cloud_service') as cloud_service
  from dual"""
"""A statement of its own, because a release that does not know the name answers ORA-02003."""
STATEMENTS = (
    Statement(
        kind="check",
        name="kind",
        text=SURROUNDINGS,
        why="whether the database is a standby, or one of Amazon RDS: its grants differ",
        when="a person asks: `latchscope check` or `latchscope init`",
        how_often="once per command",
    ),
    Statement(
        kind="check",
        name="kind",
        text=CLOUD,
        why="whether the PDB is of an Autonomous Database: its grants differ",
        when="a person asks: `latchscope check` or `latchscope init`, inside a PDB",
        how_often="once per command",
        releases="12.1 and later",
    ),
)


def ask_for_kind(connection: Connection, snapshot: Snapshot) -> FoundKind:
    """The kind of the database that was polled just now. Raises SessionError."""
    asked = _row(connection, SURROUNDINGS)
    found = detected(snapshot, asked)
    return detected(snapshot, {**asked, **_row(connection, CLOUD)}) if found.kind == "pdb" else found


def _row(connection: Connection, sql: str) -> Row:
    """The one row of a statement. Empty if it failed, because then the answer is unknown."""
    try:
        answer = connection.query(sql, {})
    except StatementError:
        return {}
    return dict(zip(answer.columns, answer.rows[0], strict=True)) if answer.rows else {}
