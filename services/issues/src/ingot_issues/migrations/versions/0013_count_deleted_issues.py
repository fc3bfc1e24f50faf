"""count deleted issues"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('counter', schema=None) as batch_op:
        batch_op.add_column(sa.Column('deleted_issues', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), server_default='0', nullable=False))



def downgrade() -> None:
    with op.batch_alter_table('counter', schema=None) as batch_op:
        batch_op.drop_column('deleted_issues')

