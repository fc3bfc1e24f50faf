"""The users who have logins: by the copies of identity's accounts, and by identity where there is no copy yet.

Whose account is seconds old may be named before its event arrives.
"""

import time
from collections.abc import Callable, Collection, Iterable

from cachetools import TTLCache

from ingot_chassis.db.database import Database
from ingot_contracts.identity import Account
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.questions import ask_each
from ingot_issues.store import accounts

NOBODY_SECONDS = 60
MOST_UNKNOWN = 10_000


async def find_users(database: Database, identity: HttpIdentity, logins: Collection[str]) -> dict[str, int]:
    """Lower-case login -> id of the users among ``logins``. Copies the accounts of which there is no copy."""
    ids, missing = await _copied(database, logins)
    new = await _ask(identity, missing)
    if new:
        async with database.transaction() as tx:
            for account in sorted(new, key=lambda account: account.id):
                await accounts.add_missing(tx, account)
    return ids | _ids(new)


class MentionedUsers:
    """The users whom texts mention. Copies nothing: what identity answered may be older than an event, such as a deletion.

    That nobody has a name is remembered for a minute: texts are full of such names. Whoever takes one of them hears of
    mentions when the event of the account is here, which is sooner.
    """

    def __init__(
        self, database: Database, identity: HttpIdentity, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._identity = database, identity
        self._unknown: TTLCache[str, bool] = TTLCache(MOST_UNKNOWN, NOBODY_SECONDS, timer=clock)

    async def find(self, logins: Collection[str]) -> dict[str, int]:
        """Lower-case login -> id of the users among ``logins``."""
        ids, missing = await _copied(self._database, logins)
        to_ask = {login for login in missing if login not in self._unknown}
        users = _ids(await _ask(self._identity, to_ask))
        for login in to_ask - users.keys():
            self._unknown[login] = True
        return ids | users


async def _copied(database: Database, logins: Collection[str]) -> tuple[dict[str, int], set[str]]:
    """The ids by login, and the logins without a copy."""
    async with database.read() as db:
        ids = await accounts.user_ids_by_login(db, logins)
    return ids, {login.lower() for login in logins} - ids.keys()


async def _ask(identity: HttpIdentity, logins: Iterable[str]) -> list[Account]:
    """The users among them, as identity says."""
    answers = await ask_each(identity.account_by_name, logins)
    return [account for account in answers if account is not None and account.kind == "user"]


def _ids(users: Iterable[Account]) -> dict[str, int]:
    return {account.login.lower(): account.id for account in users}
