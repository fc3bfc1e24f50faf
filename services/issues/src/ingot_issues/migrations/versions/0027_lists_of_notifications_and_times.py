"""lists of notifications and times

Indexes in the orders of these lists; one that was made before (`CREATE INDEX CONCURRENTLY`, under the same name) stays.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

NOT_READ = sa.text("status <> 'read'")
LISTED = ["account_id", "updated_at", "id", "repository_id", "status", "issue_id"]
TIMES = {
    "ix_tracked_time_of_repository": ["repository_id", "id"],
    "ix_tracked_time_of_account": ["account_id", "id"],
}


def upgrade() -> None:
    op.create_index(
        "ix_notification_not_read",
        "notification",
        LISTED,
        if_not_exists=True,
        postgresql_where=NOT_READ,
        sqlite_where=NOT_READ,
    )
    for name, columns in TIMES.items():
        op.create_index(name, "tracked_time", columns, if_not_exists=True)


def downgrade() -> None:
    for name in TIMES:
        op.drop_index(name, "tracked_time")
    op.drop_index("ix_notification_not_read", "notification")
