"""rotation, rights and kinds of events"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Columns one by one: a batch would copy the tables on SQLite, and the copies would not be AUTOINCREMENT.
    op.add_column('delivery', sa.Column('kind', sa.String(length=40), server_default='', nullable=False))
    op.add_column('hook', sa.Column('sealed_former_secret', sa.LargeBinary(), nullable=True))
    op.add_column('hook', sa.Column('former_until', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True))
    op.add_column('hook', sa.Column('sealed_authorization', sa.LargeBinary(), nullable=True))
    op.add_column('hook', sa.Column('by_admin', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column('hook', sa.Column('doubted_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True))
    op.create_index(op.f('ix_hook_creator_id'), 'hook', ['creator_id'])
    doubted = sa.text('doubted_at IS NOT NULL')
    op.create_index('ix_hook_doubted', 'hook', ['doubted_at'], postgresql_where=doubted, sqlite_where=doubted)


def downgrade() -> None:
    op.drop_index('ix_hook_doubted', 'hook')
    op.drop_index(op.f('ix_hook_creator_id'), 'hook')
    for column in ('doubted_at', 'by_admin', 'sealed_authorization', 'former_until', 'sealed_former_secret'):
        op.drop_column('hook', column)
    op.drop_column('delivery', 'kind')
