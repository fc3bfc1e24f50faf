"""passkeys"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = '0038'
down_revision = '0036'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "passkey",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("account_id", BigId, nullable=False),
        sa.Column("credential_id", sa.LargeBinary(1023), nullable=False),
        sa.Column("public_key", sa.LargeBinary(1024), nullable=False),
        sa.Column("user_handle", sa.LargeBinary(64), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_passkey_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkey_credential_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkey_account_id"), "passkey", ["account_id"])
    op.create_table(
        "used_challenge",
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_used_challenge")),
    )
    op.create_index(op.f("ix_used_challenge_expires_at"), "used_challenge", ["expires_at"])
    op.add_column("browser_session", sa.Column("proved_at", UtcDateTime()))


def downgrade() -> None:
    op.drop_column("browser_session", "proved_at")
    op.drop_table("used_challenge")
    op.drop_table("passkey")
