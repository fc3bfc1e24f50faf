"""Accounts by their local copies. A copy that is missing is fetched from identity first."""

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.security.principal import ANONYMOUS, Principal
from ingot_contracts.identity import Account
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.store import accounts
from ingot_repos.store.accounts import AccountRow


class AccountCopies:
    """Every method raises NotFound and Unavailable."""

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
        """The account of that name, or the one that had it before. For a name that no copy has."""
        return await self._save(await self._identity.account_by_name(login, former=True))

    async def _save(self, account: Account) -> AccountRow:
        async with self._db.transaction() as tx:
            await accounts.save(tx, account)
            row = await accounts.get(tx, account.id)
        if row is None:
            raise NotFound
        return row


async def principal_of(identity: HttpIdentity, user_id: int) -> Principal:
    """A person who is not calling, as identity has them now; ANONYMOUS if they may not sign in. Raises Unavailable."""
    try:
        account = await identity.account(user_id)
    except NotFound:
        return ANONYMOUS
    if not account.active:
        return ANONYMOUS
    return Principal(
        id=account.id,
        name=account.login,
        admin=account.admin,
        organizations=await identity.memberships(account.id),
    )
