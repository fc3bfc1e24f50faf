"""A route that syncs a mirror."""

from litestar import Response, post

from ingot_chassis.jobs.jobs import Jobs
from ingot_repos.access.api.policies import in_repository, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.mirrors.rules import schedule


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/mirror-sync",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoMirrorSync",
    tags=["repository"],
    status_code=200,
)
async def sync(request: RepositoryRequest) -> Response[bytes]:
    """Schedule a sync of a mirror. Answers 400 if the repository is not a mirror."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        await schedule.request_sync(tx, request.part(Jobs), repository.row)
    return Response(b"", status_code=200, media_type="text/plain")


routes = [sync]
