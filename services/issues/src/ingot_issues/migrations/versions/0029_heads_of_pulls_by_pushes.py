"""heads of pulls by pushes

To which commit a push moved the head branch after the last comparison: so it is clear later which head a push to the base has
brought there.
"""

import sqlalchemy as sa
from alembic import op

revision = '0029'
down_revision = '0028'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('pull', sa.Column('head_tip', sa.String(length=64), server_default='', nullable=False))


def downgrade() -> None:
    op.drop_column('pull', 'head_tip')
