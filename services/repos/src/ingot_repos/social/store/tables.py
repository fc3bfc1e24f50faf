"""The tables of stars and watches: user, repository and time."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.catalog.store.tables import metadata

star = Table(
    "star",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_star_user_id", "user_id"),
    Index("ix_star_listed", "repository_id", "created_at", "user_id"),
)

watch = Table(
    "watch",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_watch_user_id", "user_id"),
    Index("ix_watch_listed", "repository_id", "created_at", "user_id"),
)
