"""snapshots and diagnoses"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshots",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "diagnoses",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("severity", sa.String(8), nullable=False),
        sa.Column("headline", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("diagnoses_by_severity", "diagnoses", ["severity", "taken_at"])


def downgrade() -> None:
    op.drop_table("diagnoses")
    op.drop_table("snapshots")
