"""authors of imported reviews"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for table in ("review", "review_comment"):
        op.add_column(
            table, sa.Column("original_author", sa.String(length=255), server_default="", nullable=False)
        )
        op.add_column(table, sa.Column("original_author_id", big, server_default="0", nullable=False))


def downgrade() -> None:
    for table in ("review_comment", "review"):
        op.drop_column(table, "original_author_id")
        op.drop_column(table, "original_author")
