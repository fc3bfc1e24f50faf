"""Routes that list users, for site administrators."""

from collections.abc import Collection

from litestar import Response, get

from ingot_chassis.errors import Invalid
from ingot_chassis.http.policy import admin
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.accounts.store.tables import AccountVisibility
from ingot_identity.users import store
from ingot_identity.users.store import SORT_COLUMNS, UserFilter


@get("/api/v1/admin/users", policy=admin("read:admin"), operation_id="adminSearchUsers", tags=["admin"])
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
    """List users, by name unless `sort` is created, updated or id; `order` is asc or desc.

    `source_id` 0 matches all. All users are public, so other values of `visibility` match no user.
    """
    _require_one_of("sort", sort, SORT_COLUMNS)
    _require_one_of("order", order, ("asc", "desc"))
    _require_one_of("visibility", visibility, [level.value for level in AccountVisibility])
    user_filter = UserFilter(
        text=q.strip(),
        login_name=login_name,
        source_id=source_id,
        admin=is_admin,
        active=is_active,
        login_prohibited=is_prohibit_login,
        restricted=is_restricted,
        two_factor=is_2fa_enabled,
        matches_none=visibility not in ("", AccountVisibility.PUBLIC),
    )
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_users(
            db, user_filter, page, sort=sort or "name", descending=order == "desc"
        )
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


def _require_one_of(field: str, value: str, allowed: Collection[str]) -> None:
    """Raise Invalid unless ``value`` is empty or allowed."""
    if value and value not in allowed:
        raise Invalid.field(field, "unknown", f"is none of {', '.join(allowed)}")


routes = [list_users]
