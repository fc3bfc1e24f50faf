"""Following people."""

from typing import Any

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.paging import Page
from ingot_chassis.policy import signed_in
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.core.holding import kept
from ingot_identity.store import follows


@get(
    "/api/v1/user/followers",
    policy=signed_in("read:user"),
    operation_id="userCurrentListFollowers",
    tags=["user"],
)
async def list_own_followers(request: Call) -> Response[list[User]]:
    """Who follows the caller."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.followers_of(db, request.who.id, page)
    return _users(request, rows, page, total)


@get(
    "/api/v1/user/following",
    policy=signed_in("read:user"),
    operation_id="userCurrentListFollowing",
    tags=["user"],
)
async def list_own_following(request: Call) -> Response[list[User]]:
    """Whom the caller follows."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.followed_by(db, request.who.id, page)
    return _users(request, rows, page, total)


@get(
    "/api/v1/user/following/{username:str}",
    policy=signed_in("read:user"),
    operation_id="userCurrentCheckFollowing",
    tags=["user"],
    status_code=204,
)
async def check_own_following(request: Call, username: str) -> None:
    """204 if the caller follows that user, else 404."""
    followed = await request.user(username)
    await _require_following(request, request.who.id, followed.id)


@put(
    "/api/v1/user/following/{username:str}",
    policy=signed_in("write:user"),
    operation_id="userCurrentPutFollow",
    tags=["user"],
    status_code=204,
)
async def start_following(request: Call, username: str) -> None:
    """Follow a user. Nobody follows themselves, which is no error."""
    followed = await request.user(username)
    if followed.id == request.who.id:
        return
    async with request.db.transaction() as tx:
        for account_id in (request.who.id, followed.id):
            await kept(tx, account_id)
        await follows.add(tx, request.who.id, followed.id)


@delete(
    "/api/v1/user/following/{username:str}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteFollow",
    tags=["user"],
)
async def stop_following(request: Call, username: str) -> None:
    """Follow a user no more."""
    followed = await request.user(username)
    async with request.db.transaction() as tx:
        await follows.remove(tx, request.who.id, followed.id)


@get(
    "/api/v1/users/{username:str}/followers",
    policy=signed_in("read:user"),
    operation_id="userListFollowers",
    tags=["user"],
)
async def list_followers(request: Call, username: str) -> Response[list[User]]:
    """Who follows a user."""
    user = await request.user(username)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.followers_of(db, user.id, page)
    return _users(request, rows, page, total)


@get(
    "/api/v1/users/{username:str}/following",
    policy=signed_in("read:user"),
    operation_id="userListFollowing",
    tags=["user"],
)
async def list_following(request: Call, username: str) -> Response[list[User]]:
    """Whom a user follows."""
    user = await request.user(username)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.followed_by(db, user.id, page)
    return _users(request, rows, page, total)


@get(
    "/api/v1/users/{username:str}/following/{followee:str}",
    policy=signed_in("read:user"),
    operation_id="userCheckFollowing",
    tags=["user"],
    status_code=204,
)
async def check_following(request: Call, username: str, followee: str) -> None:
    """204 if the one follows the other, else 404."""
    follower, followed = await request.user(username), await request.user(followee)
    await _require_following(request, follower.id, followed.id)


async def _require_following(request: Call, follower_id: int, followed_id: int) -> None:
    async with request.db.read() as db:
        if not await follows.exists(db, follower_id, followed_id):
            raise NotFound


def _users(request: Call, rows: list[Any], page: Page, total: int) -> Response[list[User]]:
    return Response([request.viewing.user(row) for row in rows], headers=request.page_headers(page, total))


routes = [
    list_own_followers,
    list_own_following,
    check_own_following,
    start_following,
    stop_following,
    list_followers,
    list_following,
    check_following,
]
