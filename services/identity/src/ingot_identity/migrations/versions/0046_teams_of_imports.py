"""teams of imports"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId

revision = "0046"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "imported_team",
        sa.Column("import_id", BigId, autoincrement=False, nullable=False),
        sa.Column("source_id", BigId, autoincrement=False, nullable=False),
        sa.Column("organization_id", BigId, nullable=False),
        sa.Column("team_id", BigId, nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["account.id"],
            name=op.f("fk_imported_team_organization_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_imported_team_team_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("import_id", "source_id", name=op.f("pk_imported_team")),
    )
    op.create_index(op.f("ix_imported_team_organization_id"), "imported_team", ["organization_id"])
    op.create_index(op.f("ix_imported_team_team_id"), "imported_team", ["team_id"])


def downgrade() -> None:
    op.drop_table("imported_team")
