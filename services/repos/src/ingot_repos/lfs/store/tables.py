"""The tables of LFS: objects, links to repositories, and locks."""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table, UniqueConstraint

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_repos.catalog.store.tables import metadata

lfs_object = Table(
    "lfs_object",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("shard", String(60), nullable=False),
    # SHA-256 of the bytes
    Column("oid", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("shard", "oid"),
    **LASTING_IDS,
)
"""Stored LFS objects: one row per shard and object, for any number of repositories."""

lfs_link = Table(
    "lfs_link",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("object_id", ForeignKey("lfs_object.id"), primary_key=True, index=True),
    # from this time on no commit points to it
    Column("unneeded_since", UtcDateTime, nullable=True),
)
"""Links between repositories and objects. An object without links is deleted."""

lfs_user = Table(
    "lfs_user",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
)
"""Repositories that have ever had an LFS object."""

lfs_lock = Table(
    "lfs_lock",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("path", String(2000), nullable=False),
    Column("owner_id", BigInteger, nullable=False),
    Column("locked_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "path"),
    **LASTING_IDS,
)
