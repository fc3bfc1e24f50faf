"""hide heads of closed pulls

Nobody fetches the commits of a pull request that was closed without a merge. Jobs say so to repos for those that are closed
already, ten in a second: others are not to wait behind them.
"""

import json
from datetime import timedelta

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op
from ingot_chassis.clock import now

revision = '0026'
down_revision = '0025'
branch_labels = None
depends_on = None

KIND = 'pulls.head'
IN_A_SECOND = 10
AT_ONCE = 1000
CLOSED = sa.text(
    """
    SELECT issue.id, issue.repository_id, issue.number, issue.author_id FROM issue JOIN pull ON pull.issue_id = issue.id
    WHERE issue.id > :last AND issue.state = 'closed' AND NOT pull.merged ORDER BY issue.id LIMIT :most
    """
)
time = ingot_chassis.db.tables.UtcDateTime()
job = sa.table(
    'job',
    *(sa.column(name) for name in ('kind', 'key', 'payload', 'state', 'attempts', 'fence')),
    sa.column('run_at', time),
    sa.column('created_at', time),
)


def upgrade() -> None:
    connection, moment = op.get_bind(), now()
    last, count = 0, 0
    while pulls := connection.execute(CLOSED, {'last': last, 'most': AT_ONCE}).all():
        jobs = []
        for pull in pulls:
            payload = {
                'issue_id': pull.id, 'repository_id': pull.repository_id, 'number': pull.number, 'actor_id': pull.author_id,
            }
            jobs.append({
                'kind': KIND, 'key': str(pull.id), 'payload': json.dumps(payload).encode(), 'state': 'waiting', 'attempts': 0,
                'fence': 0, 'run_at': moment + timedelta(seconds=count / IN_A_SECOND), 'created_at': moment,
            })
            count += 1
        connection.execute(job.insert(), jobs)
        last = pulls[-1].id


def downgrade() -> None:
    op.execute(f"DELETE FROM job WHERE kind = '{KIND}'")
