"""keep refresh tokens"""

import sqlalchemy as sa
from alembic import op

import ingot_chassis.db.tables

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "refresh_token",
        sa.Column("grant_hash", sa.String(length=64), nullable=False),
        sa.Column("sealed_token", sa.LargeBinary(), nullable=False),
        sa.Column("leased_until", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True),
        sa.Column("updated_at", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("grant_hash", name=op.f("pk_refresh_token")),
    )


def downgrade() -> None:
    op.drop_table("refresh_token")
