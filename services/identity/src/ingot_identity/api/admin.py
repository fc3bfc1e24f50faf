"""What site administrators do for others."""

from typing import Any

import msgspec
from litestar import delete, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.policy import admin
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.api.changes import Text50, Text100, Text255, given
from ingot_identity.api.organizations import CreateOrganization, Organization, view
from ingot_identity.core import accounts, departures, organizations
from ingot_identity.core.passwords import Passwords


class CreateUser(msgspec.Struct, kw_only=True):
    """A user who may sign in at once."""

    username: str
    email: str
    password: str
    full_name: Text100 = ""
    login_name: str = ""
    source_id: int = 0
    send_notify: bool = False


class EditUser(msgspec.Struct, kw_only=True):
    """What is absent stays; so does the password when it is empty.

    Accounts sign in here and nowhere else, so `login_name` and `source_id` change nothing.
    """

    email: str | UnsetType = UNSET
    full_name: Text100 | UnsetType = UNSET
    password: str | UnsetType = UNSET
    website: Text50 | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    description: Text255 | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    admin: bool | UnsetType = UNSET
    prohibit_login: bool | UnsetType = UNSET
    login_name: str | UnsetType = UNSET
    source_id: int | UnsetType = UNSET

    async def columns(self, passwords: Passwords) -> dict[str, Any]:
        """The changes, as the use case takes them. Raises Invalid."""
        changes = given(self)
        changes.pop("login_name", None)
        changes.pop("source_id", None)
        if "prohibit_login" in changes:
            changes["login_prohibited"] = changes.pop("prohibit_login")
        if password := changes.pop("password", ""):
            changes["password_hash"] = await passwords.hash(password)
        return changes


class RenameUser(msgspec.Struct):
    new_username: str


@post("/api/v1/admin/users", policy=admin(), operation_id="adminCreateUser", tags=["admin"], status_code=201)
async def create_user(request: Call, data: CreateUser) -> User:
    """Create a user."""
    password_hash = await request.passwords.hash(data.password)
    async with request.db.transaction() as tx:
        row = await accounts.create_user(
            tx,
            request.viewing,
            login=data.username,
            email=data.email,
            password_hash=password_hash,
            full_name=data.full_name,
        )
    return request.viewing.user(row)


@post(
    "/api/v1/admin/users/{username:str}/orgs",
    policy=admin(),
    operation_id="adminCreateOrg",
    tags=["admin"],
    status_code=201,
)
async def create_organization(request: Call, username: str, data: CreateOrganization) -> Organization:
    """Create an organization that a user owns."""
    owner = await request.user(username)
    async with request.db.transaction() as tx:
        row = await organizations.create(tx, request.viewing, owner_id=owner.id, **data.details())
    return view(request, row)


@patch("/api/v1/admin/users/{username:str}", policy=admin(), operation_id="adminEditUser", tags=["admin"])
async def edit_user(request: Call, username: str, data: EditUser) -> User:
    """Change a user; what is absent stays."""
    user = await request.user(username)
    changes = await data.columns(request.passwords)
    async with request.db.transaction() as tx:
        row = await accounts.edit_user(tx, request.viewing, user.id, changes)
    return request.viewing.user(row)


@post(
    "/api/v1/admin/users/{username:str}/rename",
    policy=admin(),
    operation_id="adminRenameUser",
    tags=["admin"],
    status_code=204,
)
async def rename_user(request: Call, username: str, data: RenameUser) -> None:
    """Give a user another name."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await accounts.rename_user(tx, request.viewing, user.id, data.new_username)


@delete("/api/v1/admin/users/{username:str}", policy=admin(), operation_id="adminDeleteUser", tags=["admin"])
async def delete_user(request: Call, username: str) -> None:
    """Delete a user who owns no repositories and belongs to no organization."""
    user = await request.user(username)
    await departures.wait_for_news(request.db, user.id, request.settings.deletion_patience)
    async with request.db.transaction() as tx:
        await departures.delete_user(tx, user.id)


routes = [create_user, edit_user, rename_user, delete_user, create_organization]
