"""The tables that a service declares are the ones that its migrations make."""

import asyncio
import importlib

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from ingot_chassis.db.migrations import declared_tables, is_compared, pending, revisions, upgrade
from ingot_standalone.schemas import SCHEMAS

WITH_DATABASE = ("identity", "repos", "issues", "hooks", "mail")


@pytest.fixture(params=WITH_DATABASE)
def migrated(request, tmp_path):
    """A service's declared tables, and an engine on a new database with its migrations applied."""
    scripts = SCHEMAS[request.param]
    url = f"sqlite+aiosqlite:///{tmp_path}/x.db"
    asyncio.run(upgrade(url, scripts))
    assert not asyncio.run(pending(url, scripts))
    engine = create_engine(f"sqlite:///{tmp_path}/x.db")
    yield declared_tables(importlib.import_module(f"ingot_{request.param}")), engine
    engine.dispose()


@pytest.mark.parametrize("service", WITH_DATABASE)
def test_the_name_of_a_migration_begins_with_its_revision(service):
    """The age of a database is told by these names."""
    scripts = SCHEMAS[service]
    by_alembic = [script.revision for script in ScriptDirectory(str(scripts)).walk_revisions()]
    assert revisions(scripts) == by_alembic[::-1]


def test_migrations_make_the_declared_tables(migrated):
    metadata, engine = migrated
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_name": is_compared}
        )
        assert compare_metadata(context, metadata) == []


def test_the_id_of_a_deleted_row_is_never_given_again(migrated):
    """By default SQLite reuses the id of a deleted last row. The new row would get its permissions.

    The test reads the database itself, because a migration that copies a table loses unnamed properties.
    """
    metadata, engine = migrated
    with engine.connect() as connection:
        columns = dict(
            connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")).all()
        )
    reusing = [
        table.name
        for table in metadata.tables.values()
        if table.autoincrement_column is not None
        and table.autoincrement_column.autoincrement is True
        and "AUTOINCREMENT" not in columns[table.name]
    ]
    assert not reusing


def test_a_new_database_needs_no_change_of_its_journal(migrated):
    """A connection that changes the journal mode is rejected while others open, as they do when a process
    starts."""
    _, engine = migrated
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
