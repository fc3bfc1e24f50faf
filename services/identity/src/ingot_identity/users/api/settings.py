"""Routes for the caller's settings: the profile, and the visibility of the address."""

from typing import Annotated, Any

import msgspec
from litestar import get, patch
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import signed_in
from ingot_contracts.limits import WEB_URL, Name
from ingot_contracts.web import Density, TabWidth
from ingot_identity.accounts.api.fields import Text50, Text100
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as store
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.users import rules as accounts

Language = Annotated[str, msgspec.Meta(max_length=35, pattern="^([A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*)?$")]
"""A language tag such as `en-US` (RFC 5646; clients also write `de_de`), or empty."""
DEFAULT_THEME = "gitea-auto"
"""The theme that follows the system, by its name in clients."""


class EditSettings(msgspec.Struct, kw_only=True):
    """A change of settings. `hide_email` shows a generated address instead of the real one to other users.

    `hide_activity` shows the user's activities only to the user and to site administrators. `theme` is the
    theme of pages: `system`, `light`, `dark` or `contrast`; other names are stored for programs, and pages
    follow the system. `language` and `diff_view_style` are stored for programs that show pages. `density` and
    `tab_width` (in characters) are extensions.
    """

    full_name: Text100 | UnsetType = UNSET
    website: Annotated[Name, WEB_URL] | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    hide_email: bool | UnsetType = UNSET
    hide_activity: bool | UnsetType = UNSET
    language: Language | UnsetType = UNSET
    theme: Name | UnsetType = UNSET
    density: Density | UnsetType = UNSET
    tab_width: TabWidth | UnsetType = UNSET
    diff_view_style: Name | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """Return the changes in the form that the use case takes."""
        changes = set_fields(self)
        if "hide_email" in changes:
            changes["email_private"] = changes.pop("hide_email")
        return changes


class UserSettings(msgspec.Struct, kw_only=True):
    full_name: str
    website: str
    description: str
    location: str
    hide_email: bool
    hide_activity: bool
    language: str
    theme: str
    density: Density
    tab_width: TabWidth
    diff_view_style: str


def present_settings(row: AccountRow) -> UserSettings:
    return UserSettings(
        full_name=row.full_name,
        website=row.website,
        description=row.description,
        location=row.location,
        hide_email=row.email_private,
        hide_activity=row.hide_activity,
        language=row.language,
        theme=row.theme or DEFAULT_THEME,
        density=row.density,
        tab_width=row.tab_width,
        diff_view_style=row.diff_view_style,
    )


@get("/api/v1/user/settings", policy=signed_in("read:user"), operation_id="getUserSettings", tags=["user"])
async def get_settings(request: IdentityRequest) -> UserSettings:
    """Return the caller's settings."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id)
    if row is None:
        raise NotFound
    return present_settings(row)


@patch(
    "/api/v1/user/settings", policy=signed_in("write:user"), operation_id="updateUserSettings", tags=["user"]
)
async def edit_settings(request: IdentityRequest, data: EditSettings) -> UserSettings:
    """Change the caller's settings. Absent fields keep their values."""
    async with request.db.transaction() as tx:
        row = await accounts.edit_user(tx, request.presenter, request.principal.id, data.columns())
    return present_settings(row)


routes = [get_settings, edit_settings]
