"""exports of organizations"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import UtcDateTime

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "organization_export",
        sa.Column("id", big, autoincrement=True, nullable=False),
        sa.Column("organization_id", big, nullable=False),
        sa.Column("user_id", big, nullable=False),
        sa.Column("shard", sa.String(60), nullable=False),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("labels", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed')", name=op.f("ck_organization_export_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_export")),
        sa.UniqueConstraint("uuid", name=op.f("uq_organization_export_uuid")),
        sqlite_autoincrement=True,
    )
    for column in ("organization_id", "expires_at"):
        op.create_index(op.f(f"ix_organization_export_{column}"), "organization_export", [column])
    op.create_index(
        "uq_organization_export_running",
        "organization_export",
        ["organization_id"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
        sqlite_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "organization_export_repository",
        sa.Column("id", big, autoincrement=True, nullable=False),
        sa.Column("export_id", big, nullable=False),
        sa.Column("repository_id", big, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("shard", sa.String(60), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("left_out_files", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed')",
            name=op.f("ck_organization_export_repository_state"),
        ),
        sa.ForeignKeyConstraint(
            ["export_id"],
            ["organization_export.id"],
            name=op.f("fk_organization_export_repository_export_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_export_repository")),
        sa.UniqueConstraint(
            "export_id",
            "repository_id",
            name=op.f("uq_organization_export_repository_export_id_repository_id"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_organization_export_repository_uuid"), "organization_export_repository", ["uuid"]
    )


def downgrade() -> None:
    op.drop_table("organization_export_repository")
    op.drop_table("organization_export")
