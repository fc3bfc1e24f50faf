"""sources of accounts"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = '0031'
down_revision = '0030'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "auth_source",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("title", sa.String(100), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("from_settings", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary()),
        sa.Column("icon", sa.LargeBinary()),
        sa.Column("icon_type", sa.String(40), server_default="", nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_source")),
        sa.UniqueConstraint("name", name=op.f("uq_auth_source_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "external_identity",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("account_id", BigId, nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("login_name", sa.String(255), server_default="", nullable=False),
        sa.Column("email", sa.String(254), server_default="", nullable=False),
        sa.Column("gave_admin", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_sign_in_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["auth_source.id"],
            name=op.f("fk_external_identity_source_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_external_identity_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_external_identity")),
        sa.UniqueConstraint("source_id", "subject", name=op.f("uq_external_identity_source_id_subject")),
        sa.UniqueConstraint("account_id", "source_id", name=op.f("uq_external_identity_account_id_source_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "mapped_member",
        sa.Column("team_id", BigId, nullable=False),
        sa.Column("user_id", BigId, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_mapped_member_team_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["account.id"], name=op.f("fk_mapped_member_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["auth_source.id"],
            name=op.f("fk_mapped_member_source_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "user_id", "source_id", name=op.f("pk_mapped_member")),
    )
    op.create_index("ix_mapped_member_user_id", "mapped_member", ["user_id", "source_id"])
    op.add_column("account", sa.Column("source_id", BigId, server_default="0", nullable=False))
    op.create_index(
        "ix_account_source",
        "account",
        ["source_id", "lower_login", "id"],
        sqlite_where=sa.text("source_id <> 0"),
        postgresql_where=sa.text("source_id <> 0"),
    )


def downgrade() -> None:
    op.drop_index("ix_account_source", table_name="account")
    op.drop_column("account", "source_id")
    op.drop_table("mapped_member")
    op.drop_table("external_identity")
    op.drop_table("auth_source")
