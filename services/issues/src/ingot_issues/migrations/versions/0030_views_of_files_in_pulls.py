"""views of files in pulls

Which files of a pull request somebody has looked at, and in which state.
"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0030'
down_revision = '0029'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'file_view',
        sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
        sa.Column('account_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
        sa.Column('path_sha256', sa.LargeBinary(length=32), nullable=False),
        sa.Column('changes_sha256', sa.LargeBinary(length=32), nullable=False),
        sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ['issue_id'], ['issue.id'], name=op.f('fk_file_view_issue_id'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('issue_id', 'account_id', 'path_sha256', name=op.f('pk_file_view')),
    )
    op.create_index(op.f('ix_file_view_account_id'), 'file_view', ['account_id'])


def downgrade() -> None:
    op.drop_table('file_view')
