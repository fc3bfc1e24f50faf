"""Users by their logins: from copies of identity's accounts, or from identity if there is no copy yet.

A new account may be named seconds before its event arrives.
"""

import time
from collections.abc import Callable, Collection, Iterable

from cachetools import TTLCache

from ingot_chassis.db.database import Database
from ingot_contracts.identity.accounts import Account
from ingot_issues.accounts import store as accounts
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.questions import ask_each

UNKNOWN_LOGIN_SECONDS = 60
MAX_UNKNOWN_LOGINS = 10_000


async def find_users(database: Database, identity: HttpIdentity, logins: Collection[str]) -> dict[str, int]:
    """Return user ids by lower-case login. Fetch and copy accounts without a copy."""
    ids, missing = await _copied(database, logins)
    new = await _ask(identity, missing)
    if new:
        async with database.transaction() as tx:
            for account in sorted(new, key=lambda account: account.id):
                await accounts.add_missing(tx, account)
    return ids | _ids(new)


async def copy_missing(database: Database, identity: HttpIdentity, ids: Collection[int]) -> None:
    """Fetch and copy accounts without a copy. A request may name a new account before its event arrives."""
    async with database.read() as db:
        copied = await accounts.get_people(db, ids)
    answers = await ask_each(identity.account, sorted(set(ids) - copied.keys()))
    new = [account for account in answers if account is not None]
    if new:
        async with database.transaction() as tx:
            for account in new:
                await accounts.add_missing(tx, account)


async def fill_profiles(database: Database, identity: HttpIdentity) -> None:
    """Fetch profiles for copies made before profiles were copied, in one process at a time."""
    async with database.exclusive("issues_fill_profiles") as mine:
        last: int | None = 0 if mine else None
        while last is not None:
            async with database.read() as db:
                ids = await accounts.list_without_profile(db, last)
            answers = await ask_each(identity.account, ids)
            async with database.transaction() as tx:
                for account in answers:
                    if account is not None:
                        await accounts.add_profile(tx, account.id, account.written_profile())
            last = ids[-1] if ids else None


class MentionedUsers:
    """Finds the users that texts mention.

    Accounts are not copied: a response of identity may be older than an event, such as a deletion. An unknown
    login is cached for a minute, because texts contain many such names. A new account is found earlier,
    through the copy that its event creates.
    """

    def __init__(
        self, database: Database, identity: HttpIdentity, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._identity = database, identity
        self._unknown: TTLCache[str, bool] = TTLCache(MAX_UNKNOWN_LOGINS, UNKNOWN_LOGIN_SECONDS, timer=clock)

    async def find(self, logins: Collection[str]) -> dict[str, int]:
        """Return user ids by lower-case login."""
        ids, missing = await _copied(self._database, logins)
        to_ask = {login for login in missing if login not in self._unknown}
        users = _ids(await _ask(self._identity, to_ask))
        for login in to_ask - users.keys():
            self._unknown[login] = True
        return ids | users


async def _copied(database: Database, logins: Collection[str]) -> tuple[dict[str, int], set[str]]:
    """Return the ids by login, and the logins without a copy."""
    async with database.read() as db:
        ids = await accounts.user_ids_by_login(db, logins)
    return ids, {login.lower() for login in logins} - ids.keys()


async def _ask(identity: HttpIdentity, logins: Iterable[str]) -> list[Account]:
    """Return the users with these logins from identity."""
    answers = await ask_each(identity.account_by_name, logins)
    return [account for account in answers if account is not None and account.kind == "user"]


def _ids(users: Iterable[Account]) -> dict[str, int]:
    return {account.login.lower(): account.id for account in users}
