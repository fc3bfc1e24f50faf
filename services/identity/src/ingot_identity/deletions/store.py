"""SQL for remaining data of deleted accounts, and for accounts that are deleted with their repositories."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Column, Integer, String, Table, bindparam, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountKind, AccountRow, metadata

tombstone = Table(
    "departed",
    metadata,
    # What restores an account when the event of a repository arrives that was created while the account was
    # deleted.
    Column("account_id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("heir_id", BigId, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False),
)


class TombstoneRow(TypedRow):
    """A deleted account.

    ``fallback_owner_id`` (column ``heir_id``) is the user who deleted an organization; 0 for a deleted user.
    """

    account_id: int
    kind: AccountKind
    login: str
    fallback_owner_id: int


async def write(db: Executor, row: AccountRow, *, fallback_owner_id: int) -> None:
    """Store the data that a restoration of a deleted account needs."""
    await db.execute(
        insert(db, tombstone).values(
            account_id=row.id,
            kind=row.kind,
            login=row.login,
            heir_id=fallback_owner_id,
            deleted_at=now(),
        )
    )


_LOCKED = PreparedQuery(
    select(
        tombstone.c.account_id,
        tombstone.c.kind,
        tombstone.c.login,
        tombstone.c.heir_id.label("fallback_owner_id"),
    )
    .where(tombstone.c.account_id == bindparam("account_id", type_=BigId))
    .with_for_update(),
    TombstoneRow,
)


async def lock(db: Executor, account_id: int) -> TombstoneRow | None:
    """Return the tombstone, locked until the transaction ends; None if the account was not deleted."""
    return await _LOCKED.first(db, account_id=account_id)


async def release(db: Executor, account_id: int) -> None:
    """Delete the tombstone of an account that is restored."""
    await db.execute(delete(tombstone).where(tombstone.c.account_id == account_id))


purge = Table(
    "purge",
    metadata,
    # A user who is deleted with everything, and each organization without another owner.
    Column("account_id", BigId, primary_key=True, autoincrement=False),
    Column("user_id", BigId, nullable=False, index=True),
    Column("requested_by", BigId, nullable=False),
    Column("repositories", Integer, nullable=False),
    Column("requested_at", UtcDateTime, nullable=False),
)


class PurgeRow(TypedRow):
    """An account that is deleted with its repositories. ``repositories`` is the number at the start.

    ``user_id`` is the user to delete: the owner of the account, or the account itself.
    """

    account_id: int
    user_id: int
    requested_by: int
    repositories: int
    requested_at: datetime


async def add_purge(
    db: Executor, account_id: int, user_id: int, *, requested_by: int, repositories: int
) -> None:
    """Add a purge. An existing purge of the account does not change."""
    statement = insert(db, purge).values(
        account_id=account_id,
        user_id=user_id,
        requested_by=requested_by,
        repositories=repositories,
        requested_at=now(),
    )
    await db.execute(statement.on_conflict_do_nothing())


async def lock_purge(db: Executor, account_id: int) -> PurgeRow | None:
    """Return the purge of an account, locked until the transaction ends; None without a purge."""
    return await fetch_first(
        db, select(purge).where(purge.c.account_id == account_id).with_for_update(), PurgeRow
    )


async def list_purges(db: Executor, user_id: int) -> Sequence[PurgeRow]:
    """Return the purges of a user and of the user's organizations."""
    return await fetch_all(db, select(purge).where(purge.c.user_id == user_id), PurgeRow)


async def remove_purge(db: Executor, account_id: int) -> None:
    await db.execute(delete(purge).where(purge.c.account_id == account_id))
