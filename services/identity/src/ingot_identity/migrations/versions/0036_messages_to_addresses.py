"""messages to addresses

Addresses keep what they count as: one that an administrator gave is confirmed, another one is not until its
owner follows the link of a mail.
"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("account_id", BigId),
        sa.Column("address_digest", sa.LargeBinary(32)),
        sa.Column("sealed_address", sa.LargeBinary()),
        sa.Column("sha256", sa.LargeBinary(32)),
        sa.Column("sealed_secret", sa.LargeBinary()),
        sa.Column("password_stamp", sa.String(16), server_default="", nullable=False),
        sa.Column("subject_id", BigId, server_default="0", nullable=False),
        sa.Column("fields", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_message_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
        sa.UniqueConstraint("sha256", name=op.f("uq_message_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_message_account_id"), "message", ["account_id"])
    op.create_index(op.f("ix_message_address_digest"), "message", ["address_digest"])
    op.create_index(op.f("ix_message_expires_at"), "message", ["expires_at"])


def downgrade() -> None:
    op.drop_table("message")
