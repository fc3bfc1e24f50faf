"""Finds a repository by a name that it, or its owner, had before."""

from ingot_chassis.errors import NotFound
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access
from ingot_repos.store import accounts, repositories
from ingot_repos.store.repositories import RepositoryRow


async def by_another_name(request: RepositoryRequest, owner: str, name: str) -> RepositoryRow:
    """The repository that had this name, or whose owner had it, or has no local copy yet. Raises NotFound."""
    viewer = access.viewer(request.principal)
    async with request.db.read() as db:
        row = await repositories.get_by_former_name(db, viewer, owner, name)
        if row is not None:
            return row
        has_copy = await accounts.get_by_login(db, owner) is not None
    if has_copy:
        raise NotFound
    login = (await request.components.accounts.get_by_former_login(owner)).login
    async with request.db.read() as db:
        row = await repositories.get_by_name(db, viewer, login, name)
        if row is None and login.lower() != owner.lower():
            row = await repositories.get_by_former_name(db, viewer, login, name)
    if row is None:
        raise NotFound
    return row
