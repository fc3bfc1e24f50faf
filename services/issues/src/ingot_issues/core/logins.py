"""The users who have logins: by the copies of identity's accounts, and by identity where there is no copy yet."""

import asyncio
from collections.abc import Collection

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_contracts.identity import Account
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.store import accounts

QUESTIONS_AT_ONCE = 10


async def find_users(database: Database, identity: HttpIdentity, logins: Collection[str]) -> dict[str, int]:
    """Lower-case login -> id of the users among ``logins``. Copies the accounts of which there is no copy.

    Whose account is seconds old may be named before its event arrives.
    """
    async with database.read() as db:
        ids = await accounts.user_ids_by_login(db, logins)
    at_once = asyncio.Semaphore(QUESTIONS_AT_ONCE)

    async def account_of(login: str) -> Account | None:
        async with at_once:
            try:
                return await identity.account_by_name(login)
            except NotFound:
                return None

    unknown = {login.lower() for login in logins} - ids.keys()
    answers = await asyncio.gather(*map(account_of, unknown))
    new = [account for account in answers if account is not None and account.kind == "user"]
    if new:
        async with database.transaction() as tx:
            for account in sorted(new, key=lambda account: account.id):
                await accounts.save(tx, account)
    return ids | {account.login.lower(): account.id for account in new}
