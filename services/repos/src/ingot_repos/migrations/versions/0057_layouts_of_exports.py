"""layouts of exports"""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("export", sa.Column("layout", sa.String(10), server_default="archive", nullable=False))
    op.add_column("export", sa.Column("left_out", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("export", "left_out")
    op.drop_column("export", "layout")
