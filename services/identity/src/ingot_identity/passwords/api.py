"""The route for the caller's password. Only a password or a session may call it, no token."""

from typing import Annotated

import msgspec
from litestar import post

from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.http.policy import basic
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as store
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.passwords.rules.changes import change_password as change
from ingot_identity.passwords.rules.hashing import LONGEST
from ingot_identity.passwords.rules.proofs import require_password

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
    """Change the caller's password. 409 if only another system has one.

    All sessions end, including this one. Tokens keep working, except those of applications.
    """
    checks, address = request.part(PasswordComponents).checks, client_address()
    async with request.db.read() as db:
        account = await store.get(db, request.principal.id)
    if account is None:
        raise NotFound
    if not account.password_hash:
        raise Conflict("this account has no password here; change that of the system that signs it in")
    await require_password(
        request.db, checks, account, data.old_password, field="old_password", address=address
    )
    password_hash = await checks.passwords.hash(data.new_password, field="new_password")
    async with request.db.transaction() as tx:
        await change(tx, request.presenter, account, password_hash)
        await request.audit(tx, "user.change_password", f"user {request.principal.name}")


routes = [change_password]
