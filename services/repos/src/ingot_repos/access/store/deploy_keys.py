"""The table of deploy keys, and its SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    select,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import account, metadata

deploy_key = Table(
    "deploy_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("title", String(255), nullable=False),
    Column("content", Text, nullable=False),
    Column("fingerprint", String(60), nullable=False),
    Column("read_only", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("creator_id", BigInteger, index=True),
    UniqueConstraint("repository_id", "fingerprint"),
    UniqueConstraint("repository_id", "title"),
    Index("deploy_key_fingerprint", "fingerprint"),
    **LASTING_IDS,
)


class DeployKeyRow(TypedRow):
    """A deploy key. The creator of an old key is not known."""

    id: int
    repository_id: int
    title: str
    content: str
    fingerprint: str
    read_only: bool
    created_at: datetime
    creator_id: int | None


class KeyFilter(msgspec.Struct, frozen=True):
    """A filter for lists of keys. None matches any key."""

    key_id: int | None = None
    fingerprint: str | None = None


async def add(tx: Executor, **values: Any) -> DeployKeyRow | None:
    """Insert a key. Return None if the repository already has this key or this title."""
    statement = insert(tx, deploy_key).values(created_at=now(), **values).on_conflict_do_nothing()
    return await fetch_first(tx, statement.returning(deploy_key), DeployKeyRow)


async def get(db: Executor, repository_id: int, key_id: int) -> DeployKeyRow | None:
    statement = select(deploy_key).where(
        deploy_key.c.repository_id == repository_id, deploy_key.c.id == key_id
    )
    return await fetch_first(db, statement, DeployKeyRow)


async def get_opening(db: Executor, repository_id: int, fingerprint: str) -> DeployKeyRow | None:
    """Return the key of a repository with this fingerprint, or None."""
    statement = select(deploy_key).where(
        deploy_key.c.repository_id == repository_id, deploy_key.c.fingerprint == fingerprint
    )
    return await fetch_first(db, statement, DeployKeyRow)


async def list_by_creator(db: Executor, fingerprint: str, limit: int) -> Sequence[DeployKeyRow]:
    """List the keys with this fingerprint in all repositories, the first one of each creator.

    Keys whose creator may not sign in, by the local copies of accounts, come last. So ``limit`` omits them
    first.
    """
    firsts = (
        select(func.min(deploy_key.c.id))
        .where(deploy_key.c.fingerprint == fingerprint)
        .group_by(deploy_key.c.creator_id)
    )
    is_valid = func.coalesce(account.c.active, deploy_key.c.creator_id.is_(None))
    statement = (
        select(deploy_key)
        .outerjoin(account, account.c.id == deploy_key.c.creator_id)
        .where(deploy_key.c.id.in_(firsts))
        .order_by(is_valid.desc(), deploy_key.c.id)
    )
    return await fetch_all(db, statement.limit(limit), DeployKeyRow)


async def list_page(
    db: Executor, repository_id: int, key_filter: KeyFilter, page: Slice
) -> tuple[Sequence[DeployKeyRow], int]:
    """List keys of a repository in the order in which they were added."""
    statement = select(deploy_key).where(deploy_key.c.repository_id == repository_id)
    if key_filter.key_id is not None:
        statement = statement.where(deploy_key.c.id == key_filter.key_id)
    if key_filter.fingerprint is not None:
        statement = statement.where(deploy_key.c.fingerprint == key_filter.fingerprint)
    return await fetch_page(db, statement, page, DeployKeyRow, deploy_key.c.id)


class _FingerprintRow(TypedRow):
    """The fingerprint of a key."""

    fingerprint: str


async def fingerprints_of(db: Executor, repository_id: int) -> set[str]:
    statement = select(deploy_key.c.fingerprint).where(deploy_key.c.repository_id == repository_id)
    return {row.fingerprint for row in await fetch_all(db, statement, _FingerprintRow)}


async def list_first(db: Executor, repository_id: int, limit: int) -> Sequence[DeployKeyRow]:
    """Return the ``limit`` oldest keys of a repository, oldest first."""
    statement = select(deploy_key).where(deploy_key.c.repository_id == repository_id)
    return await fetch_all(db, statement.order_by(deploy_key.c.id).limit(limit), DeployKeyRow)


async def remove(db: Executor, repository_id: int, key_id: int) -> None:
    await db.execute(
        delete(deploy_key).where(deploy_key.c.repository_id == repository_id, deploy_key.c.id == key_id)
    )


async def remove_all_of(db: Executor, creator_id: int) -> None:
    """Remove the keys that a user added, from all repositories."""
    await db.execute(delete(deploy_key).where(deploy_key.c.creator_id == creator_id))
