"""teams of imports"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organization_import", sa.Column("teams_place", sa.Text(), nullable=True))
    op.create_table(
        "organization_import_team",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("import_id", BigId, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("team_id", BigId, nullable=True),
        sa.Column("members", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state IN ('listed', 'done', 'refused')", name=op.f("ck_organization_import_team_state")
        ),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["organization_import.id"],
            name=op.f("fk_organization_import_team_import_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_import_team")),
        sa.UniqueConstraint(
            "import_id", "source_id", name=op.f("uq_organization_import_team_import_id_source_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "organization_import_absent_member",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("import_id", BigId, nullable=False),
        sa.Column("source_id", BigId, nullable=False),
        sa.Column("login", sa.String(255), nullable=False),
        sa.Column("teams", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["organization_import.id"],
            name=op.f("fk_organization_import_absent_member_import_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_import_absent_member")),
        sa.UniqueConstraint(
            "import_id",
            "source_id",
            "login",
            name=op.f("uq_organization_import_absent_member_import_id_source_id_login"),
        ),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("organization_import_absent_member")
    op.drop_table("organization_import_team")
    op.drop_column("organization_import", "teams_place")
