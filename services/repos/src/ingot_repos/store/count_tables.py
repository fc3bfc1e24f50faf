"""The table of how many repositories there are. Triggers write it (migration 0030), so no list has to count them."""

from sqlalchemy import BigInteger, Boolean, Column, String, Table

from ingot_chassis.db.tables import BigId
from ingot_repos.store.tables import metadata

repository_count = Table(
    "repository_count",
    metadata,
    # Several rows of one kind, to be added up: were there one, all who create repositories would wait for its lock.
    Column("id", BigId, primary_key=True, autoincrement=True),
    # Of the owner.
    Column("visibility", String(10), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("number", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
