"""Routes for watches of repositories, which the API calls subscriptions."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.blocks import require_unblocked
from ingot_repos.access.api.policies import in_repository, of_user, own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.social.api.pages import page_of_related, page_of_users
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import WATCHES


class WatchInfo(msgspec.Struct):
    subscribed: bool
    ignored: bool
    reason: None
    created_at: datetime
    url: str
    repository_url: str


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=in_repository("signed-in", "write:repository", unit=None),
    operation_id="userCurrentPutSubscription",
    tags=["repository"],
    status_code=200,
)
async def put_watch(request: RepositoryRequest) -> WatchInfo:
    """Watch a repository."""
    await require_unblocked(request)
    account = await own_account(request)
    async with request.db.transaction() as tx:
        await stars_and_watches.add(tx, WATCHES, request.resource.id, account.id)
    return _watch_info(request)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=in_repository("signed-in", "write:repository", unit=None),
    operation_id="userCurrentDeleteSubscription",
    tags=["repository"],
)
async def delete_watch(request: RepositoryRequest) -> None:
    """Stop watching a repository."""
    async with request.db.transaction() as tx:
        await stars_and_watches.remove(tx, WATCHES, request.resource.id, request.principal.id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=in_repository("signed-in", "read:repository", unit=None),
    operation_id="userCurrentCheckSubscription",
    tags=["repository"],
)
async def check_watch(request: RepositoryRequest) -> WatchInfo:
    """Return the caller's watch of a repository. Answers 404 without one."""
    async with request.db.read() as db:
        if not await stars_and_watches.contains(db, WATCHES, request.resource.id, request.principal.id):
            raise NotFound
    return _watch_info(request)


@get(
    "/api/v1/user/subscriptions",
    policy=signed_in("read:user"),
    operation_id="userCurrentListSubscriptions",
    tags=["user"],
)
async def list_own_watches(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories that the caller watches."""
    return await page_of_related(request, WATCHES, request.principal.id)


@get(
    "/api/v1/users/{username:str}/subscriptions",
    policy=of_user("read:user", of_caller=True),
    operation_id="userListSubscriptions",
    tags=["user"],
)
async def list_watches(request: RepositoryRequest) -> Response[list[Repository]]:
    """List public repositories that a user watches."""
    return await page_of_related(request, WATCHES, request.account.id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/subscribers",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoListSubscribers",
    tags=["repository"],
)
async def list_subscribers(request: RepositoryRequest) -> Response[list[User]]:
    """List users who watch a repository."""
    return await page_of_users(request, WATCHES)


def _watch_info(request: RepositoryRequest) -> WatchInfo:
    repository = request.resource
    root = f"{request.public_url}api/v1/repos/{repository.full_name}"
    return WatchInfo(
        subscribed=True,
        ignored=False,
        reason=None,
        created_at=repository.row.created_at.replace(microsecond=0),
        url=f"{root}/subscription",
        repository_url=root,
    )


routes = [put_watch, delete_watch, check_watch, list_own_watches, list_watches, list_subscribers]
