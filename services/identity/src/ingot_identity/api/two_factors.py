"""The second factor of the caller's account. Only a password reaches it, or a session, which gives the password as well.

Otherwise whoever finds a browser that was left open could lock the owner of the account out.
"""

from typing import Annotated

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import basic
from ingot_chassis.telemetry import client_address
from ingot_identity.api.policies import of_user, own_second_factor
from ingot_identity.api.request import IdentityRequest
from ingot_identity.core import access, accounts, two_factors
from ingot_identity.core.access import SignIn
from ingot_identity.core.credentials import require_password, require_password_and_code
from ingot_identity.core.passwords import LONGEST
from ingot_identity.store import two_factors as store

Code = Annotated[str, msgspec.Meta(max_length=64)]
Password = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class TwoFactorState(msgspec.Struct, kw_only=True):
    """`recovery_codes` says how many are left."""

    enabled: bool
    recovery_codes: int


class TwoFactorEnrolment(msgspec.Struct, kw_only=True):
    """For the app of the person: `secret` to be typed in, or `uri` as a QR code. Both are shown only now."""

    secret: str
    uri: str


class BeginTwoFactor(msgspec.Struct):
    """Who signed in with the password in this request needs no `password`."""

    password: Password = ""


class ConfirmTwoFactor(msgspec.Struct):
    code: Code


class ProveTwoFactor(msgspec.Struct):
    """`code` is of the app or a recovery code. Who signed in with password and code in this request needs neither."""

    password: Password = ""
    code: Code = ""


class RecoveryCodes(msgspec.Struct):
    """Each works once in place of a code of the app. They are shown only now."""

    recovery_codes: list[str]


@get("/api/v1/user/two_factor", policy=basic(), operation_id="userGetTwoFactor", tags=["user"])
async def get_two_factor(request: IdentityRequest) -> TwoFactorState:
    """Whether the caller has a second factor."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id)
        enabled = row is not None and row.confirmed_at is not None
        count = await store.count_recovery_codes(db, request.principal.id)
    return TwoFactorState(enabled=enabled, recovery_codes=count)


@post(
    "/api/v1/user/two_factor",
    policy=basic(),
    operation_id="userBeginTwoFactor",
    tags=["user"],
    status_code=201,
)
async def begin_two_factor(request: IdentityRequest, data: BeginTwoFactor) -> TwoFactorEnrolment:
    """Begin a second factor (TOTP). It takes effect when a first code confirms it, which nobody else can make."""
    await _require_fresh_password(request, data.password)
    async with request.db.transaction() as tx:
        row = await accounts.get_account(tx, request.principal.id)
        enrolment = await request.components.sign_ins.two_factors.begin(tx, row)
    return TwoFactorEnrolment(secret=enrolment.secret, uri=enrolment.uri)


@post(
    "/api/v1/user/two_factor/confirm",
    policy=basic(),
    operation_id="userConfirmTwoFactor",
    tags=["user"],
    status_code=200,
)
async def confirm_two_factor(request: IdentityRequest, data: ConfirmTwoFactor) -> RecoveryCodes:
    """Turn the second factor on with a code of the app. From now on a password needs a code; tokens need none."""
    async with request.db.transaction() as tx:
        codes = await request.components.sign_ins.two_factors.confirm(tx, request.principal.id, data.code)
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
    """Replace the recovery codes; those before stop working."""
    await _require_fresh_proof(request, data)
    async with request.db.transaction() as tx:
        codes = await two_factors.new_recovery_codes(tx, request.principal.id)
        await request.audit(tx, "two_factor.renew_recovery_codes", f"user {request.principal.name}")
    return RecoveryCodes(codes)


@delete(
    "/api/v1/user/two_factor", policy=own_second_factor(), operation_id="userDeleteTwoFactor", tags=["user"]
)
async def delete_two_factor(request: IdentityRequest, data: ProveTwoFactor) -> None:
    """Remove the second factor."""
    await _require_fresh_proof(request, data)
    await _remove(request, request.principal.id, request.principal.name)


@delete(
    "/api/v1/admin/users/{username:str}/two_factor",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminDeleteTwoFactor",
    tags=["admin"],
)
async def delete_two_factor_of_user(request: IdentityRequest) -> None:
    """Remove the second factor of a user who lost it; the caller's own only with the password in this request."""
    access.require_other_second_factor(request.principal, request.account)
    await _remove(request, request.account.id, request.account.login)


async def _require_fresh_password(request: IdentityRequest, password: str) -> None:
    """A session may be old, or in the hands of somebody else. Raises Invalid, NotFound, TooManyRequests."""
    if request.principal.via != "session":
        return
    sign_ins, address = request.components.sign_ins, client_address()
    async with request.db.read() as db:
        account = await accounts.get_account(db, request.principal.id)
    await require_password(request.db, sign_ins, account, password, field="password", address=address)


async def _require_fresh_proof(request: IdentityRequest, data: ProveTwoFactor) -> None:
    """The same with a code, once there is a second factor. Raises Invalid, TooManyRequests."""
    if request.principal.via != "session":
        return
    sign_ins, address = request.components.sign_ins, client_address()
    await require_password_and_code(
        request.db, sign_ins, request.account, data.password, data.code, address=address
    )


async def _remove(request: IdentityRequest, account_id: int, login: str) -> None:
    async with request.db.transaction() as tx:
        if not await store.remove(tx, account_id):
            raise NotFound
        await request.audit(tx, "two_factor.off", f"user {login}")


routes = [
    get_two_factor,
    begin_two_factor,
    confirm_two_factor,
    renew_recovery_codes,
    delete_two_factor,
    delete_two_factor_of_user,
]
