"""Members of organizations, and which of them the world may see."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.core import organizations
from ingot_identity.store import organizations as store


@get(
    "/api/v1/orgs/{org:str}/members",
    policy=anyone("read:organization"),
    operation_id="orgListMembers",
    tags=["organization"],
)
async def list_members(request: Call, org: str) -> Response[list[User]]:
    """Members by name; people outside see the public ones only."""
    organization = await request.organization(org)
    return await _list(request, organization.id, public_only=not await _inside(request, organization.id))


@get(
    "/api/v1/orgs/{org:str}/public_members",
    policy=anyone("read:organization"),
    operation_id="orgListPublicMembers",
    tags=["organization"],
)
async def list_public_members(request: Call, org: str) -> Response[list[User]]:
    """Members who show that they are, by name."""
    organization = await request.organization(org)
    return await _list(request, organization.id, public_only=True)


@get(
    "/api/v1/orgs/{org:str}/members/{username:str}",
    policy=anyone("read:organization"),
    operation_id="orgIsMember",
    tags=["organization"],
    status_code=204,
)
async def check_member(request: Call, org: str, username: str) -> None:
    """204 if the user is a member that the caller may know of, else 404."""
    organization = await request.organization(org)
    user = await request.user(username)
    check = store.is_member if await _inside(request, organization.id) else store.is_public_member
    async with request.db.read() as db:
        if not await check(db, organization.id, user.id):
            raise NotFound


@delete(
    "/api/v1/orgs/{org:str}/members/{username:str}",
    policy=signed_in("write:organization"),
    operation_id="orgDeleteMember",
    tags=["organization"],
)
async def remove_member(request: Call, org: str, username: str) -> None:
    """Take a user out of the organization and all its teams."""
    organization = await request.organization(org)
    async with request.db.read() as db:
        await organizations.require_owner(db, request.who, organization.id)
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await organizations.require_owner(tx, request.who, organization.id)
        await organizations.remove_member(tx, organization.id, user.id)


@get(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=anyone("read:organization"),
    operation_id="orgIsPublicMember",
    tags=["organization"],
    status_code=204,
)
async def check_public_member(request: Call, org: str, username: str) -> None:
    """204 if the user is a member and shows it, else 404."""
    organization = await request.organization(org)
    user = await request.user(username)
    async with request.db.read() as db:
        if not await store.is_public_member(db, organization.id, user.id):
            raise NotFound


@put(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=signed_in("write:organization"),
    operation_id="orgPublicizeMember",
    tags=["organization"],
    status_code=204,
)
async def publicize(request: Call, org: str, username: str) -> None:
    """Show one's own membership."""
    await _set_public(request, org, username, public=True)


@delete(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=signed_in("write:organization"),
    operation_id="orgConcealMember",
    tags=["organization"],
)
async def conceal(request: Call, org: str, username: str) -> None:
    """Conceal one's own membership."""
    await _set_public(request, org, username, public=False)


async def _set_public(request: Call, org: str, username: str, *, public: bool) -> None:
    organization = await request.organization(org)
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await organizations.set_public(tx, request.who, organization.id, user.id, public=public)


async def _inside(request: Call, organization_id: int) -> bool:
    if request.who.admin:
        return True
    async with request.db.read() as db:
        return await store.is_member(db, organization_id, request.who.id)


async def _list(request: Call, organization_id: int, *, public_only: bool) -> Response[list[User]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_members(db, organization_id, page, public_only=public_only)
    members = [request.viewing.user(row, show_email=request.who.signed_in) for row in rows]
    return Response(members, headers=request.page_headers(page, total))


routes = [
    list_members,
    list_public_members,
    check_member,
    remove_member,
    check_public_member,
    publicize,
    conceal,
]
