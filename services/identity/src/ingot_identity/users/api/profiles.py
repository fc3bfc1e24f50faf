"""Routes for users, and for the caller's own account."""

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, signed_in
from ingot_identity.access.api import of_account, public
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.accounts.store import follows
from ingot_identity.users import store


class UserSearchResults(msgspec.Struct):
    ok: bool
    data: list[UserProfile]


@get("/api/v1/user", policy=signed_in("read:user"), operation_id="userGetCurrent", tags=["user"])
async def get_current(request: IdentityRequest) -> UserProfile:
    """Return the authenticated user."""
    async with request.db.read() as db:
        row = await follows.get_profile(db, request.principal.id)
    if row is None:
        raise NotFound
    return request.presenter.user(row, row, request.principal)


@get(
    "/api/v1/users/search",
    policy=public("read:user"),
    operation_id="userSearch",
    is_paged=True,
    tags=["user"],
)
async def search(request: IdentityRequest, q: str = "", uid: int = 0) -> Response[UserSearchResults]:
    """List users whose name, full name or visible address contains `q`; with `uid` only that user."""
    if not 0 <= uid <= MAX_ID:
        raise Invalid.field("uid", "range", "is no id")
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.search_users(db, q.strip(), page, request.principal, user_id=uid)
        users = await request.present_users(db, rows)
    return Response(UserSearchResults(ok=True, data=users), headers=request.page_headers(page, total))


@get("/api/v1/users/{username:str}", policy=of_account("read:user"), operation_id="userGet", tags=["user"])
async def get_user(request: IdentityRequest) -> UserProfile:
    """Return a user, or an organization in the form of a user."""
    async with request.db.read() as db:
        return await request.present_user(db, request.account)


routes = [get_current, search, get_user]
