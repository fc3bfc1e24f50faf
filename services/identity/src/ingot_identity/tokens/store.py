"""SQL for access tokens."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    Text,
    and_,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.store.tables import AccountRow, account, metadata
from ingot_identity.repositories.store import owned_repository, visible

access_token = Table(
    "access_token",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(255), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False, unique=True),
    Column("last_eight", String(8), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    **LASTING_IDS,
)


class TokenRow(TypedRow):
    id: int
    account_id: int
    name: str
    last_eight: str
    scopes: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


token_repository = Table(
    "token_repository",
    metadata,
    # What a token is restricted to. A row outlives its repository: a token without rows is not restricted.
    Column("token_id", ForeignKey("access_token.id", ondelete="CASCADE"), primary_key=True),
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
)


class TokenHolderRow(AccountRow):
    """The account that owns a token, and the token.

    ``restricted_to`` has the ids of the repositories that the token is restricted to, separated by commas;
    None without restriction.
    """

    token_id: int
    scopes: str
    last_used_at: datetime | None
    restricted_to: str | None


class TokenRepositoryRow(TypedRow):
    """A repository to which a token is restricted. ``login`` is None if the principal may not see it."""

    token_id: int
    login: str | None
    name: str | None


async def add(db: Executor, account_id: int, repository_ids: Collection[int] = (), **values: Any) -> int:
    """Insert a token. Return its id. ``repository_ids`` restrict it, if there are any."""
    statement = insert(access_token).values(account_id=account_id, created_at=now(), **values)
    token_id = int((await db.execute(statement.returning(access_token.c.id))).scalar_one())
    if repository_ids:
        rows = [{"token_id": token_id, "repository_id": id_} for id_ in repository_ids]
        await db.execute(insert(token_repository), rows)
    return token_id


async def get_holder(db: Executor, *, sha256: bytes = b"", token_id: int = 0) -> TokenHolderRow | None:
    """Return the account of a token, found by digest or id. None if missing or expired."""
    restricted_to = (
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
            restricted_to.label("restricted_to"),
        )
        .join(access_token, access_token.c.account_id == account.c.id)
        .where(
            access_token.c.sha256 == sha256 if sha256 else access_token.c.id == token_id,
            or_(access_token.c.expires_at.is_(None), access_token.c.expires_at > now()),
        )
    )
    return await fetch_first(db, statement, TokenHolderRow)


async def list_page(db: Executor, account_id: int, page: Slice) -> tuple[Sequence[TokenRow], int]:
    """Return a page of the tokens of an account, latest first."""
    statement = select(access_token).where(access_token.c.account_id == account_id)
    return await fetch_page(db, statement, page, TokenRow, access_token.c.id.desc())


async def get(db: Executor, account_id: int, token_id: int) -> TokenRow | None:
    statement = select(access_token).where(
        access_token.c.account_id == account_id, access_token.c.id == token_id
    )
    return await fetch_first(db, statement, TokenRow)


async def list_ids_by_name(db: Executor, account_id: int, name: str, *, limit: int) -> list[int]:
    statement = select(access_token.c.id).where(
        access_token.c.account_id == account_id, access_token.c.name == name
    )
    return list((await db.execute(statement.order_by(access_token.c.id).limit(limit))).scalars())


async def repositories_of(
    db: Executor, token_ids: Collection[int], principal: Principal
) -> dict[int, list[str]]:
    """Return the names of each token's repositories that ``principal`` may see.

    Tokens without restriction are omitted.
    """
    # One after the other: SQLite would make the whole table of a join inside of one.
    joined = token_repository.outerjoin(
        owned_repository, owned_repository.c.repository_id == token_repository.c.repository_id
    ).outerjoin(account, and_(account.c.id == owned_repository.c.owner_id, visible(principal)))
    statement = (
        select(token_repository.c.token_id, account.c.login, owned_repository.c.name)
        .select_from(joined)
        .where(token_repository.c.token_id.in_(token_ids))
        .order_by(account.c.lower_login, owned_repository.c.lower_name)
    )
    names: dict[int, list[str]] = {}
    for row in await fetch_all(db, statement, TokenRepositoryRow):
        shown = names.setdefault(row.token_id, [])
        if row.login is not None:
            shown.append(f"{row.login}/{row.name}")
    return names


async def remove(db: Executor, account_id: int, token_id: int) -> bool:
    """Delete a token. Return False if the account has no such token."""
    deleted = await db.execute(
        delete(access_token).where(access_token.c.account_id == account_id, access_token.c.id == token_id)
    )
    return deleted.rowcount == 1


async def mark_used(db: Executor, token_id: int) -> None:
    await db.execute(update(access_token).where(access_token.c.id == token_id).values(last_used_at=now()))
