"""what changed on a database, for the timeline beside its waits"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "database_changes",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("text", sa.Text, primary_key=True),
        sa.Column("source", sa.String(63), nullable=False),
        sa.Column("con_id", sa.Integer),
        sa.Column("not_before", sa.DateTime(timezone=True)),
        sa.Column("unsure", sa.Text),
    )
    op.create_index("database_changes_by_time", "database_changes", ["at"])


def downgrade() -> None:
    op.drop_table("database_changes")
