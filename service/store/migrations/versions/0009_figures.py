"""figures of a poll in one row, roll-ups by view; the tables before them are read until they are empty

They get other names, so that a replica of an older release keeps its polls on disk instead of writing what nobody reads.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

OLD = ("deltas", "five_minutes", "hours")
CLUSTERED: dict[str, Any] = {"sqlite_with_rowid": False}
PARTITIONED: dict[str, Any] = {"postgresql_partition_by": "RANGE (at)"} | CLUSTERED


def _database() -> sa.Column[int]:
    return sa.Column("database_id", sa.Integer, primary_key=True, autoincrement=False)


def _at() -> sa.Column[int]:
    return sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False)


def _body() -> sa.Column[bytes]:
    return sa.Column("body", sa.LargeBinary, nullable=False)


def upgrade() -> None:
    for name in OLD:
        op.rename_table(name, f"old_{name}")
    op.create_table("figures", _database(), _at(), _body(), **PARTITIONED)
    for name in ("figures_5m", "figures_1h"):
        view = sa.Column("view", sa.String(63), primary_key=True)
        op.create_table(name, _database(), view, _at(), _body(), **PARTITIONED)
    if op.get_bind().dialect.name == "postgresql":
        for name in ("figures", "figures_5m", "figures_1h"):
            # They are compressed already.
            op.execute(sa.text(f"alter table {name} alter column body set storage external"))


def downgrade() -> None:
    for name in ("figures", "figures_5m", "figures_1h"):
        op.drop_table(name)
    for name in OLD:
        op.rename_table(f"old_{name}", name)
