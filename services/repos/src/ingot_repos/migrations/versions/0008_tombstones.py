"""tombstones"""

import sqlalchemy as sa
from alembic import op

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'tombstone',
        sa.Column('repository_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=False, nullable=False),
        sa.Column('shard', sa.String(length=60), nullable=False),
        sa.Column('awaited', sa.String(length=200), nullable=False),
        sa.Column('deleted_at', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('repository_id', name=op.f('pk_tombstone')),
    )
    op.create_index(op.f('ix_tombstone_deleted_at'), 'tombstone', ['deleted_at'])


def downgrade() -> None:
    op.drop_table('tombstone')
