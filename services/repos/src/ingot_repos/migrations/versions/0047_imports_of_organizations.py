"""imports of organizations"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import UtcDateTime

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "organization_import",
        sa.Column("id", big, autoincrement=True, nullable=False),
        sa.Column("organization_id", big, nullable=False),
        sa.Column("user_id", big, nullable=False),
        sa.Column("shard", sa.String(60), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("service", sa.String(10), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("source", sa.String(255), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed', 'cancelled')",
            name=op.f("ck_organization_import_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_import")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "organization_import_repository",
        sa.Column("id", big, autoincrement=True, nullable=False),
        sa.Column("import_id", big, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.String(255), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("repository_id", big, nullable=True),
        sa.CheckConstraint(
            "state IN ('listed', 'created', 'begun', 'refused')",
            name=op.f("ck_organization_import_repository_state"),
        ),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["organization_import.id"],
            name=op.f("fk_organization_import_repository_import_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_organization_import_repository_repository_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_import_repository")),
        sa.UniqueConstraint(
            "import_id", "name",
            name=op.f("uq_organization_import_repository_import_id_name"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_organization_import_repository_repository_id"),
        "organization_import_repository",
        ["repository_id"],
    )


def downgrade() -> None:
    op.drop_table("organization_import_repository")
    op.drop_table("organization_import")
