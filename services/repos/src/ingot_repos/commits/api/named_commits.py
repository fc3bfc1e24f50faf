"""Resolution of the name of a commit in a request."""

from ingot_chassis.errors import NotFound
from ingot_git.history.named_refs import named_ref
from ingot_git.process.errors import (
    RefNotFound,
    RepositoryNotFound,
)
from ingot_repos.access.api.request import RepositoryRequest


async def named_commit(request: RepositoryRequest, ref: str) -> str:
    """Return the commit of a branch, tag, id or full ref name in the repository. Raises NotFound."""
    try:
        return (await request.storage.call(request.resource.id, named_ref, ref)).commit
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
