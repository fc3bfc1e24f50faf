"""Pages of users who starred or watch a repository, and of repositories starred or watched by a user."""

from litestar import Response

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import page_of
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.social.store import lists
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import Relation


async def page_of_users(request: RepositoryRequest, relation: Relation) -> Response[list[User]]:
    """Return a page of the users who starred or watch the repository in the path."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await stars_and_watches.list_users(db, relation, request.resource.id, page)
    users = [request.presenter.user(row) for row in rows]
    return Response(users, headers=request.page_headers(page, total))


async def page_of_related(
    request: RepositoryRequest, relation: Relation, user_id: int
) -> Response[list[Repository]]:
    """Return a page of the repositories that a user starred or watches.

    For users other than the caller, only public repositories are listed.
    """
    page, principal = request.page(), request.principal
    async with request.db.read() as db:
        content = await lists.list_related(
            db, access.viewer(principal), relation, user_id, page, public_only=user_id != principal.id
        )
    return await page_of(request, page, content)
