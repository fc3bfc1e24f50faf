"""Routes for members of organizations, and for the visibility of their membership."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization
from ingot_identity.access.rules import Level
from ingot_identity.access.store import memberships
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.members import rules as members
from ingot_identity.members import store


@get(
    "/api/v1/orgs/{org:str}/members",
    policy=in_organization(Level.READ, "read:organization"),
    operation_id="orgListMembers",
    tags=["organization"],
)
async def list_members(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List members by name. Callers who are not members see only public memberships."""
    return await _list(request, public_only=not await _sees_concealed_members(request))


@get(
    "/api/v1/orgs/{org:str}/public_members",
    policy=in_organization(Level.READ, "read:organization"),
    operation_id="orgListPublicMembers",
    tags=["organization"],
)
async def list_public_members(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List members with a public membership, by name."""
    return await _list(request, public_only=True)


@get(
    "/api/v1/orgs/{org:str}/members/{username:str}",
    policy=in_organization(Level.READ, "read:organization"),
    operation_id="orgIsMember",
    tags=["organization"],
    status_code=204,
)
async def check_member(request: IdentityRequest, username: str) -> None:
    """Answer 204 if the user is a member whom the caller may see, else 404."""
    user = await request.user(username)
    await _require_member(request, user.id, public_only=not await _sees_concealed_members(request))


@delete(
    "/api/v1/orgs/{org:str}/members/{username:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgDeleteMember",
    tags=["organization"],
)
async def remove_member(request: IdentityRequest, username: str) -> None:
    """Remove a user from the organization and all its teams."""
    organization_id = request.organization.id
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await members.remove_by_hand(tx, organization_id, user.id)
        subject = f"organization {request.organization.login}"
        await request.audit(tx, "member.remove", subject, user=user.login)


@get(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=in_organization(Level.READ, "read:organization"),
    operation_id="orgIsPublicMember",
    tags=["organization"],
    status_code=204,
)
async def check_public_member(request: IdentityRequest, username: str) -> None:
    """Answer 204 if the user has a public membership, else 404."""
    user = await request.user(username)
    await _require_member(request, user.id, public_only=True)


@put(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=in_organization(Level.READ, "write:organization"),
    operation_id="orgPublicizeMember",
    tags=["organization"],
    status_code=204,
)
async def publicize(request: IdentityRequest, username: str) -> None:
    """Make the caller's own membership public."""
    await _set_public(request, username, public=True)


@delete(
    "/api/v1/orgs/{org:str}/public_members/{username:str}",
    policy=in_organization(Level.READ, "write:organization"),
    operation_id="orgConcealMember",
    tags=["organization"],
)
async def conceal(request: IdentityRequest, username: str) -> None:
    """Conceal the caller's own membership."""
    await _set_public(request, username, public=False)


async def _set_public(request: IdentityRequest, username: str, *, public: bool) -> None:
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await members.set_public(tx, request.principal, request.organization.id, user.id, public=public)


async def _sees_concealed_members(request: IdentityRequest) -> bool:
    async with request.db.read() as db:
        return await access.sees_concealed_members(db, request.principal, request.organization.id)


async def _require_member(request: IdentityRequest, user_id: int, *, public_only: bool) -> None:
    async with request.db.read() as db:
        if not await memberships.exists(db, request.organization.id, user_id, public_only=public_only):
            raise NotFound


async def _list(request: IdentityRequest, *, public_only: bool) -> Response[list[UserProfile]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.organization.id, page, public_only=public_only)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


routes = [
    list_members,
    list_public_members,
    check_member,
    remove_member,
    check_public_member,
    publicize,
    conceal,
]
