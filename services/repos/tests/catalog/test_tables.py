"""The tables, and what migrations leave to others."""

import alembic.command
import pytest
from alembic.config import Config
from sqlalchemy import create_engine, text

from ingot_repos.migrations import SCRIPTS

REQUIRED = {
    "owner_id": 1, "lower_name": "x", "description": "", "website": "", "private": False, "empty": False,
    "mirror": False, "default_branch": "main", "size": 0, "stars_count": 0, "forks_count": 0,
    "watchers_count": 0, "open_issues_count": 0, "state": "ready", "shard": "default", "ref_version": 0,
    "created_at": "2026-01-01 00:00:00.000000", "updated_at": "2026-01-02 00:00:00.000000",
}  # fmt: skip


def migrate(connection, revision):
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, revision)


def add(connection, table, **values):
    names = ", ".join(values)
    parameters = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({parameters})"), values)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
def test_no_row_is_written_while_the_migration_of_the_counts_locks_the_table(database_backend):
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        migrate(connection, "0022")
        for number, archived in ((1, False), (2, True)):
            add(connection, "repository", **REQUIRED | {"id": number, "name": f"r{number}",
                                                        "archived": archived,
                                                        "lower_name": f"r{number}"})  # fmt: skip
        migrate(connection, "0023")
        columns = "id, branch_count, licenses, archived_at"
        rows = connection.execute(text(f"SELECT {columns} FROM repository ORDER BY id")).all()
        assert [tuple(row) for row in rows] == [(1, None, None, None), (2, None, None, None)]
    engine.dispose()
