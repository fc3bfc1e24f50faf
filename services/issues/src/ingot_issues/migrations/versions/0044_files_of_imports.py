"""files of imports"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "imported_file",
        sa.Column("repository_id", big, autoincrement=False, nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("issue_id", big, nullable=False),
        sa.Column("comment_id", big, nullable=True),
        sa.Column("uploader_id", big, nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("local_url", sa.Text(), nullable=False),
        sa.Column("original_url", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["issue_id"], ["issue.id"], name=op.f("fk_imported_file_issue_id_issue"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["comment_id"], ["comment.id"], name=op.f("fk_imported_file_comment_id_comment"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("repository_id", "uuid", name=op.f("pk_imported_file")),
    )
    op.create_index(op.f("ix_imported_file_issue_id"), "imported_file", ["issue_id"])
    op.create_index(op.f("ix_imported_file_comment_id"), "imported_file", ["comment_id"])


def downgrade() -> None:
    op.drop_table("imported_file")
