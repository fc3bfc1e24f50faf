"""For issues only: whether the commits of a pull request can be fetched."""

from litestar import put

from ingot_chassis.errors import NotFound
from ingot_contracts.pulls import PullHead
from ingot_repos.api.internal import ISSUES
from ingot_repos.api.policies import require_on_disk, resolve_for_peer
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import merges
from ingot_repos.git.errors import RepositoryNotFound


@put(
    "/internal/repositories/{repository_id:int}/pull-heads/{number:int}",
    policy=ISSUES,
    include_in_schema=False,
    status_code=204,
)
async def put_head(request: RepositoryRequest, repository_id: int, number: int, data: PullHead) -> None:
    """Say who gets the commits that are stored under the number of a pull request; issues does so for itself."""
    repository = await resolve_for_peer(request, repository_id)
    require_on_disk(request, repository)
    components = request.components
    try:
        await merges.set_head_state(request.storage, components.pushes, repository.row, number, data.state)
    except RepositoryNotFound:
        raise NotFound from None


routes = [put_head]
