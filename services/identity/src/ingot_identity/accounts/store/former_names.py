"""SQL for the names that accounts had before they were renamed."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import fetch_first
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountRow, FormerNameRow, account, former_name


async def save(db: Executor, lower_login: str, account_id: int, reserved_until: datetime) -> None:
    """Reserve a name for the account that had it. This ends the reservation of an earlier account."""
    values = {"account_id": account_id, "reserved_until": reserved_until}
    statement = insert(db, former_name).values(lower_login=lower_login, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["lower_login"], set_=values))


async def get(db: Executor, login: str) -> FormerNameRow | None:
    """Return the reservation of a name; None if the name is not reserved or the reservation has ended."""
    return await fetch_first(db, _reserved(select(former_name), login), FormerNameRow)


async def get_account(db: Executor, login: str) -> AccountRow | None:
    """Return the account for which a name is reserved, or None."""
    statement = select(account).join(former_name, former_name.c.account_id == account.c.id)
    return await fetch_first(db, _reserved(statement, login), AccountRow)


async def remove(db: Executor, login: str) -> None:
    await db.execute(delete(former_name).where(former_name.c.lower_login == login.lower()))


def _reserved(statement: Select[Any], login: str) -> Select[Any]:
    return statement.where(former_name.c.lower_login == login.lower(), former_name.c.reserved_until > now())
