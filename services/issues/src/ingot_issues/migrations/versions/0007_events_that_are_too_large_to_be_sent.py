"""events that are too large to be sent"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('outbox', schema=None) as batch_op:
        batch_op.add_column(sa.Column('dead_lettered_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True))
        batch_op.create_index('ix_outbox_dead_lettered', ['seq'], unique=False, postgresql_where=sa.text('dead_lettered_at IS NOT NULL'), sqlite_where=sa.text('dead_lettered_at IS NOT NULL'))


def downgrade() -> None:
    with op.batch_alter_table('outbox', schema=None) as batch_op:
        batch_op.drop_index('ix_outbox_dead_lettered', postgresql_where=sa.text('dead_lettered_at IS NOT NULL'), sqlite_where=sa.text('dead_lettered_at IS NOT NULL'))
        batch_op.drop_column('dead_lettered_at')
