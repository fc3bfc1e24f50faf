"""Mirrors: syncing one now."""

from litestar import Response, post

from ingot_repos.api.policies import in_repository, writable
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import mirrors


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/mirror-sync",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoMirrorSync",
    tags=["repository"],
    status_code=200,
)
async def sync(request: RepositoryRequest) -> Response[bytes]:
    """Sync a mirror soon; 400 for any other repository."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        await mirrors.request_sync(tx, request.components.jobs, repository.row)
    request.components.mirror_workers.wake.set()
    return Response(b"", status_code=200, media_type="text/plain")


routes = [sync]
