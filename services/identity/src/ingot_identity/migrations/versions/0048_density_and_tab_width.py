"""density and tab width"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "account", sa.Column("density", sa.String(20), server_default="comfortable", nullable=False)
    )
    op.add_column("account", sa.Column("tab_width", sa.Integer(), server_default="4", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("account") as batch_op:
        batch_op.drop_column("tab_width")
        batch_op.drop_column("density")
