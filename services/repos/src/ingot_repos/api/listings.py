"""Lists of repositories, with what other modules need for theirs. They hold only what the caller may see."""

from litestar import Response, get

from ingot_chassis.http.paging import Page
from ingot_chassis.http.policy import signed_in
from ingot_contracts.identity import User
from ingot_repos.api.policies import of_organization, of_user
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access
from ingot_repos.core.presenter import RepositoryAnswer
from ingot_repos.store import repository_lists, stars_and_watches
from ingot_repos.store.related import get_related
from ingot_repos.store.repository_lists import RepositoryPage
from ingot_repos.store.stars_and_watches import Relation


async def page_of(
    request: RepositoryRequest, page: Page, content: RepositoryPage
) -> Response[list[RepositoryAnswer]]:
    """A page of repositories as an answer."""
    rows, total = content
    async with request.db.read() as db:
        related = await get_related(db, access.viewer(request.principal), rows)
    return Response(
        request.presenter.repositories(rows, related, request.principal),
        headers=request.page_headers(page, total),
    )


async def page_of_users(request: RepositoryRequest, relation: Relation) -> Response[list[User]]:
    """A page of the users who starred or watch the repository in the path."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await stars_and_watches.list_users(db, relation, request.resource.id, page)
    users = [request.presenter.user(row) for row in rows]
    return Response(users, headers=request.page_headers(page, total))


async def page_of_related(
    request: RepositoryRequest, relation: Relation, user_id: int
) -> Response[list[RepositoryAnswer]]:
    """A page of the repositories that a user starred or watches; of another user the public ones alone."""
    page, principal = request.page(), request.principal
    async with request.db.read() as db:
        content = await repository_lists.list_related(
            db, access.viewer(principal), relation, user_id, page, public_only=user_id != principal.id
        )
    return await page_of(request, page, content)


@get(
    "/api/v1/user/repos",
    policy=signed_in("read:repository"),
    operation_id="userCurrentListRepos",
    tags=["user"],
)
async def list_own(request: RepositoryRequest) -> Response[list[RepositoryAnswer]]:
    """The caller's own repositories, then those of others that were shared with them."""
    page = request.page()
    async with request.db.read() as db:
        content = await repository_lists.list_accessible(db, access.viewer(request.principal), page)
    return await page_of(request, page, content)


@get(
    "/api/v1/users/{username:str}/repos",
    policy=of_user("read:repository"),
    operation_id="userListRepos",
    tags=["user"],
)
async def list_of_user(request: RepositoryRequest) -> Response[list[RepositoryAnswer]]:
    """Repositories of a user, last changed first."""
    return await _list_owned(request)


@get(
    "/api/v1/orgs/{org:str}/repos",
    policy=of_organization("read:organization"),
    operation_id="orgListRepos",
    tags=["organization"],
)
async def list_of_organization(request: RepositoryRequest) -> Response[list[RepositoryAnswer]]:
    """Repositories of an organization, last changed first."""
    return await _list_owned(request)


async def _list_owned(request: RepositoryRequest) -> Response[list[RepositoryAnswer]]:
    page, viewer = request.page(), access.viewer(request.principal)
    async with request.db.read() as db:
        content = await repository_lists.list_owned(db, viewer, request.account.id, page)
    return await page_of(request, page, content)


routes = [list_own, list_of_user, list_of_organization]
