"""Accounts of the people of a source."""

from collections.abc import Mapping

from ingot_chassis.db.driver import Executor
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.commits.store.authors import users_by_email
from ingot_repos.imports.clients.source import PersonKey, SourcePage
from ingot_repos.imports.rules.lifecycle import NewSource
from ingot_repos.imports.store import SourceRow


async def logins_of(db: Executor, people: Mapping[PersonKey, int]) -> dict[str, str]:
    """Return the logins of accounts by the lower-case names of their people."""
    rows = {row.id: row.login for row in await accounts.list_by_ids(db, set(people.values()))}
    return {name.lower(): rows[one] for (_, name), one in people.items() if one in rows}


async def accounts_of(
    db: Executor, page: SourcePage, source: SourceRow | NewSource, *, importer_id: int
) -> dict[PersonKey, int]:
    """Return the accounts of users of the source, by their keys.

    A source can claim any address. So only an administrator, who trusts it, lets it name other accounts than
    that of the importer.
    """
    by_email = await users_by_email(db, {address for address in page.addresses.values() if address})
    ids = {
        key: by_email[address.lower()].id
        for key, address in page.addresses.items()
        if address.lower() in by_email
    }
    if not source.maps_people:
        return {key: account_id for key, account_id in ids.items() if account_id == importer_id}
    if source.map_logins:
        rest = {key[1].lower(): key for key in page.addresses if key not in ids}
        for row in await accounts.list_by_logins(db, rest):
            if row.kind == AccountKind.USER:
                ids[rest[row.login.lower()]] = row.id
    return ids
