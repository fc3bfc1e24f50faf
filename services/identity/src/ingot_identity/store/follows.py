"""SQL for who follows whom."""

from typing import Any

from sqlalchemy import Column, Row, delete, func, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_identity.store.tables import account, follow


async def add(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        insert(db, follow).values(follower_id=follower_id, followed_id=followed_id).on_conflict_do_nothing()
    )


async def remove(db: Executor, follower_id: int, followed_id: int) -> None:
    await db.execute(
        delete(follow).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )


async def exists(db: Executor, follower_id: int, followed_id: int) -> bool:
    found = await db.execute(
        select(follow.c.id).where(follow.c.follower_id == follower_id, follow.c.followed_id == followed_id)
    )
    return found.first() is not None


async def followers_of(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Accounts that follow, in the order in which they began."""
    return await _accounts(db, follow.c.followed_id, account_id, follow.c.follower_id, page)


async def followed_by(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Accounts that are followed, in the order in which that began."""
    return await _accounts(db, follow.c.follower_id, account_id, follow.c.followed_id, page)


async def _accounts(
    db: Executor, mine: Column[Any], account_id: int, theirs: Column[Any], page: Page
) -> tuple[list[Row[Any]], int]:
    rows = await db.execute(
        select(account)
        .join(follow, theirs == account.c.id)
        .where(mine == account_id)
        .order_by(follow.c.id)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(follow).where(mine == account_id))
    return list(rows.all()), int(total.scalar_one())
