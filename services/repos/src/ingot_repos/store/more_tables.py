"""More tables of repos: LFS, how each repository is looked after, what pushes propose, and variables of Actions."""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table, Text, UniqueConstraint

from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_repos.store.tables import metadata

lfs_object = Table(
    "lfs_object",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("shard", String(60), nullable=False),
    # The SHA-256 of its bytes.
    Column("oid", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("shard", "oid"),
    sqlite_autoincrement=True,
)
"""Bytes that LFS stores: once on each shard, however many repositories have them."""

lfs_link = Table(
    "lfs_link",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("object_id", ForeignKey("lfs_object.id"), primary_key=True, index=True),
)
"""Which repository has which object. One that none has is freed."""

lfs_lock = Table(
    "lfs_lock",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("path", String(2000), nullable=False),
    Column("owner_id", BigInteger, nullable=False),
    Column("locked_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "path"),
    sqlite_autoincrement=True,
)

upkeep = Table(
    "upkeep",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The ref_version of the repository when its packs were last made.
    Column("packed_version", BigInteger, nullable=False, default=0),
    Column("packed_at", UtcDateTime),
    # When objects that no ref needs may be removed; NULL while there are none.
    Column("prune_at", UtcDateTime, index=True),
    Column("checked_at", UtcDateTime, index=True),
    # What git said of its objects; empty: they are sound.
    Column("damage", Text, nullable=False, default=""),
)
"""When each repository was packed and checked last."""

proposal = Table(
    "proposal",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("account_id", BigInteger, nullable=False),
    Column("base_branch", String(255), nullable=False),
    Column("topic", String(200), nullable=False),
    # The pull request that issues opened last, and its head when issues last compared it; 0 and empty before.
    Column("number", BigInteger, nullable=False, default=0),
    Column("compared_sha", String(40), nullable=False, default=""),
    UniqueConstraint("repository_id", "account_id", "base_branch", "topic"),
    sqlite_autoincrement=True,
)
"""What somebody pushes to ``refs/for/``. The commits are at ``refs/scratch/proposals/<id>``."""

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
