"""The table of shards. One that nobody added, and that a process serves, takes repositories as well."""

from sqlalchemy import CheckConstraint, Column, String, Table

from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.store.tables import metadata

shard = Table(
    "shard",
    metadata,
    Column("name", String(60), primary_key=True),
    # Of the processes that serve it; empty: INGOT_REPOS_SHARDS has it.
    Column("url", String(500), nullable=False, default=""),
    # Only an active shard gets new repositories.
    Column("state", String(10), nullable=False),
    Column("added_at", UtcDateTime, nullable=False),
    CheckConstraint("state IN ('active', 'draining', 'removed')", name="state"),
)
