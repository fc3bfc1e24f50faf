"""replies"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reply",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column(
            "account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("issue_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("comment_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("refusal", sa.Text(), nullable=False),
        sa.Column("received_at", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_reply")),
    )
    op.create_index("ix_reply_account", "reply", ["account_id", "received_at"], unique=False)
    op.create_index(op.f("ix_reply_received_at"), "reply", ["received_at"], unique=False)


def downgrade() -> None:
    op.drop_table("reply")
