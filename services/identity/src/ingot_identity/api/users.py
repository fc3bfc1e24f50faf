"""Users, and oneself."""

import msgspec
from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.store import accounts


class UserSearchResults(msgspec.Struct):
    ok: bool
    data: list[User]


@get("/api/v1/user", policy=signed_in("read:user"), operation_id="userGetCurrent", tags=["user"])
async def get_current(request: Call) -> User:
    """The authenticated user."""
    async with request.db.read() as db:
        row = await accounts.get(db, request.who.id)
    if row is None:
        raise NotFound
    return request.viewing.user(row)


@get("/api/v1/users/search", policy=anyone("read:user"), operation_id="userSearch", tags=["user"])
async def search(request: Call, q: str = "") -> Response[UserSearchResults]:
    """Users whose name or full name contains `q`."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await accounts.search_users(db, q.strip(), page)
    found = [request.viewing.user(row, show_email=request.who.signed_in) for row in rows]
    return Response(UserSearchResults(ok=True, data=found), headers=request.page_headers(page, total))


@get("/api/v1/users/{username:str}", policy=anyone("read:user"), operation_id="userGet", tags=["user"])
async def get_user(request: Call, username: str) -> User:
    """A user, or an organization seen as one."""
    async with request.db.read() as db:
        row = await accounts.get_by_login(db, username)
    if row is None:
        raise NotFound
    if row.kind == "organization":
        await request.organization(username)
    return request.viewing.user(row, show_email=request.who.signed_in)


routes = [get_current, search, get_user]
