"""Local copies of accounts. A missing copy is fetched from identity."""

from collections.abc import Collection
from contextlib import suppress

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.security.principal import ANONYMOUS, Principal
from ingot_contracts.identity.accounts import Account
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.clients.identity import HttpIdentity


class AccountCopies:
    """A store of account copies. Every method raises NotFound and Unavailable."""

    def __init__(self, database: Database, identity: HttpIdentity) -> None:
        self._db, self._identity = database, identity

    async def get(self, account_id: int) -> AccountRow:
        async with self._db.read() as db:
            row = await accounts.get(db, account_id)
        return row or await self._save(await self._identity.account(account_id))

    async def get_by_login(self, login: str) -> AccountRow:
        async with self._db.read() as db:
            row = await accounts.get_by_login(db, login)
        return row or await self._save(await self._identity.account_by_name(login))

    async def get_by_former_login(self, login: str) -> AccountRow:
        """Fetch the account with this present or former name. Call this only if no copy has the name."""
        return await self._save(await self._identity.account_by_name(login, former=True))

    async def fetch_missing(self, ids: Collection[int]) -> None:
        """Fetch the accounts that have no copy, and skip deleted ones."""
        async with self._db.read() as db:
            missing = set(ids).difference(await accounts.list_copied(db, ids)) if ids else ()
        for account_id in sorted(missing):
            with suppress(NotFound):
                await self._save(await self._identity.account(account_id))

    async def fill_profiles(self) -> None:
        """Fetch profiles for copies made before profiles were copied, in one process at a time."""
        async with self._db.exclusive("repos_fill_profiles") as mine:
            last: int | None = 0 if mine else None
            while last is not None:
                async with self._db.read() as db:
                    ids = await accounts.list_without_profile(db, last)
                for account_id in ids:
                    with suppress(NotFound):
                        account = await self._identity.account(account_id)
                        async with self._db.transaction() as tx:
                            await accounts.add_profile(tx, account)
                last = ids[-1] if ids else None

    async def _save(self, account: Account) -> AccountRow:
        async with self._db.transaction() as tx:
            await accounts.save(tx, account, fetched=True)
            row = await accounts.get(tx, account.id)
        if row is None:
            raise NotFound
        return row


async def principal_of(identity: HttpIdentity, user_id: int) -> Principal:
    """Return a user as a principal with present memberships from identity. Raises Unavailable.

    An anonymous caller if the user may not sign in or does not exist. It reads nothing if the user is
    restricted.
    """
    try:
        account = await identity.account(user_id)
    except NotFound:
        return ANONYMOUS
    principal = Principal(
        id=account.id, name=account.login, admin=account.admin, granted_only=account.granted_only
    )
    if not account.active:
        return principal.unidentified()
    return msgspec.structs.replace(principal, organizations=await identity.memberships(account.id))
