"""SQL for the accounts that have the addresses in commits."""

from collections.abc import Collection

from sqlalchemy import select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_repos.catalog.store.accounts import SHOWS_ADDRESS, UserRow
from ingot_repos.catalog.store.tables import account

_BY_EMAIL = PreparedQuery(
    select(*(account.c[name] for name in UserRow.__annotations__)).where(SHOWS_ADDRESS),
    UserRow,
)


async def users_by_email(db: Executor, addresses: Collection[str]) -> dict[str, UserRow]:
    """Return accounts by lower-case address, for addresses that an account shows."""
    if not addresses:
        return {}
    lower = sorted({address.lower() for address in addresses})
    return {row.email: row for row in await _BY_EMAIL.all(db, addresses=lower)}
