"""authors of imported releases"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column(
        "release", sa.Column("original_author", sa.String(length=255), server_default="", nullable=False)
    )
    op.add_column("release", sa.Column("original_author_id", big, server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("release", "original_author_id")
    op.drop_column("release", "original_author")
