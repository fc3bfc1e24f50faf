"""totals of lists and names of members

Where they are written down. This alone waits for whoever reads memberships, and lets others wait for a moment.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "list_count",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("list", sa.String(length=30), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_list_count")),
        sqlite_autoincrement=True,
    )
    op.add_column("membership", sa.Column("lower_login", sa.String(length=40), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("membership", "lower_login")
    op.drop_table("list_count")
