"""refused logins, which a restart and other replicas must not repeat, and the key that hides their passwords"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("secret", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "refused_logins",
        sa.Column("account", sa.String(64), primary_key=True),
        sa.Column("credential", sa.String(64), primary_key=True),
        sa.Column("database", sa.String(63), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("refused_logins")
    op.drop_table("secrets")
