"""Mirrors: bringing one up to date now."""

from litestar import Response, post

from ingot_chassis.policy import resource
from ingot_repos.api.call import Call
from ingot_repos.core import mirrors


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/mirror-sync",
    policy=resource("write", "write:repository"),
    on_disk=True,
    operation_id="repoMirrorSync",
    tags=["repository"],
    status_code=200,
)
async def sync(request: Call) -> Response[bytes]:
    """Bring a mirror up to date soon; 400 for any other repository."""
    found = request.writable
    async with request.db.transaction() as tx:
        await mirrors.ask(tx, request.parts.jobs, found.row)
    request.parts.mirrorers.wake.set()
    return Response(b"", status_code=200, media_type="text/plain")


routes = [sync]
