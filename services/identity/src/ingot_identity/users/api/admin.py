"""Routes with which site administrators create and change users."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import admin
from ingot_chassis.http.times import in_utc
from ingot_chassis.operations import Detail
from ingot_contracts.identity.accounts import Visibility
from ingot_contracts.limits import WEB_URL, Name
from ingot_identity.access import rules as access
from ingot_identity.access.api import of_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.api.fields import Text50, Text100
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile
from ingot_identity.messages.components import MessageComponents
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.passwords.rules.hashing import LONGEST, Passwords
from ingot_identity.sources.store.tables import LOCAL
from ingot_identity.users import rules as accounts

Password = Annotated[str, msgspec.Meta(max_length=LONGEST)]


COLUMNS = {"prohibit_login": "login_prohibited", "allow_create_organization": "may_create_organizations"}
"""Columns whose name differs from that of their field."""
SHOWN_CHANGES = {"admin", "active", "login_prohibited", "restricted", "email", "source_id", "login_name"}
"""Changes whose new value is in the audit log. Of other changes it has only the name of the field."""


class CreateUserOption(msgspec.Struct, kw_only=True):
    """A new user, who may sign in at once. No mail is sent, whatever `send_notify` says.

    `must_change_password` is kept for clients. There are no hidden users, so other values of `visibility` are
    rejected. A `restricted` user reads only what the user owns, and what collaborations, teams and
    memberships give. `source_id` is a source of `/admin/auths` with which the user
    signs in. `login_name` is the id of the user there, and the password may be empty. Without a source
    `source_id` is 0, and `login_name` has no meaning.
    """

    username: Name
    email: Name
    password: Password = ""
    full_name: Text100 = ""
    login_name: Name = ""
    source_id: int = 0
    send_notify: bool = False
    must_change_password: bool = False
    restricted: bool = False
    visibility: Visibility = "public"
    created_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class EditUserOption(msgspec.Struct, kw_only=True):
    """A change of a user. Absent fields and an empty password keep their values.

    `restricted` has no effect for a site administrator. It is refused where groups of a source decide.
    Unsupported features are rejected: hidden accounts, hooks that run on the server, and
    imports from its disk. So is a limit of repositories for one user. `source_id` and `login_name` are as for
    a new user.
    """

    email: Name | UnsetType = UNSET
    full_name: Text100 | UnsetType = UNSET
    password: Password | UnsetType = UNSET
    website: Annotated[Text50, WEB_URL] | UnsetType = UNSET
    location: Text50 | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    admin: bool | UnsetType = UNSET
    prohibit_login: bool | UnsetType = UNSET
    login_name: Name | UnsetType = UNSET
    source_id: int | UnsetType = UNSET
    must_change_password: bool | UnsetType = UNSET
    restricted: bool | UnsetType = UNSET
    visibility: Visibility | UnsetType = UNSET
    allow_create_organization: bool | UnsetType = UNSET
    allow_git_hook: bool | UnsetType = UNSET
    allow_import_local: bool | UnsetType = UNSET
    max_repo_creation: int | UnsetType = UNSET

    async def columns(self, passwords: Passwords) -> dict[str, Any]:
        """Return the changes in the form that the use case takes. Raises Invalid."""
        changes = accounts.require_supported(set_fields(self))
        for field, column in COLUMNS.items():
            if field in changes:
                changes[column] = changes.pop(field)
        if password := changes.pop("password", ""):
            changes["password_hash"] = await passwords.hash(password)
        return changes


class RenameUser(msgspec.Struct):
    new_username: Name


@post("/api/v1/admin/users", policy=admin(), operation_id="adminCreateUser", tags=["admin"], status_code=201)
async def create_user(request: IdentityRequest, data: CreateUserOption) -> UserProfile:
    """Create a user."""
    accounts.require_supported(set_fields(data))
    password_hash = ""
    if data.password or data.source_id == LOCAL:
        password_hash = await request.part(PasswordComponents).checks.passwords.hash(data.password)
    async with request.db.transaction() as tx:
        row = await accounts.create_user(
            tx,
            request.presenter,
            login=data.username,
            email=data.email,
            password_hash=password_hash,
            full_name=data.full_name,
            source_id=data.source_id,
            login_name=data.login_name,
            must_change_password=data.must_change_password,
            restricted=data.restricted,
            created_at=in_utc(data.created_at, "created_at") if data.created_at else None,
        )
        details: dict[str, Detail] = {"id": row.id, "source_id": row.source_id}
        if row.restricted:
            details["restricted"] = True
        await request.audit(tx, "user.create", f"user {row.login}", **details)
        return await request.present_user(tx, row)


@patch(
    "/api/v1/admin/users/{username:str}",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminEditUser",
    tags=["admin"],
)
async def edit_user(request: IdentityRequest, data: EditUserOption) -> UserProfile:
    """Change a user. Absent fields keep their values."""
    if data.password:
        access.require_other_password(request.principal, request.account)
    changes = await data.columns(request.part(PasswordComponents).checks.passwords)
    async with request.db.transaction() as tx:
        messages = request.part(MessageComponents).messages
        row = await accounts.edit_user_by_hand(tx, request.presenter, messages, request.account.id, changes)
        details = {name: changes[name] for name in SHOWN_CHANGES & changes.keys()}
        await request.audit(tx, "user.edit", f"user {row.login}", fields=sorted(set_fields(data)), **details)
        return await request.present_user(tx, row)


@post(
    "/api/v1/admin/users/{username:str}/rename",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminRenameUser",
    tags=["admin"],
    status_code=204,
)
async def rename_user(request: IdentityRequest, data: RenameUser) -> None:
    """Rename a user. The old name is reserved for some time and redirects."""
    async with request.db.transaction() as tx:
        await accounts.rename_user(
            tx,
            request.presenter,
            request.account.id,
            data.new_username,
            reserved_for=request.former_names_reserved_for,
        )
        await request.audit(tx, "user.rename", f"user {request.account.login}", to=data.new_username)


routes = [create_user, edit_user, rename_user]
