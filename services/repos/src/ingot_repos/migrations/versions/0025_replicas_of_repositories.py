"""replicas of repositories"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "replica",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("shard", sa.String(length=60), nullable=False),
        sa.Column("obsolete", sa.Boolean(), nullable=False),
        sa.Column("ref_version", sa.BigInteger(), nullable=True),
        sa.Column("default_branch", sa.String(length=255), nullable=False),
        sa.Column("stamp", sa.String(length=32), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("due_at", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "shard", name=op.f("pk_replica")),
    )
    with op.batch_alter_table("replica", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_replica_shard"), ["shard"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("replica", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_replica_shard"))

    op.drop_table("replica")
