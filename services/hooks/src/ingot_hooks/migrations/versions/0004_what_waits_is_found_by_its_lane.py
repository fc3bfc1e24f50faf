"""what waits is found by its lane"""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    waiting = sa.text("state = 'pending'")
    columns = ['hook_id', 'repository_id', 'next_attempt_at', 'number']
    op.create_index('ix_delivery_waiting', 'delivery', columns, postgresql_where=waiting, sqlite_where=waiting)


def downgrade() -> None:
    op.drop_index('ix_delivery_waiting', 'delivery')
