"""indexes in the order of lists"""

from alembic import op

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index('ix_issue_in_state', 'issue', ['repository_id', 'state', 'number'])
    op.create_index('ix_issue_of_kind', 'issue', ['repository_id', 'is_pull', 'number'])
    op.drop_index('ix_issue_listed', 'issue')


def downgrade() -> None:
    op.create_index('ix_issue_listed', 'issue', ['repository_id', 'state', 'is_pull', 'number'])
    op.drop_index('ix_issue_of_kind', 'issue')
    op.drop_index('ix_issue_in_state', 'issue')
