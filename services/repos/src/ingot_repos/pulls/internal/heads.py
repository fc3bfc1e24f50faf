"""An internal route for issues: set who can fetch the commits of a pull request."""

from litestar import put

from ingot_chassis.errors import NotFound
from ingot_contracts.repos.comparisons import PullHead
from ingot_git.process.errors import RepositoryNotFound
from ingot_repos.access.api.policies import require_on_disk, resolve_for_peer
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.pulls import rules as merges
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.repositories.internal.lookups import ISSUES


@put(
    "/internal/repositories/{repository_id:int}/pull-heads/{number:int}",
    policy=ISSUES,
    include_in_schema=False,
    status_code=204,
)
async def put_head(request: RepositoryRequest, repository_id: int, number: int, data: PullHead) -> None:
    """Set who can fetch the stored commits of a pull request.

    issues does not act for a user here, so access is not checked.
    """
    repository = await resolve_for_peer(request, repository_id)
    require_on_disk(request, repository)
    try:
        await merges.set_head_state(request.storage, request.part(Pushes), repository.row, number, data.state)
    except RepositoryNotFound:
        raise NotFound from None


routes = [put_head]
