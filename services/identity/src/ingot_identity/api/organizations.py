"""Organizations and their members."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.identity import User, Visibility
from ingot_identity.api.call import Call
from ingot_identity.core import organizations
from ingot_identity.store import organizations as store

Text50 = Annotated[str, msgspec.Meta(max_length=50)]
Text100 = Annotated[str, msgspec.Meta(max_length=100)]
Text255 = Annotated[str, msgspec.Meta(max_length=255)]


class CreateOrganization(msgspec.Struct, kw_only=True):
    username: str
    full_name: Text100 = ""
    description: Text255 = ""
    website: Text255 = ""
    location: Text50 = ""
    visibility: Visibility = "public"

    def details(self) -> dict[str, Any]:
        """As the use case takes them."""
        return {
            "login": self.username,
            "full_name": self.full_name,
            "description": self.description,
            "website": self.website,
            "location": self.location,
            "visibility": self.visibility,
        }


class Organization(msgspec.Struct, kw_only=True):
    id: int
    username: str
    full_name: str
    avatar_url: str
    description: str
    website: str
    location: str
    visibility: str


def view(request: Call, row: Any) -> Organization:
    """An organization as the API shows it."""
    return Organization(
        id=row.id,
        username=row.login,
        full_name=row.full_name,
        avatar_url=request.viewing.avatar(row),
        description=row.description,
        website=row.website,
        location=row.location,
        visibility=row.visibility,
    )


@post(
    "/api/v1/orgs",
    policy=signed_in("write:organization"),
    operation_id="orgCreate",
    tags=["organization"],
    status_code=201,
)
async def create_organization(request: Call, data: CreateOrganization) -> Organization:
    """Create an organization that the caller owns."""
    async with request.db.transaction() as tx:
        row = await organizations.create(tx, request.viewing, owner_id=request.who.id, **data.details())
    return view(request, row)


@get(
    "/api/v1/orgs/{org:str}", policy=anyone("read:organization"), operation_id="orgGet", tags=["organization"]
)
async def get_organization(request: Call, org: str) -> Organization:
    """An organization."""
    return view(request, await request.organization(org))


@get(
    "/api/v1/orgs/{org:str}/members",
    policy=anyone("read:organization"),
    operation_id="orgListMembers",
    tags=["organization"],
)
async def list_members(request: Call, org: str) -> Response[list[User]]:
    """Members by name; people outside see the public ones only."""
    organization = await request.organization(org)
    page = request.page()
    async with request.db.read() as db:
        inside = request.who.admin or await store.is_member(db, organization.id, request.who.id)
        rows, total = await store.list_members(db, organization.id, page, public_only=not inside)
    members = [request.viewing.user(row, show_email=request.who.signed_in) for row in rows]
    return Response(members, headers=request.page_headers(page, total))


@get(
    "/api/v1/user/orgs",
    policy=signed_in("read:organization"),
    operation_id="orgListCurrentUserOrgs",
    tags=["organization"],
)
async def list_own_organizations(request: Call) -> Response[list[Organization]]:
    """Organizations the caller belongs to."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.organizations_of(db, request.who.id, page)
    return Response([view(request, row) for row in rows], headers=request.page_headers(page, total))


routes = [create_organization, get_organization, list_members, list_own_organizations]
