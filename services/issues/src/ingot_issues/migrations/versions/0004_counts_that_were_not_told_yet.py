"""counts that were not told yet"""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('counter', sa.Column('untold', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        'ix_counter_untold',
        'counter',
        ['repository_id'],
        postgresql_where=sa.text('untold'),
        sqlite_where=sa.text('untold'),
    )


def downgrade() -> None:
    op.drop_index('ix_counter_untold', 'counter')
    op.drop_column('counter', 'untold')
