"""SQL for the addresses of users. One of them is the primary one, which the account row repeats."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, delete, func, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_identity.store.tables import email


async def add(db: Executor, account_id: int, addresses: Sequence[str], *, is_primary: bool) -> list[Row[Any]]:
    """Insert addresses (lower-case); the rows of those that nobody has yet."""
    statement = (
        insert(db, email)
        .values(
            [
                {"account_id": account_id, "address": address, "is_primary": is_primary, "verified": True}
                for address in addresses
            ]
        )
        .on_conflict_do_nothing()
        .returning(email)
    )
    return list((await db.execute(statement)).all())


async def list_of(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """The primary one first, then in the order in which they were added."""
    mine = email.c.account_id == account_id
    rows = await db.execute(
        select(email)
        .where(mine)
        .order_by(email.c.is_primary.desc(), email.c.id)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(email).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def among(db: Executor, account_id: int, addresses: Collection[str]) -> list[Row[Any]]:
    """Those of ``addresses`` that the account has."""
    rows = await db.execute(
        select(email).where(email.c.account_id == account_id, email.c.address.in_(addresses))
    )
    return list(rows.all())


async def mark_primary(db: Executor, account_id: int, address: str) -> None:
    """Let ``address`` be the primary one of those that the account has."""
    mine = update(email).where(email.c.account_id == account_id)
    await db.execute(mine.values(is_primary=email.c.address == address))


async def remove(db: Executor, account_id: int, addresses: Collection[str]) -> None:
    await db.execute(delete(email).where(email.c.account_id == account_id, email.c.address.in_(addresses)))


async def remove_primary(db: Executor, account_id: int) -> None:
    await db.execute(delete(email).where(email.c.account_id == account_id, email.c.is_primary))
