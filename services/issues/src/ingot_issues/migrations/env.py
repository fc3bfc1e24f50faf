"""Alembic's environment script for the schema of issues."""

import ingot_issues
from ingot_chassis.db.migrations import declared_tables, run_env

run_env(declared_tables(ingot_issues))
