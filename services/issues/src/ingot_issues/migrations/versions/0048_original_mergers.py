"""original mergers"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pull", sa.Column("original_merger", sa.String(255), server_default="", nullable=False))
    # Placeholders of earlier imports have the names of mergers without an account, in lower case.
    merger = "(SELECT person FROM placeholder WHERE issue_id = pull.issue_id AND role = 3 LIMIT 1)"
    op.execute(
        f"UPDATE pull SET original_merger = {merger} WHERE merged_by = -1"
        " AND issue_id IN (SELECT issue_id FROM placeholder WHERE role = 3)"
    )


def downgrade() -> None:
    op.drop_column("pull", "original_merger")
