"""The table of variables of Actions."""

from sqlalchemy import Column, ForeignKey, String, Table, Text, UniqueConstraint

from ingot_chassis.db.tables import BigId
from ingot_repos.store.tables import metadata

action_variable = Table(
    "action_variable",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    # In capital letters.
    Column("name", String(255), nullable=False),
    Column("value", Text, nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("repository_id", "name"),
    sqlite_autoincrement=True,
)
