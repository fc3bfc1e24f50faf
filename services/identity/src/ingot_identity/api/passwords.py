"""The caller's password. Only the password itself or a session reaches it."""

from typing import Annotated

import msgspec
from litestar import post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import basic
from ingot_chassis.telemetry import client_address
from ingot_identity.api.request import IdentityRequest
from ingot_identity.core import accounts
from ingot_identity.core.credentials import require_password
from ingot_identity.core.passwords import LONGEST
from ingot_identity.store import accounts as store

Password = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class ChangePassword(msgspec.Struct):
    old_password: Password
    new_password: Password


@post(
    "/api/v1/user/password",
    policy=basic(),
    operation_id="userChangePassword",
    tags=["user"],
    status_code=204,
)
async def change_password(request: IdentityRequest, data: ChangePassword) -> None:
    """Change the caller's password. Every session ends, this one too; tokens stay, but for those of applications."""
    sign_ins, address = request.components.sign_ins, client_address()
    async with request.db.read() as db:
        account = await store.get(db, request.principal.id)
    if account is None:
        raise NotFound
    await require_password(
        request.db, sign_ins, account, data.old_password, field="old_password", address=address
    )
    password_hash = await sign_ins.passwords.hash(data.new_password, field="new_password")
    async with request.db.transaction() as tx:
        await accounts.change_password(tx, request.components.presenter, account, password_hash)
        await request.audit(tx, "user.change_password", f"user {request.principal.name}")


routes = [change_password]
