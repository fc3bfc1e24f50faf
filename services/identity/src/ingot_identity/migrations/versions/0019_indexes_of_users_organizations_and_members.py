"""indexes of users, organizations and members

Nobody writes a table while an index of it is made, each in a transaction of its own. One that was made before (`CREATE INDEX
CONCURRENTLY`, under the same name) stays. That of followers by account alone is dropped: ``ix_follow_followers`` serves
whatever it served, for older code as well.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

USERS, ORGANIZATIONS = "kind = 'user'", "kind = 'organization'"
MEMBERS = ["organization_id", "lower_login", "user_id"]
INDEXES = {
    "ix_account_users_by_creation": ("account", ["created_at", "id"], USERS),
    "ix_account_users_by_change": ("account", ["updated_at", "id"], USERS),
    "ix_account_organizations_by_name": ("account", ["lower_login", "id", "visibility"], ORGANIZATIONS),
    "ix_account_administrators": ("account", ["id"], "admin"),
    "ix_membership_members": ("membership", MEMBERS, None),
    "ix_membership_public_members": ("membership", MEMBERS, "public"),
}
ON_SQLITE = {"admin": "admin = 1", "public": "public = 1"}
"""How SQLite writes that a column is true."""


def upgrade() -> None:
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    for name, (table, columns, where) in INDEXES.items():
        if on_postgresql:
            op.get_bind().commit()
        op.create_index(
            name,
            table,
            columns,
            if_not_exists=True,
            postgresql_where=sa.text(where) if where else None,
            sqlite_where=sa.text(ON_SQLITE.get(where, where)) if where else None,
        )
    op.drop_index("ix_follow_followed_id", "follow", if_exists=True)


def downgrade() -> None:
    op.create_index("ix_follow_followed_id", "follow", ["followed_id"])
    for name, (table, _columns, _where) in INDEXES.items():
        op.drop_index(name, table)
