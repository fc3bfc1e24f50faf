"""Routes for users whom the caller, or an organization, blocks."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization, own_relation_to_user
from ingot_identity.access.rules import Level
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.blocks import rules as blocks
from ingot_identity.blocks import store


@get("/api/v1/user/blocks", policy=signed_in("read:user"), operation_id="userListBlocks", tags=["user"])
async def list_own_blocks(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List users whom the caller blocks."""
    return await _list(request, request.principal.id)


@get(
    "/api/v1/user/blocks/{username:str}",
    policy=own_relation_to_user("read:user"),
    operation_id="userCheckUserBlock",
    tags=["user"],
    status_code=204,
)
async def check_own_block(request: IdentityRequest) -> None:
    """Answer 204 if the caller blocks that user, else 404."""
    async with request.db.read() as db:
        if not await store.exists(db, request.principal.id, request.account.id):
            raise NotFound


@put(
    "/api/v1/user/blocks/{username:str}",
    policy=own_relation_to_user("write:user"),
    operation_id="userBlockUser",
    tags=["user"],
    status_code=204,
)
async def block(request: IdentityRequest, note: str = "") -> None:
    """Block a user. Both stop following each other."""
    async with request.db.transaction() as tx:
        await blocks.block(tx, request.principal.id, request.account.id, note)


@delete(
    "/api/v1/user/blocks/{username:str}",
    policy=own_relation_to_user("write:user"),
    operation_id="userUnblockUser",
    tags=["user"],
)
async def unblock(request: IdentityRequest) -> None:
    """Stop blocking a user."""
    async with request.db.transaction() as tx:
        await store.remove(tx, request.principal.id, request.account.id)


@get(
    "/api/v1/orgs/{org:str}/blocks",
    policy=in_organization(Level.OWNER, "read:organization"),
    operation_id="organizationListBlocks",
    tags=["organization"],
)
async def list_blocks_of_organization(request: IdentityRequest) -> Response[list[UserProfile]]:
    """List users whom the organization blocks."""
    return await _list(request, request.organization.id)


@get(
    "/api/v1/orgs/{org:str}/blocks/{username:str}",
    policy=in_organization(Level.OWNER, "read:organization"),
    operation_id="organizationCheckUserBlock",
    tags=["organization"],
    status_code=204,
)
async def check_block_of_organization(request: IdentityRequest, username: str) -> None:
    """Answer 204 if the organization blocks that user, else 404."""
    user = await request.user(username)
    async with request.db.read() as db:
        if not await store.exists(db, request.organization.id, user.id):
            raise NotFound


@put(
    "/api/v1/orgs/{org:str}/blocks/{username:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="organizationBlockUser",
    tags=["organization"],
    status_code=204,
)
async def block_for_organization(request: IdentityRequest, username: str, note: str = "") -> None:
    """Block a user who is not a member."""
    user, organization_id = await request.user(username), request.organization.id
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await blocks.block(tx, organization_id, user.id, note)


@delete(
    "/api/v1/orgs/{org:str}/blocks/{username:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="organizationUnblockUser",
    tags=["organization"],
)
async def unblock_for_organization(request: IdentityRequest, username: str) -> None:
    """Stop blocking a user."""
    user, organization_id = await request.user(username), request.organization.id
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await store.remove(tx, organization_id, user.id)


async def _list(request: IdentityRequest, blocker_id: int) -> Response[list[UserProfile]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, blocker_id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


routes = [
    list_own_blocks,
    check_own_block,
    block,
    unblock,
    list_blocks_of_organization,
    check_block_of_organization,
    block_for_organization,
    unblock_for_organization,
]
