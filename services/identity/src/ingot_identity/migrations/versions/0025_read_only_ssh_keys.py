"""read-only ssh keys and their use"""

import sqlalchemy as sa
from alembic import op
from ingot_chassis.db.tables import UtcDateTime

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ssh_key", sa.Column("read_only", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("ssh_key", sa.Column("last_used_at", UtcDateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("ssh_key", "last_used_at")
    op.drop_column("ssh_key", "read_only")
