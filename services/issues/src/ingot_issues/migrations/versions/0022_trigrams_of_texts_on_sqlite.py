"""trigrams of texts on SQLite

Triggers keep the indexes, which hold no texts themselves. A batch operation that makes the table ``issue`` or
``comment`` anew drops its triggers, and has to create them again.
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

INDEXED = {"issue": (("title", "body"), "1"), "comment": (("body",), "{row}.kind = 0")}
"""The columns of each table, and a condition on its rows."""


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    for table, (columns, condition) in INDEXED.items():
        index, names = f"{table}_trigrams", ", ".join(columns)
        old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("old", "new"))
        remove = f"INSERT INTO {index} ({index}, rowid, {names}) VALUES ('delete', old.id, {old});"
        add = f"INSERT INTO {index} (rowid, {names}) VALUES (new.id, {new});"
        for statement in (
            f"CREATE VIRTUAL TABLE {index} USING fts5"
            f"({names}, content='{table}', content_rowid='id', tokenize='trigram')",
            f"INSERT INTO {index} (rowid, {names}) SELECT id, {names} FROM {table}"  # noqa: S608
            f" WHERE {condition.format(row=table)}",
            f"CREATE TRIGGER {index}_insert AFTER INSERT ON {table}"
            f" WHEN {condition.format(row='new')} BEGIN {add} END",
            f"CREATE TRIGGER {index}_update AFTER UPDATE OF {names} ON {table}"
            f" WHEN {condition.format(row='new')} BEGIN {remove} {add} END",
            f"CREATE TRIGGER {index}_delete AFTER DELETE ON {table}"
            f" WHEN {condition.format(row='old')} BEGIN {remove} END",
        ):
            op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in INDEXED:
            for change in ("insert", "update", "delete"):
                op.execute(f"DROP TRIGGER {table}_trigrams_{change}")
            op.execute(f"DROP TABLE {table}_trigrams")
