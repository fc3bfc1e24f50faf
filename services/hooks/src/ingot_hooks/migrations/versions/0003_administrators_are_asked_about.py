"""administrators are asked about like anybody else"""

import sqlalchemy as sa
from alembic import op

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column('hook', 'by_admin')


def downgrade() -> None:
    op.add_column('hook', sa.Column('by_admin', sa.Boolean(), server_default=sa.false(), nullable=False))
