"""SQL for follows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.follows import follow
from ingot_identity.accounts.store.tables import AccountRow, account


async def add(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        insert(db, follow).values(follower_id=follower_id, followed_id=followed_id).on_conflict_do_nothing()
    )


async def remove(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        delete(follow).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )


async def exists(db: Executor, follower_id: int, followed_id: int) -> bool:
    rows = await db.execute(
        select(follow.c.id).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )
    return rows.first() is not None


async def list_followers(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the followers of an account, earliest follower first."""
    return await _accounts(db, follow.c.followed_id, account_id, follow.c.follower_id, page)


async def list_following(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the accounts that an account follows, earliest follow first."""
    return await _accounts(db, follow.c.follower_id, account_id, follow.c.followed_id, page)


async def _accounts(
    db: Executor, own: Column[Any], account_id: int, others: Column[Any], page: Slice
) -> tuple[Sequence[AccountRow], int]:
    statement = select(account).join(follow, others == account.c.id)
    ids = select(follow.c.id).where(own == account_id)
    return await fetch_page(db, statement, page, AccountRow, follow.c.id, ids=ids)
