"""Stars and watches."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource, signed_in
from ingot_contracts.identity import User
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call, Found
from ingot_repos.api.listings import page_of
from ingot_repos.core import access
from ingot_repos.store import marks, repositories
from ingot_repos.store.marks import Mark

Repositories = Response[list[Repository]]


class WatchInfo(msgspec.Struct):
    subscribed: bool
    ignored: bool
    reason: None
    created_at: datetime
    url: str
    repository_url: str


def _info(request: Call, found: Found) -> WatchInfo:
    root = f"{request.public_url}api/v1/repos/{found.full_name}"
    return WatchInfo(
        subscribed=True,
        ignored=False,
        reason=None,
        created_at=found.row.created_at.replace(microsecond=0),
        url=f"{root}/subscription",
        repository_url=root,
    )


async def _mark(request: Call, found: Found, mark: Mark) -> None:
    who = await request.own_account()
    async with request.db.transaction() as tx:
        await marks.put(tx, mark, found.id, who.id)


async def _unmark(request: Call, found: Found, mark: Mark) -> None:
    async with request.db.transaction() as tx:
        await marks.remove(tx, mark, found.id, request.who.id)


async def _require_marked(request: Call, found: Found, mark: Mark) -> None:
    async with request.db.read() as db:
        if not await marks.is_put(db, mark, found.id, request.who.id):
            raise NotFound


async def _people(request: Call, mark: Mark) -> Response[list[User]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await marks.list_accounts(db, mark, request.found.id, page)
    return Response([request.viewing.user(row) for row in rows], headers=request.page_headers(page, total))


async def _list(request: Call, mark: Mark, user_id: int) -> Repositories:
    page = request.page()
    async with request.db.read() as db:
        rows = await repositories.list_marked(
            db,
            access.viewer(request.who),
            mark,
            user_id,
            page,
            public_only=user_id != request.who.id,
        )
    return await page_of(request, page, rows)


@put(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=signed_in("write:user"),
    operation_id="userCurrentPutStar",
    tags=["user"],
    status_code=204,
)
async def put_star(request: Call, owner: str, repo: str) -> None:
    """Star a repository."""
    await _mark(request, await request.repository(owner, repo), "star")


@delete(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteStar",
    tags=["user"],
)
async def delete_star(request: Call, owner: str, repo: str) -> None:
    """Take the star back."""
    await _unmark(request, await request.repository(owner, repo), "star")


@get(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=signed_in("read:user"),
    operation_id="userCurrentCheckStarring",
    tags=["user"],
    status_code=204,
)
async def check_star(request: Call, owner: str, repo: str) -> None:
    """Whether the caller starred it: 204 or 404."""
    await _require_marked(request, await request.repository(owner, repo), "star")


@get(
    "/api/v1/user/starred",
    policy=signed_in("read:user"),
    operation_id="userCurrentListStarred",
    tags=["user"],
)
async def list_own_stars(request: Call) -> Repositories:
    """Repositories that the caller starred."""
    return await _list(request, "star", request.who.id)


@get(
    "/api/v1/users/{username:str}/starred",
    policy=signed_in("read:user"),
    operation_id="userListStarred",
    tags=["user"],
)
async def list_stars(request: Call, username: str) -> Repositories:
    """Public repositories that a user starred."""
    return await _list(request, "star", (await request.visible_account(username)).id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/stargazers",
    policy=resource("read", "read:repository"),
    operation_id="repoListStargazers",
    tags=["repository"],
)
async def list_stargazers(request: Call) -> Response[list[User]]:
    """Who starred a repository."""
    return await _people(request, "star")


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=resource("signed-in", "write:repository"),
    operation_id="userCurrentPutSubscription",
    tags=["repository"],
    status_code=200,
)
async def put_watch(request: Call) -> WatchInfo:
    """Watch a repository."""
    await _mark(request, request.found, "watch")
    return _info(request, request.found)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=resource("signed-in", "write:repository"),
    operation_id="userCurrentDeleteSubscription",
    tags=["repository"],
)
async def delete_watch(request: Call) -> None:
    """Watch it no longer."""
    await _unmark(request, request.found, "watch")


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/subscription",
    policy=resource("signed-in", "read:repository"),
    operation_id="userCurrentCheckSubscription",
    tags=["repository"],
)
async def check_watch(request: Call) -> WatchInfo:
    """Whether the caller watches it; 404 if not."""
    await _require_marked(request, request.found, "watch")
    return _info(request, request.found)


@get(
    "/api/v1/user/subscriptions",
    policy=signed_in("read:user"),
    operation_id="userCurrentListSubscriptions",
    tags=["user"],
)
async def list_own_watches(request: Call) -> Repositories:
    """Repositories that the caller watches."""
    return await _list(request, "watch", request.who.id)


@get(
    "/api/v1/users/{username:str}/subscriptions",
    policy=signed_in("read:user"),
    operation_id="userListSubscriptions",
    tags=["user"],
)
async def list_watches(request: Call, username: str) -> Repositories:
    """Public repositories that a user watches."""
    return await _list(request, "watch", (await request.visible_account(username)).id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/subscribers",
    policy=resource("read", "read:repository"),
    operation_id="repoListSubscribers",
    tags=["repository"],
)
async def list_subscribers(request: Call) -> Response[list[User]]:
    """Who watches a repository."""
    return await _people(request, "watch")


routes = [
    put_star,
    delete_star,
    check_star,
    list_own_stars,
    list_stars,
    list_stargazers,
    put_watch,
    delete_watch,
    check_watch,
    list_own_watches,
    list_watches,
    list_subscribers,
]
