"""registrations"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "registration",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("login", sa.String(40), nullable=False),
        sa.Column("lower_login", sa.String(40), nullable=False),
        sa.Column("address", sa.String(254), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("note", sa.String(1000), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_registration")),
        sa.UniqueConstraint("lower_login", name=op.f("uq_registration_lower_login")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_registration_created_at"), "registration", ["created_at"])


def downgrade() -> None:
    op.drop_table("registration")
