"""placeholders of people"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "placeholder",
        sa.Column("id", big, autoincrement=True, nullable=False),
        sa.Column("repository_id", big, nullable=False),
        sa.Column("person", sa.String(length=255), nullable=False),
        sa.Column("role", sa.Integer(), nullable=False),
        sa.Column("issue_id", big, nullable=False),
        sa.Column("row_id", big, nullable=False),
        sa.Column("details", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["issue_id"], ["issue.id"], name=op.f("fk_placeholder_issue_id_issue"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_placeholder")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_placeholder_issue_id"), "placeholder", ["issue_id"])
    op.create_index("ix_placeholder_of_person", "placeholder", ["repository_id", "person", "id"])


def downgrade() -> None:
    op.drop_table("placeholder")
