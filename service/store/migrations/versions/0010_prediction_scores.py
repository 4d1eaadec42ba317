"""how the prediction made before a change mark stood to what came, kept with the episode"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("episodes", sa.Column("prediction", sa.Text))


def downgrade() -> None:
    with op.batch_alter_table("episodes") as table:
        table.drop_column("prediction")
