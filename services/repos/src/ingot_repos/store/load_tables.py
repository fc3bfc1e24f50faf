"""The table of how much git clients ask of each repository."""

from sqlalchemy import Column, ForeignKey, Integer, Table

from ingot_repos.store.tables import metadata

repository_load = Table(
    "repository_load",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The last day with requests of git clients, counted from 1970-01-01 in UTC.
    Column("day", Integer, nullable=False),
    # How many on that day, and on the day before it.
    Column("requests", Integer, nullable=False),
    Column("requests_before", Integer, nullable=False),
)
