"""edits by maintainers"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "maintainer_edit",
        sa.Column("pull_id", big, autoincrement=False, nullable=False),
        sa.Column("head_repository_id", big, nullable=False),
        sa.Column("head_branch", sa.String(length=255), nullable=False),
        sa.Column("base_repository_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["head_repository_id"],
            ["repository.id"],
            name=op.f("fk_maintainer_edit_head_repository_id_repository"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("pull_id", name=op.f("pk_maintainer_edit")),
    )
    op.create_index(
        op.f("ix_maintainer_edit_head_repository_id"), "maintainer_edit", ["head_repository_id"]
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_maintainer_edit_head_repository_id"), table_name="maintainer_edit")
    op.drop_table("maintainer_edit")
