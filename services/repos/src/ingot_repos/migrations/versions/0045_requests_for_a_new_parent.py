"""requests for a new parent"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import UtcDateTime

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "reparent",
        sa.Column("repository_id", big, nullable=False),
        sa.Column("parent_id", big, nullable=False),
        sa.Column("sender_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name=op.f("fk_reparent_repository_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["parent_id"], ["repository.id"], name=op.f("fk_reparent_parent_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("repository_id", name=op.f("pk_reparent")),
    )
    op.create_index(op.f("ix_reparent_parent_id"), "reparent", ["parent_id"])


def downgrade() -> None:
    op.drop_table("reparent")
