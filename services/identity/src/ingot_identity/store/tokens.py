"""SQL for access tokens."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, String, and_, cast, delete, func, insert, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.principal import Principal
from ingot_chassis.tables import now
from ingot_identity.store.repositories import NAMED, visible
from ingot_identity.store.tables import access_token, account, owned_repository, token_repository

USED_GRAIN = timedelta(minutes=1)


async def add(db: Executor, account_id: int, repository_ids: Collection[int] = (), **values: Any) -> int:
    """Insert a token, restricted to ``repository_ids`` if there are any; its id."""
    statement = insert(access_token).values(account_id=account_id, created_at=now(), **values)
    token_id = int((await db.execute(statement.returning(access_token.c.id))).scalar_one())
    if repository_ids:
        rows = [{"token_id": token_id, "repository_id": id_} for id_ in repository_ids]
        await db.execute(insert(token_repository), rows)
    return token_id


async def get_with_account(db: Executor, sha256: bytes) -> Row[Any] | None:
    """The account that the token belongs to unless it has expired, with ``token_id``, ``scopes`` and ``last_used_at``.

    ``confined_to`` are the ids of the repositories that it is restricted to, by comma; None without restriction.
    """
    confined_to = (
        select(func.aggregate_strings(cast(token_repository.c.repository_id, String), ","))
        .where(token_repository.c.token_id == access_token.c.id)
        .correlate(access_token)
        .scalar_subquery()
    )
    statement = (
        select(
            account,
            access_token.c.id.label("token_id"),
            access_token.c.scopes,
            access_token.c.last_used_at,
            confined_to.label("confined_to"),
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


async def repositories_of(db: Executor, token_ids: Collection[int], who: Principal) -> dict[int, list[str]]:
    """The names of what each token is restricted to, as far as ``who`` may see it; others are not in it."""
    joined = token_repository.outerjoin(
        NAMED, and_(owned_repository.c.repository_id == token_repository.c.repository_id, visible(who))
    )
    rows = await db.execute(
        select(token_repository.c.token_id, account.c.login, owned_repository.c.name)
        .select_from(joined)
        .where(token_repository.c.token_id.in_(token_ids))
        .order_by(account.c.lower_login, owned_repository.c.lower_name)
    )
    names: dict[int, list[str]] = {}
    for row in rows:
        shown = names.setdefault(row.token_id, [])
        if row.name is not None:
            shown.append(f"{row.login}/{row.name}")
    return names


async def remove(db: Executor, account_id: int, token_id: int) -> bool:
    """Delete one; False when that account has no such token."""
    deleted = await db.execute(
        delete(access_token).where(access_token.c.account_id == account_id, access_token.c.id == token_id)
    )
    return deleted.rowcount == 1


async def mark_used(db: Executor, token_id: int) -> None:
    await db.execute(update(access_token).where(access_token.c.id == token_id).values(last_used_at=now()))
