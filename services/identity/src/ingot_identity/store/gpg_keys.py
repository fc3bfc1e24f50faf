"""SQL for OpenPGP keys: a primary key and its subkeys are rows of one table."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, or_, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_identity.store.tables import account, email, gpg_key


async def add(db: Executor, account_id: int, keys: Sequence[dict[str, Any]]) -> int:
    """Insert keys; how many of them nobody had yet."""
    statement = insert(db, gpg_key).values([{"account_id": account_id, **key} for key in keys])
    return len((await db.execute(statement.on_conflict_do_nothing().returning(gpg_key.c.id))).all())


async def get(db: Executor, id_: int) -> Row[Any] | None:
    """The primary key of that id."""
    return (
        await db.execute(select(gpg_key).where(gpg_key.c.id == id_, gpg_key.c.primary_key_id == ""))
    ).first()


async def get_by_key_id(db: Executor, key_id: str) -> Row[Any] | None:
    return (await db.execute(select(gpg_key).where(gpg_key.c.key_id == key_id))).first()


async def list_of(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Primary keys in the order in which they were added."""
    mine: ColumnElement[bool] = (gpg_key.c.account_id == account_id) & (gpg_key.c.primary_key_id == "")
    rows = await db.execute(
        select(gpg_key).where(mine).order_by(gpg_key.c.id).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(gpg_key).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def subkeys_of(db: Executor, key_ids: Collection[str]) -> list[Row[Any]]:
    rows = await db.execute(
        select(gpg_key).where(gpg_key.c.primary_key_id.in_(key_ids)).order_by(gpg_key.c.id)
    )
    return list(rows.all())


async def addresses_of(db: Executor, account_ids: Collection[int], seen_by: int) -> set[tuple[int, str]]:
    """(account, address) of all addresses of those accounts; of who hides theirs only if they ask themselves."""
    rows = await db.execute(
        select(email.c.account_id, email.c.address)
        .join(account, account.c.id == email.c.account_id)
        .where(email.c.account_id.in_(account_ids), or_(~account.c.email_private, account.c.id == seen_by))
    )
    return {(row.account_id, row.address) for row in rows}


async def remove(db: Executor, key_id: str) -> None:
    """Delete a primary key and its subkeys."""
    await db.execute(
        delete(gpg_key).where(or_(gpg_key.c.key_id == key_id, gpg_key.c.primary_key_id == key_id))
    )
