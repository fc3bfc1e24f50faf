"""Tables of the shards of repositories, and tables that prevent moves.

``push`` is the journal, which the subject `pushes` writes. ``tombstone`` has the deleted repositories, which
the subject `repositories` writes. Both tables are here because a copy or move reads them first.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    false,
    true,
)

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_repos.catalog.store.tables import metadata

push = Table(
    "push",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("user_id", BigInteger, nullable=False),
    Column("refs", Text, nullable=False),
    Column("merged_pull", BigInteger, nullable=False, default=0),
    Column("confined", Boolean, nullable=False, server_default=false()),
    Column("options", Text, nullable=False, server_default="[]"),
    Column("moves_refs", Boolean, nullable=False, server_default=true()),
    Column("imported", Boolean, nullable=False, server_default=false()),
    Column("lease_until", UtcDateTime, nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)

tombstone = Table(
    "tombstone",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("shard", String(60), nullable=False),
    Column("awaited", String(200), nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False, index=True),
)
"""Deleted repositories. Their files stay until the ``awaited`` services have confirmed the deletion."""

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
    # Is in a file of the copy, too. A copy with another stamp, such as one from a backup, does not count.
    Column("stamp", String(32), nullable=False, default=""),
    Column("error", Text, nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
    # The next examination.
    Column("due_at", UtcDateTime, nullable=False),
)

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
