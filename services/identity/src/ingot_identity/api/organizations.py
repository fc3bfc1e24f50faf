"""Organizations."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.identity import Visibility
from ingot_identity.api.call import Call, enter_as_owner
from ingot_identity.api.changes import Text50, Text100, Text255, given
from ingot_identity.core import departures, organizations
from ingot_identity.store import organizations as store


def _named(_handler: Any, _method: Any, path: Sequence[Any]) -> str:
    """The operation id of the route with two spellings: the interface has the singular one."""
    return "orgListUserOrgs" if "user" in path else "orgListUserOrgsAlias"


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


class EditOrganization(msgspec.Struct, kw_only=True):
    full_name: Text100 | UnsetType = UNSET
    description: Text255 | UnsetType = UNSET
    website: Text255 | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    visibility: Visibility | UnsetType = UNSET


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


@patch(
    "/api/v1/orgs/{org:str}",
    policy=signed_in("write:organization"),
    guards=[enter_as_owner],
    operation_id="orgEdit",
    tags=["organization"],
)
async def edit_organization(request: Call, org: str, data: EditOrganization) -> Organization:
    """Change an organization; what is absent stays."""
    organization = await request.organization(org)
    async with request.db.transaction() as tx:
        await organizations.require_owner(tx, request.who, organization.id)
        row = await organizations.edit(tx, request.viewing, organization.id, given(data))
    return view(request, row)


@delete(
    "/api/v1/orgs/{org:str}",
    policy=signed_in("write:organization"),
    operation_id="orgDelete",
    tags=["organization"],
)
async def delete_organization(request: Call, org: str) -> None:
    """Delete an organization that owns no repositories."""
    organization = await request.organization(org)
    async with request.db.read() as db:
        await organizations.require_owner(db, request.who, organization.id)
    await departures.wait_for_news(request.db, organization.id, request.settings.deletion_patience)
    async with request.db.transaction() as tx:
        await organizations.require_owner(tx, request.who, organization.id)
        await departures.delete_organization(tx, organization.id, by=request.who.id)


@get(
    "/api/v1/user/orgs",
    policy=signed_in("read:organization"),
    operation_id="orgListCurrentUserOrgs",
    tags=["organization"],
)
async def list_own_organizations(request: Call) -> Response[list[Organization]]:
    """Organizations the caller belongs to."""
    return await _list_of(request, request.who.id)


@get(
    ["/api/v1/users/{username:str}/orgs", "/api/v1/user/{username:str}/orgs"],
    policy=anyone("read:organization"),
    operation_id=_named,
    tags=["organization"],
)
async def list_organizations_of(request: Call, username: str) -> Response[list[Organization]]:
    """Organizations a user belongs to, as far as the caller may know."""
    return await _list_of(request, (await request.user(username)).id)


async def _list_of(request: Call, user_id: int) -> Response[list[Organization]]:
    page = request.page()
    everything = request.who.admin or request.who.id == user_id
    async with request.db.read() as db:
        rows, total = await store.organizations_of(
            db, user_id, page, seen_by=None if everything else request.who.id
        )
    return Response([view(request, row) for row in rows], headers=request.page_headers(page, total))


routes = [
    create_organization,
    get_organization,
    edit_organization,
    delete_organization,
    list_own_organizations,
    list_organizations_of,
]
