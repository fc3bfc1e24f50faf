"""Alembic's entry: the schema of issues."""

from ingot_chassis.db.migrations import run_env
from ingot_issues.store.tables import metadata

run_env(metadata)
