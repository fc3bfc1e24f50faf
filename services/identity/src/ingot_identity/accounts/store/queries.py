"""SQL for users and organizations."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import fetch_all
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountKind, AccountRow, account


class LockMode(StrEnum):
    """The purpose of a lock. Several transactions may hold ``SHARE``, also while one holds ``UPDATE``.

    ``DELETION`` excludes all other locks.
    """

    SHARE = "share"
    UPDATE = "update"
    DELETION = "deletion"


async def add(db: Executor, **values: Any) -> int | None:
    """Insert an account and return its id; None if the name is taken in any letter case."""
    values = {"created_at": now(), **values, "lower_login": values["login"].lower(), "updated_at": now()}
    statement = insert(db, account).values(values).on_conflict_do_nothing().returning(account.c.id)
    return (await db.execute(statement)).scalar()


_BY_ID = PreparedQuery(
    select(account).where(account.c.id == bindparam("account_id", type_=BigId)), AccountRow
)


async def get(db: Executor, account_id: int) -> AccountRow | None:
    return await _BY_ID.first(db, account_id=account_id)


_LOCKED = {
    mode: PreparedQuery(
        select(account)
        .where(account.c.id == bindparam("account_id", type_=BigId))
        .with_for_update(read=mode is LockMode.SHARE, key_share=mode is not LockMode.DELETION),
        AccountRow,
    )
    for mode in LockMode
}


async def lock(db: Executor, account_id: int, mode: LockMode) -> AccountRow | None:
    """Return the account, locked until the transaction ends; None if it does not exist."""
    return await _LOCKED[mode].first(db, account_id=account_id)


_BY_LOGIN = PreparedQuery(select(account).where(account.c.lower_login == bindparam("login")), AccountRow)


async def get_by_login(db: Executor, login: str) -> AccountRow | None:
    return await _BY_LOGIN.first(db, login=login.lower())


async def list_by_id(db: Executor, account_ids: Collection[int]) -> Sequence[AccountRow]:
    return await fetch_all(db, select(account).where(account.c.id.in_(account_ids)), AccountRow)


async def change(db: Executor, account_id: int, **values: Any) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(updated_at=now(), **values))


async def rename(db: Executor, account_id: int, login: str) -> bool:
    """Rename an account. Return False if the name is taken in any letter case."""
    namesake = await get_by_login(db, login)
    if namesake is None:
        # An insert waits for a transaction that takes the same name, and reports the conflict. An update
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
    """Delete an account and all rows that belong to it."""
    await db.execute(delete(account).where(account.c.id == account_id))


async def mark_signed_in(db: Executor, account_id: int) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(last_login_at=now()))


async def any_administrator(db: Executor) -> bool:
    return (await db.execute(select(account.c.id).where(account.c.admin).limit(1))).first() is not None


_ADMINISTRATORS = (
    select(account.c.id)
    .where(account.c.admin, account.c.active, ~account.c.login_prohibited)
    .order_by(account.c.id)
)


async def administrator_ids(db: Executor) -> list[int]:
    """Return the ids of administrators who may sign in."""
    return list((await db.execute(_ADMINISTRATORS)).scalars())


async def lock_administrators(db: Executor) -> list[int]:
    """Return the ids of administrators who may sign in, locked, so the last two cannot be removed at once."""
    return list((await db.execute(_ADMINISTRATORS.with_for_update(key_share=True))).scalars())
