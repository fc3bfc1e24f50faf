"""Internal routes for issues: pages and files of exports."""

from litestar import get, post

from ingot_chassis.http.policy import services
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.exports import ExportFile, ExportPage, ExportState
from ingot_repos.access.api.policies import require_on_disk
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.archives.rules.exports import ENDED, ExportPages
from ingot_repos.catalog.store import repositories

MOST_BYTES = 256 * 1024 * 1024
"""Limit of a page: one pull request may have many long texts."""


@get("/internal/exports/{repository_id:int}/state", policy=services("issues"), include_in_schema=False)
async def get_export(request: RepositoryRequest, repository_id: int, name: str) -> ExportState:
    """Return the state of an export, with the cursor of the next page."""
    return await request.part(ExportPages).state(repository_id, name)


@post(
    "/internal/exports/{repository_id:int}/pages",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def add_page(request: RepositoryRequest, repository_id: int, data: ExportPage) -> ExportState:
    """Store a page, and return the new state. The shard of the repository answers."""
    return (
        await request.part(ExportPages).add(repository_id, data)
        if await _is_here(request, repository_id)
        else ENDED
    )


@post(
    "/internal/exports/{repository_id:int}/exported-files",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def add_file(request: RepositoryRequest, repository_id: int, data: ExportFile) -> ExportState:
    """Store a file of texts, and return the new state. The shard of the repository answers."""
    return (
        await request.part(ExportPages).add_file(repository_id, data)
        if await _is_here(request, repository_id)
        else ENDED
    )


async def _is_here(request: RepositoryRequest, repository_id: int) -> bool:
    """Return whether a repository exists, and let its shard answer."""
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, repository_id)
    if row is None:
        return False
    require_on_disk(request, ResolvedRepository(row, AccessLevel(level="none")))
    return True


routes = [get_export, add_page, add_file]
