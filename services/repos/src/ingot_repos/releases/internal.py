"""An internal route for mail: the current state of a release."""

from litestar import get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.repos.releases import PublishedRelease
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.releases.store import releases


@get(
    "/internal/repositories/{repository_id:int}/releases/{release_id:int}",
    policy=services("mail"),
    include_in_schema=False,
)
async def get_published_release(
    request: RepositoryRequest, repository_id: int, release_id: int
) -> PublishedRelease:
    """Return a published release. The caller must have checked that the recipient may read it."""
    async with request.db.read() as db:
        row = await releases.get(db, repository_id, release_id)
    if row is None or row.draft:
        raise NotFound
    return PublishedRelease(tag_name=row.tag_name, name=row.name, body=row.body)


routes = [get_published_release]
