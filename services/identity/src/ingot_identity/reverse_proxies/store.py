"""SQL for the links of accounts with users of the reverse proxy."""

from sqlalchemy import Column, ForeignKey, String, Table, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountRow, account, metadata

proxy_identity = Table(
    "proxy_identity",
    metadata,
    # The name of the user at the proxy, in the letter case in which the proxy sends it.
    Column("proxy_user", String(255), primary_key=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
)


async def get_account(db: Executor, proxy_user: str) -> AccountRow | None:
    """Return the account that is linked with a user of the proxy."""
    statement = select(account).join(proxy_identity, proxy_identity.c.account_id == account.c.id)
    return await fetch_first(db, statement.where(proxy_identity.c.proxy_user == proxy_user), AccountRow)


async def is_linked(db: Executor, account_id: int) -> bool:
    """Return True if the account is linked with any user of the proxy."""
    statement = select(proxy_identity.c.account_id).where(proxy_identity.c.account_id == account_id)
    return (await db.execute(statement)).scalar() is not None


async def add(db: Executor, proxy_user: str, account_id: int) -> bool:
    """Link an account. Return False if the account or the user of the proxy is linked already."""
    values = {"proxy_user": proxy_user, "account_id": account_id, "created_at": now()}
    statement = insert(db, proxy_identity).values(values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(proxy_identity.c.account_id))).scalar() is not None
