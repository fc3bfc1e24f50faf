"""What a user whom the owner of a repository has blocked may not do."""

from ingot_chassis.errors import Denied
from ingot_repos.api.request import RepositoryRequest


async def require_unblocked(request: RepositoryRequest) -> None:
    """Raises Denied when the owner of the repository in the path blocks the caller."""
    principal, row = request.principal, request.resource.row
    if principal.admin or row.owner_id == principal.id:
        return
    if await request.components.identity.is_blocked(row.owner_id, principal.id):
        raise Denied("the owner of the repository has blocked you")
