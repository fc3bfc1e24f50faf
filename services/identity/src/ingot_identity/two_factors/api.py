"""Routes for the second factor of the caller's account.

They accept only a password, or a session together with the password. Otherwise another person at an
unattended browser could lock the owner out.
"""

from typing import Annotated

import msgspec
from litestar import delete, get, post

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import Connection, Policy, basic, resource
from ingot_chassis.telemetry import client_address
from ingot_identity.access import rules as access
from ingot_identity.access.api import of_user, principal_of
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules import edits
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passkeys import store as passkey_store
from ingot_identity.passwords.rules.hashing import LONGEST
from ingot_identity.passwords.rules.proofs import require_password
from ingot_identity.two_factors import store
from ingot_identity.two_factors.components import TwoFactorComponents
from ingot_identity.two_factors.rules import codes as two_factors
from ingot_identity.two_factors.rules.enrolments import remove_all, remove_app
from ingot_identity.two_factors.rules.proofs import require_password_and_code


def own_second_factor() -> Policy:
    """Return the policy for routes that change the caller's second factor: a password or a session.

    It raises NotFound for an account without a second factor.
    """

    async def decide(connection: Connection, _level: str) -> AccountRow:
        principal = principal_of(connection, SignIn.BASIC)
        database: Database = connection.app.state.database
        async with database.read() as db:
            row = await store.get_account(db, principal.id)
        if row is None:
            raise NotFound
        return row

    return resource(SignIn.BASIC, "", decide)


Code = Annotated[str, msgspec.Meta(max_length=64)]
Password = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class TwoFactorState(msgspec.Struct, kw_only=True):
    """The state of the second factor. `enabled`: an app is set up.

    `passkeys` is the number of passkeys, and `recovery_codes` is the number of unused recovery codes.
    """

    enabled: bool
    passkeys: int
    recovery_codes: int


class TwoFactorEnrolment(msgspec.Struct, kw_only=True):
    """The secret for the user's app: `secret` to type, or `uri` as a QR code. Both are shown only now."""

    secret: str
    uri: str


class BeginTwoFactor(msgspec.Struct):
    """A request to set up two-factor authentication.

    `password` is not needed if this request is authenticated with the password.
    """

    password: Password = ""


class ConfirmTwoFactor(msgspec.Struct):
    code: Code


class ProveTwoFactor(msgspec.Struct):
    """A proof. `code` is a code of the app or a recovery code.

    Password and code are not needed if this request is authenticated with both.
    """

    password: Password = ""
    code: Code = ""


class RecoveryCodes(msgspec.Struct):
    """Recovery codes. Each works once instead of a code of the app. They are shown only once."""

    recovery_codes: list[str]


@get("/api/v1/user/two_factor", policy=basic(), operation_id="userGetTwoFactor", tags=["user"])
async def get_two_factor(request: IdentityRequest) -> TwoFactorState:
    """Return the state of the second factor of the caller."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id)
        enabled = row is not None and row.confirmed_at is not None
        passkeys = await passkey_store.count_of(db, request.principal.id)
        count = await store.count_recovery_codes(db, request.principal.id)
    return TwoFactorState(enabled=enabled, passkeys=passkeys, recovery_codes=count)


@post(
    "/api/v1/user/two_factor",
    policy=basic(),
    operation_id="userBeginTwoFactor",
    tags=["user"],
    status_code=201,
)
async def begin_two_factor(request: IdentityRequest, data: BeginTwoFactor) -> TwoFactorEnrolment:
    """Begin to set up an app (TOTP). It takes effect after a first code confirms it."""
    await _require_fresh_password(request, data.password)
    async with request.db.transaction() as tx:
        row = await edits.get_account(tx, request.principal.id)
        enrolment = await request.part(TwoFactorComponents).sign_ins.two_factors.begin(tx, row)
    return TwoFactorEnrolment(secret=enrolment.secret, uri=enrolment.uri)


@post(
    "/api/v1/user/two_factor/confirm",
    policy=basic(),
    operation_id="userConfirmTwoFactor",
    tags=["user"],
    status_code=200,
)
async def confirm_two_factor(request: IdentityRequest, data: ConfirmTwoFactor) -> RecoveryCodes:
    """Turn the second factor on with a code of the app.

    From now on signing in with the password needs a code. Access tokens need none.
    """
    async with request.db.transaction() as tx:
        codes = await request.part(TwoFactorComponents).sign_ins.two_factors.confirm(
            tx, request.principal.id, data.code
        )
        await request.audit(tx, "two_factor.on", f"user {request.principal.name}")
    return RecoveryCodes(codes)


@post(
    "/api/v1/user/two_factor/recovery_codes",
    policy=own_second_factor(),
    operation_id="userRenewRecoveryCodes",
    tags=["user"],
    status_code=200,
)
async def renew_recovery_codes(request: IdentityRequest, data: ProveTwoFactor) -> RecoveryCodes:
    """Replace the recovery codes. The former codes stop working."""
    await _require_fresh_proof(request, data)
    async with request.db.transaction() as tx:
        codes = await two_factors.new_recovery_codes(tx, request.principal.id)
        await request.audit(tx, "two_factor.renew_recovery_codes", f"user {request.principal.name}")
    return RecoveryCodes(codes)


@delete(
    "/api/v1/user/two_factor", policy=own_second_factor(), operation_id="userDeleteTwoFactor", tags=["user"]
)
async def delete_two_factor(request: IdentityRequest, data: ProveTwoFactor) -> None:
    """Remove the app. Passkeys are not removed."""
    await _require_fresh_proof(request, data)
    async with request.db.transaction() as tx:
        await remove_app(tx, request.principal.id)
        await request.audit(tx, "two_factor.off", f"user {request.principal.name}")


@delete(
    "/api/v1/admin/users/{username:str}/two_factor",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminDeleteTwoFactor",
    tags=["admin"],
)
async def delete_two_factor_of_user(request: IdentityRequest) -> None:
    """Remove the app, passkeys and recovery codes of a user who has lost them.

    For the caller's own account, this request must be authenticated with the password.
    """
    access.require_other_second_factor(request.principal, request.account)
    async with request.db.transaction() as tx:
        await remove_all(tx, request.account.id)
        await request.audit(tx, "two_factor.off", f"user {request.account.login}")


async def _require_fresh_password(request: IdentityRequest, password: str) -> None:
    """Require the password if the request uses a session, which may be old or stolen.

    Raises Invalid, NotFound, TooManyRequests.
    """
    if request.principal.via != "session":
        return
    sign_ins, address = request.part(TwoFactorComponents).sign_ins, client_address()
    async with request.db.read() as db:
        account = await edits.get_account(db, request.principal.id)
    await require_password(request.db, sign_ins, account, password, field="password", address=address)


async def _require_fresh_proof(request: IdentityRequest, data: ProveTwoFactor) -> None:
    """Require password and code if the request uses a session. Raises Invalid, TooManyRequests."""
    if request.principal.via != "session":
        return
    sign_ins, address = request.part(TwoFactorComponents).sign_ins, client_address()
    await require_password_and_code(
        request.db, sign_ins, request.account, data.password, data.code, address=address
    )


routes = [
    get_two_factor,
    begin_two_factor,
    confirm_two_factor,
    renew_recovery_codes,
    delete_two_factor,
    delete_two_factor_of_user,
]
