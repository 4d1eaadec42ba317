"""polls, deltas, roll-ups, frames"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

CLUSTERED: dict[str, Any] = {"sqlite_with_rowid": False}
PARTITIONED: dict[str, Any] = {"postgresql_partition_by": "RANGE (at)"} | CLUSTERED


def upgrade() -> None:
    op.create_table(
        "databases",
        sa.Column("id", sa.SmallInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("name", sa.String(63), nullable=False, unique=True),
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("view", sa.String(63), nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("column", sa.String(63), nullable=False),
        sa.Column("gauge", sa.Boolean, nullable=False),
    )
    op.create_index("items_by_name", "items", ["view", "key", "column"], unique=True)
    op.create_table(
        "polls",
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("seconds", sa.Double),
        sa.Column("severity", sa.String(8), nullable=False),
        sa.Column("share", sa.Double),
        sa.Column("waiting", sa.Double),
        sa.Column("missing", sa.Text, nullable=False),
        sa.Column("startup_time", sa.String(40)),
        sa.Column("why", sa.Text),
        **PARTITIONED,
    )
    op.create_table(
        "deltas",
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.Double, nullable=False),
        **PARTITIONED,
    )
    op.create_table(
        "five_minutes",
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("total", sa.Double, nullable=False),
        sa.Column("most", sa.Double, nullable=False),
        **PARTITIONED,
    )
    op.create_table(
        "hours",
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("total", sa.Double, nullable=False),
        sa.Column("most", sa.Double, nullable=False),
        **PARTITIONED,
    )
    op.create_table(
        "buckets",
        sa.Column("width", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("polls", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("missing", sa.Text, nullable=False),
        **CLUSTERED,
    )
    op.create_table(
        "unrolled",
        sa.Column("width", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("times", sa.Integer, nullable=False),
        **CLUSTERED,
    )
    op.create_table(
        "frames",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    for name in ("frames", "unrolled", "buckets", "hours", "five_minutes", "deltas", "polls", "items", "databases"):
        op.drop_table(name)
