"""A release may only expand the schema of the release before it, because its processes still use the schema.

CONTRIBUTING.md has the rule under "A migration". It holds for all code that the schema allows. The tests
compare two databases: one made by the old code, and one with the later migrations.
"""

from collections.abc import Collection

import alembic.command
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect

from ingot_chassis.db.migrations import OLDEST_CODE
from ingot_standalone.schemas import SCHEMAS

LAST_RELEASE = {"identity": "0011", "repos": "0018", "issues": "0017", "hooks": "0006"}
"""The newest revision of each service in the last release; a new release writes its own here."""
FIRST_THAT_ASKS = {"identity": "0014", "repos": "0031", "issues": "0025", "hooks": "0007"}
"""Older code refuses every newer database, whatever that says."""
LOOSER = {("oauth2_application", "account_id")}
"""Columns that may be null now. Rows with null are of the server: older code shows none of them."""


def oldest_code(service: str) -> str:
    """The newest revision of the oldest code that starts on the newest schema."""
    chain = ScriptDirectory(str(SCHEMAS[service])).walk_revisions()
    return max(getattr(script.module, OLDEST_CODE, FIRST_THAT_ASKS[service]) for script in chain)


def migrate(engine: Engine, service: str, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(SCHEMAS[service]))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, revision)
        connection.commit()


def columns(engine: Engine) -> dict[tuple[str, str], tuple[str, bool, bool]]:
    """By table and name: type, whether it may be null, and whether a row may be added without it."""
    looked = inspect(engine)
    return {
        (table, column["name"]): (
            str(column["type"]),
            column["nullable"],
            column["nullable"] or column["default"] is not None,
        )
        for table in looked.get_table_names()
        if "_trigrams" not in table
        for column in looked.get_columns(table)
    }


def demands(
    engine: Engine, tables: Collection[str], left_null: Collection[tuple[str, str]] = ()
) -> set[tuple[str, str]]:
    """Return the constraints that rows of these tables must keep, in words.

    A unique constraint with a column that older code leaves null is none: null is never a duplicate.
    """
    looked = inspect(engine)
    constraints = set()
    for table in tables:
        constraints |= {(table, f"check {one['sqltext']}") for one in looked.get_check_constraints(table)}
        indexes = [one for one in looked.get_indexes(table) if one["unique"]]
        constraints |= {
            (table, f"unique {one['column_names']}")
            for one in (*looked.get_unique_constraints(table), *indexes)
            if all((table, name) not in left_null for name in one["column_names"])
        }
        constraints |= {
            (table, f"key {one['constrained_columns']} of {one['referred_table']}")
            for one in looked.get_foreign_keys(table)
        }
    return constraints


@pytest.mark.parametrize("service", LAST_RELEASE)
def test_the_last_release_may_run_on_the_newest_schema(service):
    assert oldest_code(service) <= max(LAST_RELEASE[service], FIRST_THAT_ASKS[service])


@pytest.mark.parametrize("service", LAST_RELEASE)
@pytest.mark.parametrize("age", ["the last release", "the oldest code"])
def test_older_processes_can_go_on_after_the_migration(service, age):
    engine = create_engine("sqlite://")
    migrate(engine, service, LAST_RELEASE[service] if age == "the last release" else oldest_code(service))
    before = columns(engine)
    tables = {table for table, _ in before}
    demanded = demands(engine, tables)
    migrate(engine, service, "head")
    after = columns(engine)

    assert before.keys() <= after.keys(), f"{age} reads and writes what was dropped"
    changed = {name for name, column in before.items() if after[name] != column}
    assert changed == LOOSER & before.keys(), f"{age} writes these as they were"
    required = {name for name in after.keys() - before.keys() if name[0] in tables and not after[name][2]}
    assert not required, f"{age} adds rows without these"
    left_null = {name for name in after.keys() - before.keys() if after[name][1]}
    assert not demands(engine, tables, left_null) - demanded, f"{age} does not keep these"
    engine.dispose()
