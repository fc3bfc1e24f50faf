"""Alembic's entry: the schema of repos."""

from ingot_chassis.db.migrations import run_env
from ingot_repos.store import (  # noqa: F401 - their tables belong to the same metadata
    action_tables,
    count_tables,
    lfs_tables,
    load_tables,
    proposal_tables,
    replica_tables,
    shard_tables,
    star_tables,
    upkeep_tables,
)
from ingot_repos.store.tables import metadata

run_env(metadata)
