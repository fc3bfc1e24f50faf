"""trigrams of descriptions and topics, and of names on SQLite

For the search. Without the extension everything works, but a search looks at every description and topic. While an index is
built, nobody writes repositories or topics; one that was made before (`CREATE INDEX CONCURRENTLY`, under the same name) is
kept.

On SQLite triggers keep the indexes, which hold no texts themselves. A batch operation that makes the table ``repository`` or
``topic`` anew drops its triggers, and has to create them again.
"""

import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
INDEXES = {
    "ix_repository_description_trigrams": "repository USING gin (lower(description) gin_trgm_ops)",
    "ix_topic_name_trigrams": "topic USING gin (name gin_trgm_ops)",
}
STATEMENTS = [EXTENSION, *(f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in INDEXES.items())]
WITHOUT_EXTENSION = frozenset(["0A000", "42501", "42704", "58P01"])
"""What PostgreSQL answers where the extension is not there: it is not installed, may not be created, or is out of reach."""
INDEXED = {"repository": ("lower_name", "description"), "topic": ("name",)}

log = structlog.get_logger()


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        _upgrade_postgresql()
        return
    for table, columns in INDEXED.items():
        index, names = f"{table}_trigrams", ", ".join(columns)
        old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("old", "new"))
        remove = f"INSERT INTO {index} ({index}, rowid, {names}) VALUES ('delete', old.id, {old});"
        add = f"INSERT INTO {index} (rowid, {names}) VALUES (new.id, {new});"
        for statement in (
            f"CREATE VIRTUAL TABLE {index} USING fts5"
            f"({names}, content='{table}', content_rowid='id', tokenize='trigram')",
            f"INSERT INTO {index} (rowid, {names}) SELECT id, {names} FROM {table}",  # noqa: S608
            f"CREATE TRIGGER {index}_insert AFTER INSERT ON {table} BEGIN {add} END",
            f"CREATE TRIGGER {index}_update AFTER UPDATE OF {names} ON {table} BEGIN {remove} {add} END",
            f"CREATE TRIGGER {index}_delete AFTER DELETE ON {table} BEGIN {remove} END",
        ):
            op.execute(statement)


def _upgrade_postgresql() -> None:
    connection = op.get_bind()
    try:
        for statement in STATEMENTS:
            connection.commit()
            op.execute(statement)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") not in WITHOUT_EXTENSION:
            raise
        connection.rollback()
        log.warning(
            "the search of repositories by description or topic will be slow: pg_trgm could not be created; install"
            " PostgreSQL's contrib modules, then run these statements in the database of repos as its owner",
            reason=str(error.orig).split("\n", 1)[0],
            statements=STATEMENTS,
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for name in INDEXES:
            op.execute(f"DROP INDEX IF EXISTS {name}")
        return
    for table in INDEXED:
        for change in ("insert", "update", "delete"):
            op.execute(f"DROP TRIGGER {table}_trigrams_{change}")
        op.execute(f"DROP TABLE {table}_trigrams")
