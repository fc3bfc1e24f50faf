"""The tables of topics, which are listed and searched for."""

from sqlalchemy import Column, ForeignKey, String, Table

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_repos.catalog.store.tables import metadata

topic = Table(
    "topic",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("name", String(35), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)

repository_topic = Table(
    "repository_topic",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True, index=True),
)
