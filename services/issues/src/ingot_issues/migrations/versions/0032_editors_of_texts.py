"""editors of texts

The people other than the author who changed title or body of an issue or pull request.
"""

import sqlalchemy as sa
from alembic import op

revision = '0032'
down_revision = '0031'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('text_editor',
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('account_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_text_editor_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('issue_id', 'account_id', name=op.f('pk_text_editor'))
    )


def downgrade() -> None:
    op.drop_table('text_editor')
