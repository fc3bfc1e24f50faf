"""Routes for following users."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_identity.access.api import of_user, own_relation_to_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.follows import rules
from ingot_identity.follows import store as follows


@get(
    "/api/v1/user/followers",
    policy=signed_in("read:user"),
    operation_id="userCurrentListFollowers",
    tags=["user"],
)
async def list_own_followers(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List followers of the caller."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.list_followers(db, request.principal.id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get(
    "/api/v1/user/following",
    policy=signed_in("read:user"),
    operation_id="userCurrentListFollowing",
    tags=["user"],
)
async def list_own_following(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List users whom the caller follows."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.list_following(db, request.principal.id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get(
    "/api/v1/user/following/{username:str}",
    policy=own_relation_to_user("read:user"),
    operation_id="userCurrentCheckFollowing",
    tags=["user"],
    status_code=204,
)
async def check_own_following(request: IdentityRequest) -> None:
    """Answer 204 if the caller follows that user, else 404."""
    await _require_follow(request, request.principal.id, request.account.id)


@put(
    "/api/v1/user/following/{username:str}",
    policy=own_relation_to_user("write:user"),
    operation_id="userCurrentPutFollow",
    tags=["user"],
    status_code=204,
)
async def start_following(request: IdentityRequest) -> None:
    """Follow a user. Following oneself has no effect."""
    async with request.db.transaction() as tx:
        await rules.follow(tx, request.principal.id, request.account.id)


@delete(
    "/api/v1/user/following/{username:str}",
    policy=own_relation_to_user("write:user"),
    operation_id="userCurrentDeleteFollow",
    tags=["user"],
)
async def stop_following(request: IdentityRequest) -> None:
    """Stop following a user."""
    async with request.db.transaction() as tx:
        await follows.remove(tx, request.principal.id, request.account.id)


@get(
    "/api/v1/users/{username:str}/followers",
    policy=of_user(SignIn.REQUIRED, "read:user"),
    operation_id="userListFollowers",
    tags=["user"],
)
async def list_followers(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List followers of a user."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.list_followers(db, request.account.id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get(
    "/api/v1/users/{username:str}/following",
    policy=of_user(SignIn.REQUIRED, "read:user"),
    operation_id="userListFollowing",
    tags=["user"],
)
async def list_following(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List users whom a user follows."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await follows.list_following(db, request.account.id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get(
    "/api/v1/users/{username:str}/following/{followee:str}",
    policy=of_user(SignIn.REQUIRED, "read:user"),
    operation_id="userCheckFollowing",
    tags=["user"],
    status_code=204,
)
async def check_following(request: IdentityRequest, followee: str) -> None:
    """Answer 204 if the first user follows the second, else 404."""
    followed = await request.user(followee)
    await _require_follow(request, request.account.id, followed.id)


async def _require_follow(request: IdentityRequest, follower_id: int, followed_id: int) -> None:
    async with request.db.read() as db:
        if not await follows.exists(db, follower_id, followed_id):
            raise NotFound


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
