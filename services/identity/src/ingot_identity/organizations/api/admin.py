"""Routes for organizations, for site administrators."""

from litestar import Response, get, post

from ingot_chassis.http.policy import admin
from ingot_identity.access.api import of_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import Organization
from ingot_identity.organizations import rules as organizations
from ingot_identity.organizations import store
from ingot_identity.organizations.api.profiles import CreateOrgOption


@post(
    "/api/v1/admin/users/{username:str}/orgs",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminCreateOrg",
    tags=["admin"],
    status_code=201,
)
async def create_organization(request: IdentityRequest, data: CreateOrgOption) -> Organization:
    """Create an organization that a user owns."""
    async with request.db.transaction() as tx:
        row = await organizations.create(tx, request.presenter, owner_id=request.account.id, **data.details())
        await request.audit(
            tx, "organization.create", f"organization {row.login}", id=row.id, owner=request.account.login
        )
    return request.presenter.organization(row)


@get("/api/v1/admin/orgs", policy=admin("read:admin"), operation_id="adminGetAllOrgs", tags=["admin"])
async def list_organizations(request: IdentityRequest) -> Response[list[Organization]]:
    """List all organizations by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_visible(db, page, viewer=None)
    listed = [request.presenter.organization(row) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


routes = [create_organization, list_organizations]
