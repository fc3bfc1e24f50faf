"""indexes in the orders of the lists

An index that was made before (`CREATE INDEX CONCURRENTLY`, under the same name) stays.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

OF_USERS = sa.text("kind = 'user'")
FOLLOWS = {
    "ix_follow_followers": ["followed_id", "id"],
    "ix_follow_following": ["follower_id", "id"],
}


def upgrade() -> None:
    op.create_index(
        "ix_account_users_by_name",
        "account",
        ["lower_login", "id"],
        if_not_exists=True,
        postgresql_where=OF_USERS,
        sqlite_where=OF_USERS,
    )
    for name, columns in FOLLOWS.items():
        op.create_index(name, "follow", columns, if_not_exists=True)


def downgrade() -> None:
    for name in FOLLOWS:
        op.drop_index(name, "follow")
    op.drop_index("ix_account_users_by_name", "account")
