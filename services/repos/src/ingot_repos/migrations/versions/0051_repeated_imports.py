"""repeated imports"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("migration", sa.Column("repeat", sa.Integer(), server_default="0", nullable=False))
    op.create_table(
        "import_base",
        sa.Column("repository_id", BigId, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_import_base_repository_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", "kind", "name", name=op.f("pk_import_base")),
    )
    op.create_table(
        "import_conflict",
        sa.Column("repository_id", BigId, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("number", BigId, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_import_conflict_repository_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "repository_id", "kind", "number", "name", name=op.f("pk_import_conflict")
        ),
    )


def downgrade() -> None:
    op.drop_table("import_conflict")
    op.drop_table("import_base")
    op.drop_column("migration", "repeat")
