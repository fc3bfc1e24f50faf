"""note accounts that are deleted with their repositories"""

import sqlalchemy as sa
from alembic import op
from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "purge",
        sa.Column("account_id", BigId, autoincrement=False, nullable=False),
        sa.Column("user_id", BigId, nullable=False),
        sa.Column("requested_by", BigId, nullable=False),
        sa.Column("repositories", sa.Integer(), nullable=False),
        sa.Column("requested_at", UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_purge")),
    )
    op.create_index(op.f("ix_purge_user_id"), "purge", ["user_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_purge_user_id"), table_name="purge")
    op.drop_table("purge")
