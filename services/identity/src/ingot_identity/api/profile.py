"""What people say about themselves, and whether their address is shown."""

from typing import Any

import msgspec
from litestar import get, patch
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import signed_in
from ingot_identity.api.call import Call
from ingot_identity.api.changes import Text50, Text100, Text255, given
from ingot_identity.core import accounts
from ingot_identity.store import accounts as store


class EditSettings(msgspec.Struct, kw_only=True):
    """`hide_email` puts a made-up address in the place of the real one, everywhere."""

    full_name: Text100 | UnsetType = UNSET
    website: Text255 | UnsetType = UNSET
    description: Text255 | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    hide_email: bool | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """The changes, as the use case takes them."""
        changes = given(self)
        if "hide_email" in changes:
            changes["email_private"] = changes.pop("hide_email")
        return changes


class UserSettings(msgspec.Struct, kw_only=True):
    full_name: str
    website: str
    description: str
    location: str
    hide_email: bool


def view(row: Any) -> UserSettings:
    return UserSettings(
        full_name=row.full_name,
        website=row.website,
        description=row.description,
        location=row.location,
        hide_email=row.email_private,
    )


@get("/api/v1/user/settings", policy=signed_in("read:user"), operation_id="getUserSettings", tags=["user"])
async def get_settings(request: Call) -> UserSettings:
    """The caller's settings."""
    async with request.db.read() as db:
        row = await store.get(db, request.who.id)
    if row is None:
        raise NotFound
    return view(row)


@patch(
    "/api/v1/user/settings", policy=signed_in("write:user"), operation_id="updateUserSettings", tags=["user"]
)
async def edit_settings(request: Call, data: EditSettings) -> UserSettings:
    """Change the caller's settings; what is absent stays."""
    async with request.db.transaction() as tx:
        row = await accounts.edit_user(tx, request.viewing, request.who.id, data.columns())
    return view(row)


routes = [get_settings, edit_settings]
