"""The route for the caller's password. It requires a password or a session, and rejects access tokens."""

from datetime import timedelta
from typing import Annotated

import msgspec
from litestar import post

from ingot_chassis.clock import now
from ingot_chassis.errors import Conflict, Denied, NotFound
from ingot_chassis.http.policy import basic
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as store
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passwords.components import PasswordComponents
from ingot_identity.passwords.rules.changes import change_password as change
from ingot_identity.passwords.rules.hashing import LONGEST
from ingot_identity.passwords.rules.proofs import has_only_passkeys, require_password
from ingot_identity.sessions import store as sessions

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
    """Change the caller's password. The status is 409 if only another system has the password.

    An account with passkeys instead of a password can set its first password, with an empty `old_password`.
    The session needs a recent proof, or the status is 403. All sessions end, including this one. Tokens of
    applications are revoked. Other tokens keep working.
    """
    checks, address = request.part(PasswordComponents).checks, client_address()
    async with request.db.read() as db:
        account = await store.get(db, request.principal.id)
    if account is None:
        raise NotFound
    if not account.password_hash:
        await _require_recent_proof(request, account)
    else:
        await require_password(
            request.db, checks, account, data.old_password, field="old_password", address=address
        )
    password_hash = await checks.passwords.hash(data.new_password, field="new_password")
    async with request.db.transaction() as tx:
        await change(tx, request.presenter, account, password_hash)
        await request.audit(tx, "user.change_password", f"user {request.principal.name}")


async def _require_recent_proof(request: IdentityRequest, account: AccountRow) -> None:
    """Require an account with only passkeys, and a recent proof. Raises Conflict, Denied."""
    session_id = request.principal.session_id
    if not await has_only_passkeys(request.db, account):
        raise Conflict("this account has no password here; change that of the system that signs it in")
    async with request.db.read() as db:
        proved_at = await sessions.get_proof_time(db, account.id, session_id) if session_id else None
    if proved_at is None or now() - proved_at > timedelta(seconds=request.settings.proof_seconds):
        raise Denied("confirm with a passkey that it is you, and try again")


routes = [change_password]
