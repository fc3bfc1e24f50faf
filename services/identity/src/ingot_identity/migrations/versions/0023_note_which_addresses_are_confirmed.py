"""note which addresses are confirmed

Nothing tells those that an administrator gave from those that users added themselves, so none of the old ones is.
"""

import sqlalchemy as sa
from alembic import op
from ingot_chassis.db.tables import UtcDateTime

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("email", sa.Column("confirmed_at", UtcDateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("email", "confirmed_at")
