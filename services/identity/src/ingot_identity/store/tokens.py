"""SQL for access tokens."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Row, delete, func, insert, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_identity.store.tables import access_token, account

USED_GRAIN = timedelta(minutes=1)


async def add(db: Executor, account_id: int, **values: Any) -> int:
    statement = insert(access_token).values(account_id=account_id, created_at=now(), **values)
    return int((await db.execute(statement.returning(access_token.c.id))).scalar_one())


async def get_with_account(db: Executor, sha256: bytes) -> Row[Any] | None:
    """The account that the token belongs to unless it has expired, with ``token_id``, ``scopes`` and ``last_used_at``."""
    statement = (
        select(
            account, access_token.c.id.label("token_id"), access_token.c.scopes, access_token.c.last_used_at
        )
        .join(access_token, access_token.c.account_id == account.c.id)
        .where(
            access_token.c.sha256 == sha256,
            or_(access_token.c.expires_at.is_(None), access_token.c.expires_at > now()),
        )
    )
    return (await db.execute(statement)).first()


async def list_of(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Newest first."""
    mine = access_token.c.account_id == account_id
    rows = await db.execute(
        select(access_token)
        .where(mine)
        .order_by(access_token.c.id.desc())
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(access_token).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def remove(db: Executor, account_id: int, token_id: int) -> bool:
    """Delete one; False when that account has no such token."""
    deleted = await db.execute(
        delete(access_token).where(access_token.c.account_id == account_id, access_token.c.id == token_id)
    )
    return deleted.rowcount == 1


async def mark_used(db: Executor, token_id: int) -> None:
    await db.execute(update(access_token).where(access_token.c.id == token_id).values(last_used_at=now()))
