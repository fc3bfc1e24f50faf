"""indexes of users by filters

Of the few that the administration looks for among all: who may not sign in, and who has a name for signing in. Nobody writes the
table while an index of it is made, each in a transaction of its own. One that was made before (`CREATE INDEX CONCURRENTLY`,
under the same name) stays.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

HAS_LOGIN_NAME = "login_name <> ''"
INDEXES = {
    "ix_account_inactive": (["lower_login", "id"], "NOT active", "active = 0"),
    "ix_account_login_prohibited": (["lower_login", "id"], "login_prohibited", "login_prohibited = 1"),
    "ix_account_login_name": (["login_name", "lower_login", "id"], HAS_LOGIN_NAME, HAS_LOGIN_NAME),
}
"""Columns, and which rows: on PostgreSQL, and as SQLite writes that."""


def upgrade() -> None:
    for name, (columns, on_postgresql, on_sqlite) in INDEXES.items():
        if op.get_bind().dialect.name == "postgresql":
            op.get_bind().commit()
        op.create_index(
            name,
            "account",
            columns,
            if_not_exists=True,
            postgresql_where=sa.text(on_postgresql),
            sqlite_where=sa.text(on_sqlite),
        )


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "account")
