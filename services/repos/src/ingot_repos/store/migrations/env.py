"""Alembic's entry: the schema of repos."""

from ingot_chassis.db.migrations import run_env
from ingot_repos.store import more_tables  # noqa: F401 - its tables belong to the same metadata
from ingot_repos.store.tables import metadata

run_env(metadata)
