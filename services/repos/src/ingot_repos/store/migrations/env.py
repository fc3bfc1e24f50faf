"""Alembic's entry: the schema of repos."""

from ingot_chassis.migrations import run_env
from ingot_repos.store.tables import metadata

run_env(metadata)
