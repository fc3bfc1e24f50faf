"""count lists and name members

Triggers note each account and address that comes or goes, and write the names of users into their memberships. A batch
operation that makes the table ``account``, ``email`` or ``membership`` anew on SQLite drops its triggers. Before it the
triggers ``name_member`` and ``name_members_of_account`` have to be dropped, which name another one of these tables, and
afterwards all have to be created again.
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

LIST = "CASE {row}.kind WHEN 'user' THEN 'users' ELSE {row}.visibility || ' organizations' END"
OLD, NEW = LIST.format(row="old"), LIST.format(row="new")
INTO = "INSERT INTO list_count (list, number)"
TRIGGERS = {
    "count_account_insert": ("AFTER INSERT ON account FOR EACH ROW", f"{INTO} VALUES ({NEW}, 1);"),
    "count_account_delete": ("AFTER DELETE ON account FOR EACH ROW", f"{INTO} VALUES ({OLD}, -1);"),
    "count_account_update": (
        "AFTER UPDATE OF kind, visibility ON account FOR EACH ROW"
        " WHEN (old.kind <> new.kind OR old.visibility <> new.visibility)",
        f"{INTO} VALUES ({OLD}, -1), ({NEW}, 1);",
    ),
    "count_email_insert": ("AFTER INSERT ON email FOR EACH ROW", f"{INTO} VALUES ('emails', 1);"),
    "count_email_delete": ("AFTER DELETE ON email FOR EACH ROW", f"{INTO} VALUES ('emails', -1);"),
    "name_members_of_account": (
        "AFTER UPDATE OF lower_login ON account FOR EACH ROW WHEN (old.lower_login <> new.lower_login)",
        "UPDATE membership SET lower_login = new.lower_login WHERE user_id = new.id;",
    ),
}
"""When, and what is written: the same on both databases."""
NAME_MEMBER = "name_member"
NAME = "(SELECT lower_login FROM account WHERE account.id = {user})"
OF_MEMBER = "organization_id = new.organization_id AND user_id = new.user_id"
NAME_ON_SQLITE = (
    f"CREATE TRIGGER {NAME_MEMBER} AFTER INSERT ON membership FOR EACH ROW BEGIN"
    f" UPDATE membership SET lower_login = {NAME.format(user='new.user_id')} WHERE {OF_MEMBER}; END"
)
# The lock waits for whoever renames the user, and lets whoever comes to do so wait.
NAME_ON_POSTGRESQL = (
    "SELECT account.lower_login INTO new.lower_login FROM account WHERE account.id = new.user_id FOR KEY SHARE;"
)


def upgrade() -> None:
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    if not on_sqlite:
        # Writers wait until it is over: none comes between the triggers and what was counted.
        op.execute("LOCK TABLE account, email, membership IN SHARE ROW EXCLUSIVE MODE")
    for name, (when, statement) in TRIGGERS.items():
        if on_sqlite:
            op.execute(f"CREATE TRIGGER {name} {when} BEGIN {statement} END")
        else:
            _create_function(name, f"{statement} RETURN NULL;")
            op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    if on_sqlite:
        op.execute(NAME_ON_SQLITE)
    else:
        _create_function(NAME_MEMBER, f"{NAME_ON_POSTGRESQL} RETURN new;")
        when = "BEFORE INSERT ON membership FOR EACH ROW"
        op.execute(f"CREATE TRIGGER {NAME_MEMBER} {when} EXECUTE FUNCTION {NAME_MEMBER}()")
    op.execute(f"{INTO} SELECT {LIST.format(row='account')}, count(*) FROM account GROUP BY 1")
    op.execute(f"{INTO} SELECT 'emails', count(*) FROM email")
    op.execute(f"UPDATE membership SET lower_login = {NAME.format(user='user_id')}")  # noqa: S608


def _create_function(name: str, body: str) -> None:
    op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body} END$$")


def downgrade() -> None:
    for name in (*TRIGGERS, NAME_MEMBER):
        if op.get_bind().dialect.name == "sqlite":
            op.execute(f"DROP TRIGGER {name}")
        else:
            op.execute(f"DROP FUNCTION {name} CASCADE")
    op.execute("DELETE FROM list_count")
