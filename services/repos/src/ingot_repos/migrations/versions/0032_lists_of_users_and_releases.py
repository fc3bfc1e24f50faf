"""lists of users and releases

Indexes in the orders of these lists; one that was made before (`CREATE INDEX CONCURRENTLY`, under the same name) stays.

The counters of stars and watches are the totals of their lists. Two that came at once could be counted as one, so those that
are wrong are counted again.
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_star_listed": ("star", ["repository_id", "created_at", "user_id"]),
    "ix_watch_listed": ("watch", ["repository_id", "created_at", "user_id"]),
    "ix_release_listed": ("release", ["repository_id", "created_at", "id", "draft", "prerelease"]),
}
COUNTERS = {"star": "stars_count", "watch": "watchers_count"}


def upgrade() -> None:
    for name, (table, columns) in INDEXES.items():
        op.create_index(name, table, columns, if_not_exists=True)
    for table, counter in COUNTERS.items():
        number = f"(SELECT count(*) FROM {table} WHERE repository_id = repository.id)"  # noqa: S608
        op.execute(f"UPDATE repository SET {counter} = {number} WHERE {counter} <> {number}")  # noqa: S608


def downgrade() -> None:
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
