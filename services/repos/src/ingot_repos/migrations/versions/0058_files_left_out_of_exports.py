"""files left out of exports"""

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("export", sa.Column("left_out_files", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("export", "left_out_files")
