"""texts of one repository

The trigram indexes know the repository of each text, so a search in one repository does not find what others have. They also
serve a search of many, so they replace those of revision 0020. Without btree_gin those stay. The indexed expression is one that a
search of many does not have: PostgreSQL would search such an index once for each repository.

While an index is built, nobody writes issues or comments. An index that was made before (`CREATE INDEX CONCURRENTLY`, under
the same name) is kept.
"""

import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

EXTENSION = "CREATE EXTENSION IF NOT EXISTS btree_gin"
PENDING = "WITH (gin_pending_list_limit = 256)"
INDEXES = {
    "title": f"issue USING gin ((repository_id + 0), lower(title) gin_trgm_ops) {PENDING}",
    "body": f"issue USING gin ((repository_id + 0), lower(body) gin_trgm_ops) {PENDING}",
    "comment": f"comment USING gin ((repository_id + 0), lower(body) gin_trgm_ops) {PENDING} WHERE kind = 0",
}
FORMER = {"title": "ix_issue_title_trigrams", "body": "ix_issue_body_trigrams", "comment": "ix_comment_body_trigrams"}
WITHOUT_EXTENSION = frozenset(["0A000", "42501", "42704", "58P01"])
"""What PostgreSQL answers where the extension is not there: it is not installed, may not be created, or is out of reach."""
STATEMENTS = [EXTENSION]
for of, what in INDEXES.items():
    STATEMENTS += [
        f"CREATE INDEX IF NOT EXISTS ix_{of}_trigrams_of_repository ON {what}",
        f"DROP INDEX IF EXISTS {FORMER[of]}",
    ]

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
            "the search by text in one repository will also look at what others have: btree_gin or pg_trgm could not"
            " be created; install PostgreSQL's contrib modules, then run these statements in the database of issues"
            " as its owner",
            reason=str(error.orig).split("\n", 1)[0],
            statements=STATEMENTS,
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for of, name in FORMER.items():
            former = INDEXES[of].replace("(repository_id + 0), ", "")
            op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {former}")
            op.execute(f"DROP INDEX IF EXISTS ix_{of}_trigrams_of_repository")
