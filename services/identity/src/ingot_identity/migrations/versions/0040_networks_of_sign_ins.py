"""networks of sign-ins"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sign_in_network",
        sa.Column("account_id", BigId, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_sign_in_network_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "digest", name=op.f("pk_sign_in_network")),
    )
    op.create_index(op.f("ix_sign_in_network_last_at"), "sign_in_network", ["last_at"])


def downgrade() -> None:
    op.drop_table("sign_in_network")
