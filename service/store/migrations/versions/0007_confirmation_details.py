"""where a confirmation ran and what it named; one that was refused has no number"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("confirmations") as table:
        table.alter_column("value", existing_type=sa.Double(), nullable=True)
        table.add_column(sa.Column("details", sa.Text))


def downgrade() -> None:
    op.execute(sa.text("delete from confirmations where value is null"))
    with op.batch_alter_table("confirmations") as table:
        table.drop_column("details")
        table.alter_column("value", existing_type=sa.Double(), nullable=False)
