"""SQL for the copies of accounts."""

from typing import Any

from sqlalchemy import Row, delete, select

from ingot_chassis.database import Executor, insert
from ingot_contracts.identity import Account
from ingot_issues.store.tables import account


async def save(db: Executor, copied: Account) -> None:
    """Insert or renew the copy of one account."""
    values = _values(copied)
    statement = insert(db, account).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def add_missing(db: Executor, copied: Account) -> None:
    """Insert a copy, unless there is one: an event that came meanwhile knows better."""
    await db.execute(insert(db, account).values(_values(copied)).on_conflict_do_nothing())


async def get(db: Executor, account_id: int) -> Row[Any] | None:
    return (await db.execute(select(account).where(account.c.id == account_id))).first()


async def users_by_login(db: Executor, logins: list[str]) -> dict[str, int]:
    """Lower-case login -> id of the users among ``logins``."""
    statement = select(account.c.lower_login, account.c.id).where(
        account.c.lower_login.in_([login.lower() for login in logins]), account.c.kind == "user"
    )
    return {row.lower_login: row.id for row in await db.execute(statement)}


async def id_of(db: Executor, login: str) -> int | None:
    """The id of the user or organization of that name."""
    return (await db.execute(select(account.c.id).where(account.c.lower_login == login.lower()))).scalar()


async def remove(db: Executor, account_id: int) -> None:
    await db.execute(delete(account).where(account.c.id == account_id))


def _values(copied: Account) -> dict[str, Any]:
    return {
        "id": copied.id,
        "kind": copied.kind,
        "login": copied.login,
        "lower_login": copied.login.lower(),
        "full_name": copied.full_name,
        "email": copied.email,
        "avatar_url": copied.avatar_url,
    }
