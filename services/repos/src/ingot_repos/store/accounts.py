"""SQL for the copies of identity's accounts."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Row, bindparam, delete, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import BigId
from ingot_repos.store import marks
from ingot_repos.store.tables import account, collaboration, repository

AccountRow = Row[Any]

_BY_ID = Lookup(select(account).where(account.c.id == bindparam("account_id", type_=BigId)))
_BY_LOGIN = Lookup(select(account).where(account.c.lower_login == bindparam("login")))
_BY_EMAIL = select(account.c.email, account.c.login).where(
    account.c.email.in_(bindparam("addresses", expanding=True)), account.c.email != ""
)


async def put(db: Executor, values: dict[str, Any]) -> None:
    """Insert or replace the copy of one account. Whoever else bears its name here has lost it meanwhile."""
    lower = values["login"].lower()
    await db.execute(
        update(account)
        .where(account.c.lower_login == lower, account.c.id != values["id"])
        .values(lower_login="")
    )
    values = values | {"lower_login": lower}
    statement = insert(db, account).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def get(db: Executor, account_id: int) -> AccountRow | None:
    return await _BY_ID.first(db, account_id=account_id)


async def get_by_login(db: Executor, login: str) -> AccountRow | None:
    return await _BY_LOGIN.first(db, login=login.lower())


async def logins_by_email(db: Executor, addresses: Collection[str]) -> dict[str, str]:
    """Lower-case address -> login, for the addresses that an account shows."""
    if not addresses:
        return {}
    rows = await db.execute(_BY_EMAIL, {"addresses": sorted({address.lower() for address in addresses})})
    return {row.email: row.login for row in rows}


async def forget(db: Executor, account_id: int) -> None:
    """A deleted account loses what it held here; its copy stays only while repositories name it as owner."""
    await db.execute(delete(collaboration).where(collaboration.c.user_id == account_id))
    await marks.remove_all(db, account_id)
    owns = select(repository.c.id).where(repository.c.owner_id == account_id).exists()
    await db.execute(delete(account).where(account.c.id == account_id, ~owns))
    await db.execute(update(account).where(account.c.id == account_id).values(active=False, lower_login=""))
