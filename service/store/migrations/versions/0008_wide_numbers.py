"""numbers of databases are no longer bounded at 32,767"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

COLUMNS = (
    ("databases", "id"),
    *((table, "database_id") for table in ("polls", "buckets", "unrolled")),
)
"""SQLite keeps every whole number in as many bytes as it needs, whatever the column is called. The tables of figures are
the largest by far, and 0009 gives them successors."""


def _become(kind: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, column in COLUMNS:
            op.execute(sa.text(f"alter table {table} alter column {column} type {kind}"))
        op.execute(sa.text(f"alter sequence databases_id_seq as {kind}"))


def upgrade() -> None:
    _become("integer")


def downgrade() -> None:
    _become("smallint")
