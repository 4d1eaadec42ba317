"""episode_changes and deliveries"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "episode_changes",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("database", sa.String(63), nullable=False),
        sa.Column("cause", sa.String(63), nullable=False),
        sa.Column("began", sa.DateTime(timezone=True), nullable=False),
        sa.Column("what", sa.String(16), nullable=False),
        sa.Column("severity", sa.String(8), nullable=False),
        sa.Column("episode", sa.Text, nullable=False),
        sa.UniqueConstraint("database", "cause", "began", "what", "severity", name="episode_changes_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("episode_changes_by_time", "episode_changes", ["at"])
    op.create_table(
        "deliveries",
        sa.Column("seq", SEQ, primary_key=True, autoincrement=False),
        sa.Column("target", sa.String(63), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(8), nullable=False),
    )
    op.create_index("deliveries_by_outcome", "deliveries", ["target", "outcome"])


def downgrade() -> None:
    op.drop_table("deliveries")
    op.drop_table("episode_changes")
