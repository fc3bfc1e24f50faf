"""times of runs of imports"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import UtcDateTime

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_source", sa.Column("started_at", UtcDateTime(), nullable=True))
    op.add_column("import_source", sa.Column("since", UtcDateTime(), nullable=True))


def downgrade() -> None:
    op.drop_column("import_source", "since")
    op.drop_column("import_source", "started_at")
