"""trigrams of names

Revision ID: 0002
Revises: 0001

For the search. Without the extension everything works, but a search looks at every name.
"""

import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
INDEX = (
    "CREATE INDEX IF NOT EXISTS ix_repository_lower_name_trigrams ON repository"
    " USING gin (lower_name gin_trgm_ops)"
)
# It is not installed, its operators are in a schema that is not searched, or its role may not create it: the classes
# feature_not_supported, undefined_file, undefined_object and insufficient_privilege of PostgreSQL.
EXPECTED = ("0A000", "58P01", "42704", "42501")

log = structlog.get_logger()


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    try:
        with connection.begin_nested():
            op.execute(EXTENSION)
            op.execute(INDEX)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in EXPECTED:
            raise
        log.warning(
            "the search of repositories will be slow: pg_trgm could not be created; install PostgreSQL's contrib"
            " modules, then run the two statements in the database of repos as its owner",
            reason=str(error.orig).split("\n", 1)[0],
            statements=[EXTENSION, INDEX],
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP INDEX IF EXISTS ix_repository_lower_name_trigrams")
