"""the kind of a poll without an interval, and of a verdict, beside the sentence that says it to people"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("polls", sa.Column("kind", sa.String(16)))
    op.add_column("episodes", sa.Column("verdict_kind", sa.String(16)))


def downgrade() -> None:
    with op.batch_alter_table("episodes") as table:
        table.drop_column("verdict_kind")
    op.drop_column("polls", "kind")
