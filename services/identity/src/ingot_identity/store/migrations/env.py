"""Alembic's entry: the schema of identity."""

from ingot_chassis.migrations import run_env
from ingot_identity.store.tables import metadata

run_env(metadata)
