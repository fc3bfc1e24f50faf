"""Responses with one repository or a page of repositories."""

import msgspec
from litestar import Response

from ingot_chassis.http.paging import Page
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.transfer_views import transfer_view
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store.lists import RepositoryPage
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.presentation.store import RelatedRows, get_related


async def page_of(
    request: RepositoryRequest, page: Page, content: RepositoryPage
) -> Response[list[Repository]]:
    """Return a page of repositories as the response."""
    rows, total = content
    async with request.db.read() as db:
        related = await get_related(db, access.viewer(request.principal), rows)
    return Response(
        request.presenter.repositories(rows, related, request.principal),
        headers=request.page_headers(page, total),
    )


async def present(request: RepositoryRequest, repository: ResolvedRepository) -> Repository:
    """Return the repository in the form of the API, with the fields that the caller may see."""
    related = await _related(request, repository.row)
    shown = request.presenter.related_repository(
        repository.row, repository.access, related, request.principal
    )
    return await _with_transfer(request, repository, shown)


async def _with_transfer(
    request: RepositoryRequest, repository: ResolvedRepository, shown: Repository
) -> Repository:
    """Return ``shown`` with the pending transfer, if there is one. Other repositories need no query."""
    if repository.row.recipient_id is None:
        return shown
    transfer = await transfer_view(request, repository, repository.row.recipient_id)
    return msgspec.structs.replace(shown, repo_transfer=transfer)


async def _related(request: RepositoryRequest, row: RepositoryRow) -> RelatedRows:
    """Load related rows of a fork or mirror. Other repositories need no query."""
    if row.fork_of is None and not row.mirror:
        return RelatedRows({}, {})
    async with request.db.read() as db:
        return await get_related(db, access.viewer(request.principal), [row])
