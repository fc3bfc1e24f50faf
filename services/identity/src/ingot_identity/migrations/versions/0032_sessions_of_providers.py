"""sessions of providers"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = '0032'
down_revision = '0031'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "logout_token",
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["auth_source.id"], name=op.f("fk_logout_token_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "sha256", name=op.f("pk_logout_token")),
    )
    op.create_index(op.f("ix_logout_token_expires_at"), "logout_token", ["expires_at"])
    op.add_column("browser_session", sa.Column("source_id", BigId, server_default="0", nullable=False))
    op.add_column(
        "browser_session", sa.Column("provider_session", sa.String(255), server_default="", nullable=False)
    )
    op.add_column("browser_session", sa.Column("sealed_id_token", sa.LargeBinary()))
    op.create_index(
        "ix_browser_session_provider",
        "browser_session",
        ["source_id", "provider_session"],
        sqlite_where=sa.text("source_id <> 0"),
        postgresql_where=sa.text("source_id <> 0"),
    )


def downgrade() -> None:
    op.drop_index("ix_browser_session_provider", table_name="browser_session")
    for column in ("sealed_id_token", "provider_session", "source_id"):
        op.drop_column("browser_session", column)
    op.drop_table("logout_token")
