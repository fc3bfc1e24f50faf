"""Internal routes for issues: pages and files of an imported repository."""

from litestar import post

from ingot_chassis.http.policy import services
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.imports import ImportFile, ImportPage, ReadImportFile, ReadImportPage
from ingot_repos.access.api.policies import require_on_disk
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.imports.rules.pages import SourcePages


@post(
    "/internal/imports/{repository_id:int}/pages",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
)
async def read_page(request: RepositoryRequest, repository_id: int, data: ReadImportPage) -> ImportPage:
    """Return the page of the source at a cursor. After the last page, end the import.

    The shard with the commits answers, because some sources do not return merge bases.
    """
    await _require_here(request, repository_id)
    return await request.part(SourcePages).read(repository_id, data)


@post(
    "/internal/imports/{repository_id:int}/imported-files",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
)
async def read_file(request: RepositoryRequest, repository_id: int, data: ReadImportFile) -> ImportFile:
    """Return a file of a text, from the source. The shard with an uploaded archive answers."""
    await _require_here(request, repository_id)
    return await request.part(SourcePages).read_file(repository_id, data)


async def _require_here(request: RepositoryRequest, repository_id: int) -> None:
    """Raise OnAnotherShard if the commits are fetched and another shard has them."""
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, repository_id)
    if row is not None and row.state == RepositoryState.READY:
        require_on_disk(request, ResolvedRepository(row, AccessLevel(level="none")))


routes = [read_page, read_file]
