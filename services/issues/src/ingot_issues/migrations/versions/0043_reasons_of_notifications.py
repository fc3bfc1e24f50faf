"""reasons of notifications"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("notification", sa.Column("reason", sa.String(13), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("notification", "reason")
