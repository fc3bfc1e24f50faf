"""how many repositories there are

Triggers note each repository that comes, goes or changes its kind. A batch operation that makes the table ``repository``
or ``account`` anew on SQLite drops its triggers, and has to create them again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

INTO = "INSERT INTO repository_count (visibility, private, number)"
COUNTED = "count(*) FROM repository WHERE state <> 'creating' AND owner_id"
OF_REPOSITORY = "FROM account WHERE id = {row}.owner_id AND {row}.state <> 'creating'"
GONE = f"SELECT visibility, old.private, -1 {OF_REPOSITORY.format(row='old')}"
HERE = f"SELECT visibility, new.private, 1 {OF_REPOSITORY.format(row='new')}"
OTHER_KIND = (
    "old.private <> new.private OR old.owner_id <> new.owner_id"
    " OR (old.state = 'creating') <> (new.state = 'creating')"
)
FORMER = f"SELECT old.visibility, private, -{COUNTED} = old.id GROUP BY private"
PRESENT = f"SELECT new.visibility, private, {COUNTED} = new.id GROUP BY private"
ROWS = {
    "repository_update": (
        f"AFTER UPDATE OF private, owner_id, state ON repository FOR EACH ROW WHEN ({OTHER_KIND})",
        f"{INTO} {GONE} UNION ALL {HERE};",
    ),
    "account_insert": ("AFTER INSERT ON account FOR EACH ROW", f"{INTO} {PRESENT};"),
    "account_update": (
        "AFTER UPDATE OF visibility ON account FOR EACH ROW WHEN (old.visibility <> new.visibility)",
        f"{INTO} {FORMER} UNION ALL {PRESENT};",
    ),
}
"""When, and what is noted: the same on both databases."""
SINGLE = {
    "repository_insert": ("AFTER INSERT ON repository FOR EACH ROW", f"{INTO} {HERE};"),
    "repository_delete": ("AFTER DELETE ON repository FOR EACH ROW", f"{INTO} {GONE};"),
}
MANY = "SELECT visibility, private, {sign}count(*) FROM changed JOIN account ON account.id = owner_id"
MANY += " WHERE state <> 'creating' GROUP BY visibility, private"
TOGETHER = {
    "repository_insert": (
        "AFTER INSERT ON repository REFERENCING NEW TABLE AS changed FOR EACH STATEMENT",
        f"{INTO} {MANY.format(sign='')};",
    ),
    "repository_delete": (
        "AFTER DELETE ON repository REFERENCING OLD TABLE AS changed FOR EACH STATEMENT",
        f"{INTO} {MANY.format(sign='-')};",
    ),
}
"""PostgreSQL can note at once what one statement adds."""


def upgrade() -> None:
    op.create_table(
        "repository_count",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("visibility", sa.String(length=10), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repository_count")),
        sqlite_autoincrement=True,
    )
    if op.get_bind().dialect.name == "sqlite":
        for name, (when, statement) in (ROWS | SINGLE).items():
            op.execute(f"CREATE TRIGGER count_{name} {when} BEGIN {statement} END")
    else:
        # Writers wait until it is over: none comes between the triggers and what was counted.
        op.execute("LOCK TABLE repository, account IN SHARE ROW EXCLUSIVE MODE")
        for name, (when, statement) in (ROWS | TOGETHER).items():
            body = f"BEGIN {statement} RETURN NULL; END"
            op.execute(f"CREATE FUNCTION count_{name}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
            op.execute(f"CREATE TRIGGER count_{name} {when} EXECUTE FUNCTION count_{name}()")
    op.execute(
        f"{INTO} SELECT visibility, private, count(*) FROM repository JOIN account ON account.id = owner_id"
        " WHERE state <> 'creating' GROUP BY visibility, private"
    )


def downgrade() -> None:
    for name in ROWS | SINGLE:
        if op.get_bind().dialect.name == "sqlite":
            op.execute(f"DROP TRIGGER count_{name}")
        else:
            op.execute(f"DROP FUNCTION count_{name} CASCADE")
    op.drop_table("repository_count")
