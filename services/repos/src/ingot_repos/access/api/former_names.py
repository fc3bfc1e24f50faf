"""A lookup of repositories by their former names and the former names of their owners."""

from ingot_chassis.errors import NotFound
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.repositories import RepositoryRow


async def find_by_former_name(request: RepositoryRequest, owner: str, name: str) -> RepositoryRow:
    """Find a repository by its former name or a former name of its owner. Raises NotFound.

    If there is no local copy of the owner, fetch the account from identity first.
    """
    viewer = access.viewer(request.principal)
    async with request.db.read() as db:
        row = await repositories.get_by_former_name(db, viewer, owner, name)
        if row is not None:
            return row
        has_copy = await accounts.get_by_login(db, owner) is not None
    if has_copy:
        raise NotFound
    login = (await request.part(AccountCopies).get_by_former_login(owner)).login
    async with request.db.read() as db:
        row = await repositories.get_by_name(db, viewer, login, name)
        if row is None and login.lower() != owner.lower():
            row = await repositories.get_by_former_name(db, viewer, login, name)
    if row is None:
        raise NotFound
    return row
