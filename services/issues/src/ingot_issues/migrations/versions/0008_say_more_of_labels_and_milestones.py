"""say more of labels and milestones"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('label', sa.Column('description', sa.Text(), server_default='', nullable=False))
    op.add_column('label', sa.Column('exclusive', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column('label', sa.Column('is_archived', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column('milestone', sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True)))
    op.add_column('milestone', sa.Column('updated_at', ingot_chassis.db.tables.UtcDateTime(timezone=True)))


def downgrade() -> None:
    for name in ('updated_at', 'created_at'):
        op.drop_column('milestone', name)
    for name in ('is_archived', 'exclusive', 'description'):
        op.drop_column('label', name)
