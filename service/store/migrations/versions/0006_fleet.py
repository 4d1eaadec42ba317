"""replicas, how databases stand, requests between replicas"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "replicas",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("url", sa.Text),
    )
    op.create_table(
        "standings",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("database", sa.String(63), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_requests_database", "requests", ["database"])


def downgrade() -> None:
    for table in ("requests", "standings", "replicas"):
        op.drop_table(table)
