"""trigrams of texts

For the search by text. Without the extension everything works, but a search looks at every text.

While an index is built, nobody writes issues or comments. What the revisions before have locked is let go first, and an
index that was made before (`CREATE INDEX CONCURRENTLY`, under the same name) is kept.
"""

import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
# New texts wait in a list, which makes writing cheap; every search reads the list, so it is kept short.
PENDING = "WITH (gin_pending_list_limit = 256)"
INDEXES = {
    "ix_issue_title_trigrams": f"issue USING gin (lower(title) gin_trgm_ops) {PENDING}",
    "ix_issue_body_trigrams": f"issue USING gin (lower(body) gin_trgm_ops) {PENDING}",
    "ix_comment_body_trigrams": f"comment USING gin (lower(body) gin_trgm_ops) {PENDING} WHERE kind = 0",
}
WITHOUT_EXTENSION = frozenset(["0A000", "42501", "42704", "58P01"])
"""What PostgreSQL answers where the extension is not there: it is not installed, may not be created, or is out of reach."""
STATEMENTS = [EXTENSION, *(f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in INDEXES.items())]

log = structlog.get_logger()


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    try:
        for statement in STATEMENTS:
            connection.commit()
            op.execute(statement)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") not in WITHOUT_EXTENSION:
            raise
        connection.rollback()
        log.warning(
            "the search of issues by text will be slow: pg_trgm could not be created; install PostgreSQL's contrib"
            " modules, then run these statements in the database of issues as its owner",
            reason=str(error.orig).split("\n", 1)[0],
            statements=STATEMENTS,
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for name in INDEXES:
            op.execute(f"DROP INDEX IF EXISTS {name}")
