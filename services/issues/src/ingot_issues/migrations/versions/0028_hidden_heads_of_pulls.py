"""hidden heads of pulls

Whether repos hides the head of a pull request. Of one that it hides already nothing is written down: a round of the workers
says so once more.
"""

import sqlalchemy as sa
from alembic import op

revision = '0028'
down_revision = '0027'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('pull', sa.Column('head_hidden', sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column('pull', 'head_hidden')
