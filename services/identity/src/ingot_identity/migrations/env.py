"""Alembic's environment script for the schema of identity."""

import ingot_identity
from ingot_chassis.db.migrations import declared_tables, run_env

run_env(declared_tables(ingot_identity))
