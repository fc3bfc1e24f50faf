"""timeline, locks and counters of milestones"""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
WHERE = sa.text('ref_repository_id IS NOT NULL')
COUNTED = """
UPDATE milestone SET
    open_issues = (SELECT count(*) FROM issue WHERE issue.milestone_id = milestone.id AND issue.state = 'open'),
    closed_issues = (SELECT count(*) FROM issue WHERE issue.milestone_id = milestone.id AND issue.state = 'closed')
"""


def upgrade() -> None:
    op.add_column('comment', sa.Column('details', sa.Text(), nullable=True))
    op.add_column('comment', sa.Column('ref_repository_id', BIG, nullable=True))
    op.add_column('comment', sa.Column('ref_issue_id', BIG, nullable=True))
    op.add_column('comment', sa.Column('ref_comment_id', BIG, nullable=True))
    op.add_column('comment', sa.Column('ref_sha', sa.String(length=64), nullable=True))
    op.create_index('ix_comment_from_comment', 'comment', ['ref_comment_id'], postgresql_where=WHERE, sqlite_where=WHERE)
    op.create_index('ix_comment_from_repository', 'comment', ['ref_repository_id'], postgresql_where=WHERE, sqlite_where=WHERE)
    op.add_column('issue', sa.Column('locked', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column('milestone', sa.Column('open_issues', sa.Integer(), server_default='0', nullable=False))
    op.add_column('milestone', sa.Column('closed_issues', sa.Integer(), server_default='0', nullable=False))
    op.execute(COUNTED)


def downgrade() -> None:
    op.drop_column('milestone', 'closed_issues')
    op.drop_column('milestone', 'open_issues')
    op.drop_column('issue', 'locked')
    op.drop_index('ix_comment_from_repository', 'comment')
    op.drop_index('ix_comment_from_comment', 'comment')
    for name in ('ref_sha', 'ref_comment_id', 'ref_issue_id', 'ref_repository_id', 'details'):
        op.drop_column('comment', name)
