"""imports"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for table in ("issue", "comment"):
        op.add_column(
            table, sa.Column("original_author", sa.String(length=255), server_default="", nullable=False)
        )
        op.add_column(table, sa.Column("original_author_id", big, server_default="0", nullable=False))
    op.create_table(
        "import_cursor",
        sa.Column("repository_id", big, autoincrement=False, nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", name=op.f("pk_import_cursor")),
    )
    op.create_table(
        "imported_object",
        sa.Column("repository_id", big, autoincrement=False, nullable=False),
        sa.Column("kind", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source_id", big, autoincrement=False, nullable=False),
        sa.Column("local_id", big, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "kind", "source_id", name=op.f("pk_imported_object")),
    )
    op.create_index("ix_imported_object_local", "imported_object", ["kind", "local_id"])


def downgrade() -> None:
    op.drop_index("ix_imported_object_local", table_name="imported_object")
    op.drop_table("imported_object")
    op.drop_table("import_cursor")
    for table in ("comment", "issue"):
        op.drop_column(table, "original_author_id")
        op.drop_column(table, "original_author")
