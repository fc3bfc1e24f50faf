"""The table of replicas: copies of repositories on other shards than their own, for reading."""

from sqlalchemy import BigInteger, Boolean, Column, Integer, String, Table, Text

from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.store.tables import metadata

replica = Table(
    "replica",
    metadata,
    # No foreign key: the row stays until the shard has removed the files.
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("shard", String(60), primary_key=True, index=True),
    # An operator does not want it any more.
    Column("obsolete", Boolean, nullable=False),
    # What the repository had when it was copied last; null: it was not copied yet.
    Column("ref_version", BigInteger),
    Column("default_branch", String(255), nullable=False, default=""),
    # Stands in a file of the copy as well: another copy, such as one out of a backup, is not the one that is meant.
    Column("stamp", String(32), nullable=False, default=""),
    Column("error", Text, nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
    # Nobody looks at it before.
    Column("due_at", UtcDateTime, nullable=False),
)
