"""users and groups of SCIM clients"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = '0035'
down_revision = '0032'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scim_group",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("display_name", sa.String(255), nullable=False),
        sa.Column("lower_display_name", sa.String(255), nullable=False),
        sa.Column("external_id", sa.String(255), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["auth_source.id"], name=op.f("fk_scim_group_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scim_group")),
        sa.UniqueConstraint(
            "source_id", "lower_display_name", name=op.f("uq_scim_group_source_id_lower_display_name")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scim_token",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["source_id"], ["auth_source.id"], name=op.f("fk_scim_token_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scim_token")),
        sa.UniqueConstraint("sha256", name=op.f("uq_scim_token_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_scim_token_source_id"), "scim_token", ["source_id"])

    op.create_table(
        "scim_user",
        sa.Column("identity_id", BigId, autoincrement=False, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("user_name", sa.String(255), nullable=False),
        sa.Column("lower_user_name", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("lower_email", sa.String(254), nullable=False),
        sa.Column("first_name", sa.String(255), nullable=False),
        sa.Column("family_name", sa.String(255), nullable=False),
        sa.Column("display_name", sa.String(255), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("groups_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("applied_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("applied_source_at", UtcDateTime()),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["external_identity.id"],
            name=op.f("fk_scim_user_identity_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["auth_source.id"], name=op.f("fk_scim_user_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("identity_id", name=op.f("pk_scim_user")),
        sa.UniqueConstraint(
            "source_id", "lower_user_name", name=op.f("uq_scim_user_source_id_lower_user_name")
        ),
    )
    op.create_table(
        "scim_member",
        sa.Column("group_id", BigId, nullable=False),
        sa.Column("identity_id", BigId, nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["scim_group.id"], name=op.f("fk_scim_member_group_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["scim_user.identity_id"],
            name=op.f("fk_scim_member_identity_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("group_id", "identity_id", name=op.f("pk_scim_member")),
    )
    op.create_index(op.f("ix_scim_member_identity_id"), "scim_member", ["identity_id"])

    op.add_column(
        "external_identity", sa.Column("managed", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.add_column(
        "external_identity", sa.Column("deactivated", sa.Boolean(), server_default=sa.false(), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("external_identity", "deactivated")
    op.drop_column("external_identity", "managed")

    op.drop_index(op.f("ix_scim_member_identity_id"), table_name="scim_member")

    op.drop_table("scim_member")
    op.drop_table("scim_user")
    op.drop_index(op.f("ix_scim_token_source_id"), table_name="scim_token")

    op.drop_table("scim_token")
    op.drop_table("scim_group")
