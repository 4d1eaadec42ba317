"""no more tables of figures in the layout of 0.1.0; a store with rows in them is refused before

0.2.0 has moved their hours, and its retention has emptied the others.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

PARTITIONED: dict[str, Any] = {"postgresql_partition_by": "RANGE (at)", "sqlite_with_rowid": False}
TABLES = {
    "old_deltas": (("at", "item_id"), ("value",)),
    "old_five_minutes": (("at", "item_id"), ("total", "most")),
    "old_hours": (("item_id", "at"), ("total", "most")),
}
KINDS = {"at": sa.BigInteger, "item_id": sa.Integer}


def upgrade() -> None:
    for name in TABLES:
        op.drop_table(name)


def downgrade() -> None:
    for name, (keys, values) in TABLES.items():
        op.create_table(
            name,
            sa.Column("database_id", sa.SmallInteger, primary_key=True, autoincrement=False),
            *(sa.Column(key, KINDS[key], primary_key=True, autoincrement=False) for key in keys),
            *(sa.Column(value, sa.Double, nullable=False) for value in values),
            **PARTITIONED,
        )
