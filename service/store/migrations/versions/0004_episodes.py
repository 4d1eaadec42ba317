"""episodes, told, confirmations, marks, baselines"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def when(name: str, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), **more)


def upgrade() -> None:
    op.create_table(
        "episodes",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("cause", sa.String(63), primary_key=True),
        when("began", primary_key=True),
        when("ended"),
        when("last_seen", nullable=False),
        sa.Column("cache", sa.Text),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("severity", sa.String(8), nullable=False),
        sa.Column("peak_severity", sa.String(8), nullable=False),
        when("peak_at", nullable=False),
        sa.Column("peak_share", sa.Double),
        sa.Column("headline", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text),
    )
    op.create_index("episodes_by_time", "episodes", ["began"])
    op.create_index("episodes_by_end", "episodes", ["ended"])
    op.create_table(
        "confirmations",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("cause", sa.String(63), primary_key=True),
        when("at", primary_key=True),
        sa.Column("sql", sa.Text, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("startup_time", sa.String(40)),
    )
    op.create_table(
        "marks",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("database", sa.String(63), nullable=False),
        when("at", nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
    )
    op.create_index("marks_by_time", "marks", ["database", "at"])
    op.create_table(
        "baselines",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("metric", sa.String(120), primary_key=True),
        sa.Column("hour_of_week", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("median", sa.Double, nullable=False),
        sa.Column("low", sa.Double, nullable=False),
        sa.Column("high", sa.Double, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
    )
    op.create_table(
        "told",
        sa.Column("database", sa.String(63), primary_key=True),
        sa.Column("cause", sa.String(63), primary_key=True),
        when("began", primary_key=True),
        sa.Column("what", sa.String(16), primary_key=True),
        sa.Column("target", sa.String(120), primary_key=True),
        when("at", nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_index("told_by_outcome", "told", ["outcome"])


def downgrade() -> None:
    for name in ("told", "baselines", "marks", "confirmations", "episodes"):
        op.drop_table(name)
