"""targets of reviews

The base branch and the merge base of the changes that were reviewed, and of scheduled merges the base branch and the head
that was agreed to. Reviews before a change of the base branch stay without: they are stale. Scheduled merges from before a
change of the base branch or new commits stay without, too, and are cancelled: it is unknown who agreed to those.
"""

import sqlalchemy as sa
from alembic import op

revision = '0031'
down_revision = '0030'
branch_labels = None
depends_on = None

BASE_CHANGED = 25
COMMITS_ADDED = 29


def upgrade() -> None:
    for table, names in (('review', ('base_branch', 'merge_base')), ('scheduled_merge', ('base_branch', 'agreed_sha'))):
        for name in names:
            length = 255 if name == 'base_branch' else 64
            op.add_column(table, sa.Column(name, sa.String(length=length), server_default='', nullable=False))
    op.execute(
        f"""
        UPDATE review SET
            base_branch = (SELECT pull.base_branch FROM pull WHERE pull.issue_id = review.issue_id),
            merge_base = (SELECT pull.merge_base FROM pull WHERE pull.issue_id = review.issue_id)
        WHERE EXISTS (SELECT 1 FROM pull WHERE pull.issue_id = review.issue_id)
        AND NOT EXISTS (
            SELECT 1 FROM comment WHERE comment.issue_id = review.issue_id AND comment.kind = {BASE_CHANGED}
            AND comment.created_at >= review.submitted_at
        )
        """
    )
    op.execute(
        f"""
        UPDATE scheduled_merge SET
            base_branch = (SELECT pull.base_branch FROM pull WHERE pull.issue_id = scheduled_merge.issue_id),
            agreed_sha = (SELECT pull.head_sha FROM pull WHERE pull.issue_id = scheduled_merge.issue_id)
        WHERE EXISTS (SELECT 1 FROM pull WHERE pull.issue_id = scheduled_merge.issue_id)
        AND NOT EXISTS (
            SELECT 1 FROM comment WHERE comment.issue_id = scheduled_merge.issue_id
            AND comment.kind IN ({BASE_CHANGED}, {COMMITS_ADDED})
            AND comment.created_at >= scheduled_merge.created_at
        )
        """
    )


def downgrade() -> None:
    for table, names in (('review', ('base_branch', 'merge_base')), ('scheduled_merge', ('base_branch', 'agreed_sha'))):
        for name in names:
            op.drop_column(table, name)
