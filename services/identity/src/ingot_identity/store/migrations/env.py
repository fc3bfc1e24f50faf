"""Alembic's entry: the schema of identity."""

from ingot_chassis.db.migrations import run_env
from ingot_identity.store import count_tables, key_tables, oauth2_tables, two_factor_tables  # noqa: F401 - their tables are part of the schema
from ingot_identity.store.tables import metadata

run_env(metadata)
