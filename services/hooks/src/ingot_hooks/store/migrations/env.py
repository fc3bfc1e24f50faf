"""Alembic's entry: the schema of hooks."""

from ingot_chassis.db.migrations import run_env
from ingot_hooks.store.tables import metadata

run_env(metadata)
