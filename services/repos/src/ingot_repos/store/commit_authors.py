"""SQL for the accounts behind the addresses in commits."""

from collections.abc import Collection

from sqlalchemy import select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_repos.store.accounts import SHOWS_ADDRESS
from ingot_repos.store.stars_and_watches import UserRow
from ingot_repos.store.tables import account

_BY_EMAIL = PreparedQuery(
    select(account.c.id, account.c.login, account.c.full_name, account.c.email, account.c.avatar_url).where(
        SHOWS_ADDRESS
    ),
    UserRow,
)


async def users_by_email(db: Executor, addresses: Collection[str]) -> dict[str, UserRow]:
    """Lower-case address to account, for the addresses that an account shows."""
    if not addresses:
        return {}
    lower = sorted({address.lower() for address in addresses})
    return {row.email: row for row in await _BY_EMAIL.all(db, addresses=lower)}
