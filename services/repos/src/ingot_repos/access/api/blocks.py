"""A check that the owner of a repository has not blocked the caller."""

from ingot_chassis.errors import Denied
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.clients.identity import HttpIdentity


async def require_unblocked(request: RepositoryRequest) -> None:
    """Raise Denied if the owner of the repository in the path has blocked the caller."""
    principal, row = request.principal, request.resource.row
    if principal.admin or row.owner_id == principal.id:
        return
    if await request.part(HttpIdentity).is_blocked(row.owner_id, principal.id):
        raise Denied("the owner of the repository has blocked you")
