"""What site administrators do for others."""

from typing import Annotated

import msgspec
from litestar import post

from ingot_chassis.policy import admin
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.api.organizations import CreateOrganization, Organization, view
from ingot_identity.core import accounts, organizations

Name100 = Annotated[str, msgspec.Meta(max_length=100)]


class CreateUser(msgspec.Struct, kw_only=True):
    """A user who may sign in at once."""

    username: str
    email: str
    password: str
    full_name: Name100 = ""
    login_name: str = ""
    source_id: int = 0
    send_notify: bool = False


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


routes = [create_user, create_organization]
