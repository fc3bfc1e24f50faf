"""checks of single pull requests become checks of their base

A job compared one pull request until then. One that waits is the only one to know that its pull request may fit.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None

WAITING = sa.text(
    """
    SELECT id, payload FROM job WHERE kind = 'pull.check' AND state IN ('waiting', 'running')
    """
)
PULL = sa.text(
    """
    SELECT repository_id, base_branch FROM issue JOIN pull ON pull.issue_id = issue.id WHERE issue.id = :issue_id
    """
)
RENEW = sa.text(
    """
    UPDATE job SET kind = 'pulls.check', payload = :payload, state = 'waiting' WHERE id = :id
    """
)


def upgrade() -> None:
    connection = op.get_bind()
    for job in connection.execute(WAITING).all():
        check = json.loads(job.payload)
        issue_id = check.pop('issue_id')
        pull = connection.execute(PULL, {'issue_id': issue_id}).first()
        if pull is not None:
            check |= {**pull._mapping, 'issue_ids': [issue_id]}
            connection.execute(RENEW, {'id': job.id, 'payload': json.dumps(check).encode()})
    op.execute("DELETE FROM job WHERE kind = 'pull.check'")


def downgrade() -> None:
    pass
