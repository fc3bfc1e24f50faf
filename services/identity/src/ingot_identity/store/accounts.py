"""SQL for users and organizations."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, delete, false, func, literal, or_, select, true, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_chassis.security.principal import Principal
from ingot_identity.store.tables import AccountKind, AccountRow, account, email
from ingot_identity.store.two_factor_tables import two_factor


class LockMode(StrEnum):
    """What the transaction is about to do. Several may hold ``SHARE``, also while one holds ``UPDATE``."""

    SHARE = "share"
    UPDATE = "update"
    DELETION = "deletion"


async def add(db: Executor, **values: Any) -> int | None:
    """Insert an account; its id, or None when the name is taken in any letter case."""
    values = {"created_at": now(), **values, "lower_login": values["login"].lower(), "updated_at": now()}
    statement = insert(db, account).values(values).on_conflict_do_nothing().returning(account.c.id)
    return (await db.execute(statement)).scalar()


_BY_ID = PreparedQuery(
    select(account).where(account.c.id == bindparam("account_id", type_=BigId)), AccountRow
)


async def get(db: Executor, account_id: int) -> AccountRow | None:
    return await _BY_ID.first(db, account_id=account_id)


async def lock(db: Executor, account_id: int, mode: LockMode) -> AccountRow | None:
    """The account, locked until the transaction ends."""
    statement = select(account).where(account.c.id == account_id)
    return await fetch_first(
        db,
        statement.with_for_update(read=mode is LockMode.SHARE, key_share=mode is not LockMode.DELETION),
        AccountRow,
    )


_BY_LOGIN = PreparedQuery(select(account).where(account.c.lower_login == bindparam("login")), AccountRow)


async def get_by_login(db: Executor, login: str) -> AccountRow | None:
    return await _BY_LOGIN.first(db, login=login.lower())


async def list_by_id(db: Executor, account_ids: Collection[int]) -> Sequence[AccountRow]:
    return await fetch_all(db, select(account).where(account.c.id.in_(account_ids)), AccountRow)


async def get_by_email(db: Executor, address: str) -> AccountRow | None:
    """The user whose primary address it is."""
    statement = (
        select(account)
        .join(email, email.c.account_id == account.c.id)
        .where(email.c.address == address.lower(), email.c.is_primary)
    )
    return await fetch_first(db, statement, AccountRow)


async def change(db: Executor, account_id: int, **values: Any) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(updated_at=now(), **values))


async def rename(db: Executor, account_id: int, login: str) -> bool:
    """Give another name; False when it is taken in any letter case."""
    namesake = await get_by_login(db, login)
    if namesake is None:
        # An insert waits for a transaction that takes the name at the same time, and reports the conflict; an update
        # would fail with an error.
        placeholder = await add(db, kind=AccountKind.USER, login=login)
        if placeholder is None:
            return False
        await remove(db, placeholder)
    elif namesake.id != account_id:
        return False
    await change(db, account_id, login=login, lower_login=login.lower())
    return True


async def remove(db: Executor, account_id: int) -> None:
    """Delete an account with every row that belongs to it."""
    await db.execute(delete(account).where(account.c.id == account_id))


async def search_users(
    db: Executor, text: str, page: Slice, viewer: Principal, *, user_id: int = 0
) -> tuple[Sequence[AccountRow], int]:
    """Users whose name, full name or address contains ``text``, ignoring case, by name; and how many there are.

    Addresses that ``viewer`` may not see are not searched. With ``user_id`` only that one.
    """
    has_text = matching(text)
    if viewer.signed_in:
        may_see = or_(~account.c.email_private, account.c.id == viewer.id, literal(viewer.admin))
        has_text = or_(has_text, and_(account.c.email.contains(text.lower(), autoescape=True), may_see))
    matches = and_(account.c.kind == AccountKind.USER, has_text)
    if user_id:
        matches &= account.c.id == user_id
    statement = select(account).where(matches).order_by(account.c.lower_login)
    return await fetch_page(db, statement, page, AccountRow)


def matching(text: str) -> ColumnElement[bool]:
    """Accounts whose name or full name contains a text, in any case; all for an empty one."""
    pattern = text.lower()
    if not pattern:
        return true()
    return or_(
        account.c.lower_login.contains(pattern, autoescape=True),
        func.lower(account.c.full_name).contains(pattern, autoescape=True),
    )


async def mark_signed_in(db: Executor, account_id: int) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(last_login_at=now()))


class UserFilter(msgspec.Struct, frozen=True):
    """What an administrator looks for; None is any. ``text`` is a part of name, full name or address."""

    text: str = ""
    login_name: str | None = None
    admin: bool | None = None
    active: bool | None = None
    login_prohibited: bool | None = None
    two_factor: bool | None = None
    nobody: bool = False
    """Looks for users of a kind that there is not."""


SORT_COLUMNS = {
    "name": account.c.lower_login,
    "created": account.c.created_at,
    "updated": account.c.updated_at,
    "id": account.c.id,
}


async def list_users(
    db: Executor, user_filter: UserFilter, page: Slice, *, sort: str, descending: bool
) -> tuple[Sequence[AccountRow], int]:
    """Users as administrators list them; ``sort`` is a key of ``SORT_COLUMNS``."""
    matches = account.c.kind == AccountKind.USER
    if user_filter.text:
        matches &= or_(
            matching(user_filter.text), account.c.email.contains(user_filter.text.lower(), autoescape=True)
        )
    for column, value in (
        (account.c.login_name, user_filter.login_name),
        (account.c.admin, user_filter.admin),
        (account.c.active, user_filter.active),
        (account.c.login_prohibited, user_filter.login_prohibited),
    ):
        if value is not None:
            matches &= column == value
    if user_filter.two_factor is not None:
        confirmed = select(two_factor.c.account_id).where(two_factor.c.confirmed_at.is_not(None))
        has_it = account.c.id.in_(confirmed)
        matches &= has_it if user_filter.two_factor else ~has_it
    if user_filter.nobody:
        matches &= false()
    column = SORT_COLUMNS[sort]
    order = (column.desc(), account.c.id.desc()) if descending else (column, account.c.id)
    return await fetch_page(db, select(account).where(matches).order_by(*order), page, AccountRow)


async def any_administrator(db: Executor) -> bool:
    return (await db.execute(select(account.c.id).where(account.c.admin).limit(1))).first() is not None


async def lock_administrators(db: Executor) -> list[int]:
    """Ids of the administrators who may sign in; locked, so that no two transactions remove the last two."""
    ids = await db.execute(
        select(account.c.id)
        .where(account.c.admin, account.c.active, ~account.c.login_prohibited)
        .order_by(account.c.id)
        .with_for_update(key_share=True)
    )
    return list(ids.scalars())
