"""levels of teams by unit"""

import sqlalchemy as sa
from alembic import op

revision = '0027'
down_revision = '0026'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("team", sa.Column("unit_levels", sa.String(20), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("team", "unit_levels")
