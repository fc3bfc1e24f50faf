"""Routes for organizations."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

import msgspec
from litestar import Response, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import signed_in
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Visibility
from ingot_contracts.limits import WEB_URL, Name
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization, of_membership, of_user, public
from ingot_identity.access.rules import Level, SignIn, UserInOrganization
from ingot_identity.access.store.teams import TeamPermission
from ingot_identity.accounts.api.fields import Text50, Text100
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import Organization
from ingot_identity.members import rules as members
from ingot_identity.organizations import rules as organizations
from ingot_identity.organizations import store


def _operation_id(_handler: Any, _method: Any, path: Sequence[Any]) -> str:
    """Return the operation id of a route with two paths. Clients know the id of the path with ``user``."""
    return "orgListUserOrgs" if "user" in path else "orgListUserOrgsAlias"


class CreateOrgOption(msgspec.Struct, kw_only=True):
    username: Name
    full_name: Text100 = ""
    description: Name = ""
    website: Annotated[Name, WEB_URL] = ""
    location: Text50 = ""
    email: Name = ""
    visibility: Visibility = "public"
    repo_admin_change_team_access: bool = False

    def details(self) -> dict[str, Any]:
        """Return the organization's columns."""
        return {
            "login": self.username,
            "full_name": self.full_name,
            "description": self.description,
            "website": self.website,
            "location": self.location,
            "email": self.email,
            "visibility": self.visibility,
            "repo_admin_change_team_access": self.repo_admin_change_team_access,
        }


class EditOrgOption(msgspec.Struct, kw_only=True):
    full_name: Text100 | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    website: Annotated[Name, WEB_URL] | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    email: Name | UnsetType = UNSET
    visibility: Visibility | UnsetType = UNSET
    repo_admin_change_team_access: bool | UnsetType = UNSET


class RenameOrganization(msgspec.Struct):
    new_name: Name


class OrganizationPermissions(msgspec.Struct, kw_only=True):
    is_owner: bool
    is_admin: bool
    can_write: bool
    can_read: bool
    can_create_repository: bool


@post(
    "/api/v1/orgs",
    policy=signed_in("write:organization"),
    operation_id="orgCreate",
    tags=["organization"],
    status_code=201,
)
async def create_organization(request: IdentityRequest, data: CreateOrgOption) -> Organization:
    """Create an organization that the caller owns."""
    async with request.db.transaction() as tx:
        await access.require_organization_creator(tx, request.principal)
        row = await organizations.create(
            tx, request.presenter, owner_id=request.principal.id, **data.details()
        )
        await request.audit(tx, "organization.create", f"organization {row.login}", id=row.id)
    return request.presenter.organization(row)


@get("/api/v1/orgs", policy=public("read:organization"), operation_id="orgGetAll", tags=["organization"])
async def list_all_organizations(request: IdentityRequest, q: str = "") -> Response[list[Organization]]:
    """List organizations that the caller may see, by name. With `q`, their names must contain `q`."""
    page, viewer = request.page(), None if request.principal.admin else request.principal
    async with request.db.read() as db:
        rows, total = await store.list_visible(db, page, viewer=viewer, text=q.strip())
    listed = [request.presenter.organization(row) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


@get(
    "/api/v1/users/{username:str}/orgs/{org:str}/permissions",
    policy=of_membership("read:organization"),
    operation_id="orgGetUserPermissions",
    tags=["organization"],
)
async def get_permissions(request: IdentityRequest) -> OrganizationPermissions:
    """Return the permissions of a user in an organization, by the teams of the user."""
    user, organization = cast("UserInOrganization", request.resource)
    async with request.db.read() as db:
        memberships = await members.memberships_of(db, user.id)
    membership = memberships.get(organization.id, Membership())
    permissions = set(membership.teams.values())
    is_admin = membership.owner or TeamPermission.ADMIN in permissions
    can_write = is_admin or TeamPermission.WRITE in permissions
    return OrganizationPermissions(
        is_owner=membership.owner,
        is_admin=is_admin,
        can_write=can_write,
        can_read=can_write or TeamPermission.READ in permissions,
        can_create_repository=membership.owner or membership.creates,
    )


@get(
    "/api/v1/orgs/{org:str}",
    policy=in_organization(Level.READ, "read:organization"),
    operation_id="orgGet",
    tags=["organization"],
)
async def get_organization(request: IdentityRequest) -> Organization:
    """Return an organization."""
    return request.presenter.organization(request.organization)


@patch(
    "/api/v1/orgs/{org:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgEdit",
    tags=["organization"],
)
async def edit_organization(request: IdentityRequest, data: EditOrgOption) -> Organization:
    """Change an organization. Absent fields keep their values."""
    organization_id = request.organization.id
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        row = await organizations.edit(tx, request.presenter, organization_id, set_fields(data))
        await request.audit(
            tx, "organization.edit", f"organization {row.login}", fields=sorted(set_fields(data))
        )
    return request.presenter.organization(row)


@post(
    "/api/v1/orgs/{org:str}/rename",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="renameOrg",
    tags=["organization"],
    status_code=204,
)
async def rename_organization(request: IdentityRequest, data: RenameOrganization) -> None:
    """Rename an organization. The old name is reserved for some time and redirects to the new name."""
    organization_id = request.organization.id
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await organizations.rename_organization(
            tx,
            request.presenter,
            organization_id,
            data.new_name,
            reserved_for=request.former_names_reserved_for,
        )
        subject = f"organization {request.organization.login}"
        await request.audit(tx, "organization.rename", subject, to=data.new_name)


@get(
    "/api/v1/user/orgs",
    policy=signed_in("read:organization"),
    operation_id="orgListCurrentUserOrgs",
    tags=["organization"],
)
async def list_own_organizations(request: IdentityRequest) -> Response[list[Organization]]:
    """List organizations of the caller."""
    return await _list_organizations(request, request.principal.id)


@get(
    ["/api/v1/users/{username:str}/orgs", "/api/v1/user/{username:str}/orgs"],
    policy=of_user(SignIn.OPTIONAL, "read:organization"),
    operation_id=_operation_id,
    tags=["organization"],
)
async def list_organizations(request: IdentityRequest) -> Response[list[Organization]]:
    """List organizations of a user that the caller may see."""
    return await _list_organizations(request, request.account.id)


async def _list_organizations(request: IdentityRequest, user_id: int) -> Response[list[Organization]]:
    page = request.page()
    everything = request.principal.admin or request.principal.id == user_id
    async with request.db.read() as db:
        rows, total = await store.list_page(
            db, user_id, page, viewer=None if everything else request.principal
        )
    return Response(
        [request.presenter.organization(row) for row in rows], headers=request.page_headers(page, total)
    )


routes = [
    create_organization,
    list_all_organizations,
    get_permissions,
    get_organization,
    edit_organization,
    rename_organization,
    list_own_organizations,
    list_organizations,
]
