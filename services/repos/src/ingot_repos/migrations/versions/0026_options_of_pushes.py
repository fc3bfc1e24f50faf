"""options of pushes"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("push", schema=None) as batch_op:
        batch_op.add_column(sa.Column("options", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("push", schema=None) as batch_op:
        batch_op.drop_column("options")
