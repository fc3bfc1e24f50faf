"""units of copied repositories"""

import json

import sqlalchemy as sa
from alembic import op

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

REPOSITORIES = sa.text('SELECT id, view FROM repository')
SWITCH = sa.text('UPDATE repository SET has_issues = :issues, has_pulls = :pulls WHERE id = :id')


def upgrade() -> None:
    op.add_column('repository', sa.Column('has_issues', sa.Boolean(), server_default=sa.true(), nullable=False))
    op.add_column('repository', sa.Column('has_pulls', sa.Boolean(), server_default=sa.true(), nullable=False))
    connection = op.get_bind()
    for repository in connection.execute(REPOSITORIES).all():
        view = json.loads(bytes(repository.view))
        issues, pulls = view.get('has_issues', True), view.get('has_pull_requests', True)
        if not issues or not pulls:
            connection.execute(SWITCH, {'id': repository.id, 'issues': issues, 'pulls': pulls})


def downgrade() -> None:
    op.drop_column('repository', 'has_pulls')
    op.drop_column('repository', 'has_issues')
