"""An internal route for issues: pages of an imported repository."""

from litestar import post

from ingot_chassis.http.policy import services
from ingot_contracts.repos.imports import ImportPage, ReadImportPage
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.imports.rules.pages import SourcePages


@post(
    "/internal/imports/{repository_id:int}/pages",
    policy=services("issues"),
    include_in_schema=False,
    status_code=200,
)
async def read_page(request: RepositoryRequest, repository_id: int, data: ReadImportPage) -> ImportPage:
    """Return the page at a cursor, from the source. It ends the import after the last page."""
    return await request.part(SourcePages).read(repository_id, data)


routes = [read_page]
