"""Lists for site administrators: users, organizations, addresses."""

from collections.abc import Collection

from litestar import Response, get

from ingot_chassis.errors import Invalid
from ingot_chassis.http.policy import admin
from ingot_identity.api.emails import Email, present_email
from ingot_identity.api.organizations import Organization, present_organization
from ingot_identity.api.request import IdentityRequest
from ingot_identity.core.presenter import UserProfile
from ingot_identity.store import emails, organizations, searches
from ingot_identity.store.searches import SORT_COLUMNS, UserFilter
from ingot_identity.store.tables import AccountVisibility

READ = "read:admin"


@get("/api/v1/admin/users", policy=admin(READ), operation_id="adminSearchUsers", tags=["admin"])
async def list_users(
    request: IdentityRequest,
    q: str = "",
    source_id: int = 0,
    login_name: str = "",
    sort: str = "",
    order: str = "",
    visibility: str = "",
    is_active: bool | None = None,
    is_admin: bool | None = None,
    is_restricted: bool | None = None,
    is_2fa_enabled: bool | None = None,
    is_prohibit_login: bool | None = None,
) -> Response[list[UserProfile]]:
    """Users, by name unless `sort` is created, updated or id; `order` is asc or desc.

    All users sign in here, are public and not restricted, so other values of these filters find nobody.
    """
    _require_one_of("sort", sort, SORT_COLUMNS)
    _require_one_of("order", order, ("asc", "desc"))
    _require_one_of("visibility", visibility, [level.value for level in AccountVisibility])
    user_filter = UserFilter(
        text=q.strip(),
        login_name=login_name,
        admin=is_admin,
        active=is_active,
        login_prohibited=is_prohibit_login,
        two_factor=is_2fa_enabled,
        nobody=bool(source_id or is_restricted) or visibility not in ("", AccountVisibility.PUBLIC),
    )
    page = request.page()
    async with request.db.read() as db:
        rows, total = await searches.list_users(
            db, user_filter, page, sort=sort or "name", descending=order == "desc"
        )
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get("/api/v1/admin/orgs", policy=admin(READ), operation_id="adminGetAllOrgs", tags=["admin"])
async def list_organizations(request: IdentityRequest) -> Response[list[Organization]]:
    """All organizations, by name."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await organizations.list_visible(db, page, viewer_id=None)
    listed = [present_organization(request, row) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


@get("/api/v1/admin/emails", policy=admin(READ), operation_id="adminGetAllEmails", tags=["admin"])
async def list_emails(request: IdentityRequest) -> Response[list[Email]]:
    """All addresses of all users."""
    return await _emails(request, "")


@get("/api/v1/admin/emails/search", policy=admin(READ), operation_id="adminSearchEmails", tags=["admin"])
async def search_emails(request: IdentityRequest, q: str = "") -> Response[list[Email]]:
    """Addresses that contain `q`, or whose owner's name does."""
    return await _emails(request, q.strip())


async def _emails(request: IdentityRequest, text: str) -> Response[list[Email]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await emails.search(db, text, page)
    listed = [present_email(row, row.login) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


def _require_one_of(field: str, value: str, allowed: Collection[str]) -> None:
    """Raises Invalid, unless ``value`` is empty or allowed."""
    if value and value not in allowed:
        raise Invalid.field(field, "unknown", f"is none of {', '.join(allowed)}")


routes = [list_users, list_organizations, list_emails, search_emails]
