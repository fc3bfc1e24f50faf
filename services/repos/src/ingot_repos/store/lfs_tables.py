"""The tables of LFS: bytes, who has them, and locks of paths."""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table, UniqueConstraint

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
    # Since then no commit has been found to point to it.
    Column("unneeded_since", UtcDateTime, nullable=True),
)
"""Which repository has which object. One that none has is freed."""

lfs_user = Table(
    "lfs_user",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
)
"""The repositories that have had an object, whatever became of it."""

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
