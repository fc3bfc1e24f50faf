"""Routes for OpenPGP keys of users."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import field_copier
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_identity.access import rules as access
from ingot_identity.access.api import of_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.keys.rules import gpg as gpg_keys
from ingot_identity.keys.rules.gpg_proofs import ProofTokens
from ingot_identity.keys.store import gpg as store
from ingot_identity.keys.store.tables import GpgKeyRow
from ingot_identity.messages.components import MessageComponents

NEVER = datetime(1, 1, 1, tzinfo=UTC)
Proof = Annotated[str, msgspec.Meta(max_length=gpg_keys.LONGEST_PROOF)]
KeyId = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
Armored = Annotated[str, msgspec.Meta(max_length=gpg_keys.LONGEST)]


class CreateGPGKeyOption(msgspec.Struct):
    """A new key. `armored_key` is an alias of `armored_public_key`, for forms.

    `armored_signature` signs the token of `GET /user/gpg_key_token`.
    """

    armored_public_key: Armored = ""
    armored_key: Armored = ""
    armored_signature: Proof = ""


class VerifyGPGKeyOption(msgspec.Struct):
    """A proof: `armored_signature` signs the token of `GET /user/gpg_key_token` with the key or a subkey."""

    key_id: KeyId
    armored_signature: Proof = ""


class GPGKeyEmail(msgspec.Struct):
    email: str
    verified: bool


class GPGKey(msgspec.Struct, kw_only=True):
    """A key. `emails` are addresses of the owner; empty for other users if the owner hides them.

    `expires_at` is in the year 1 if the key never expires. `verified`: the owner has signed a token with it.
    """

    id: int
    primary_key_id: str
    key_id: str
    public_key: str
    emails: list[GPGKeyEmail] | None
    subkeys: list["GPGKey"] | None
    can_sign: bool
    can_encrypt_comms: bool
    can_encrypt_storage: bool
    can_certify: bool
    created_at: datetime
    expires_at: datetime
    verified: bool


_KEY_FIELDS = field_copier(GpgKeyRow, GPGKey, without=("expires_at",))


@get(
    "/api/v1/user/gpg_keys",
    policy=signed_in("read:user"),
    operation_id="userCurrentListGPGKeys",
    tags=["user"],
)
async def list_own_gpg_keys(request: IdentityRequest) -> Response[list[GPGKey]]:
    """List the caller's OpenPGP keys."""
    return await _list(request, request.principal.id)


@get(
    "/api/v1/users/{username:str}/gpg_keys",
    policy=of_user(SignIn.REQUIRED, "read:user"),
    operation_id="userListGPGKeys",
    tags=["user"],
)
async def list_gpg_keys(request: IdentityRequest) -> Response[list[GPGKey]]:
    """List the OpenPGP keys of a user."""
    return await _list(request, request.account.id)


@post(
    "/api/v1/user/gpg_keys",
    policy=signed_in("write:user"),
    operation_id="userCurrentPostGPGKey",
    tags=["user"],
    status_code=201,
)
async def add_gpg_key(request: IdentityRequest, data: CreateGPGKeyOption) -> GPGKey:
    """Add an OpenPGP key. It must name an address of the caller, or have signed a token of the caller."""
    keys = await asyncio.to_thread(gpg_keys.read, data.armored_public_key or data.armored_key)
    tokens = _tokens(request)
    verified = await asyncio.to_thread(gpg_keys.read_proof, keys, tokens, data.armored_signature)
    async with request.db.transaction() as tx:
        row = await gpg_keys.add(tx, request.principal.id, keys, tokens, verified=verified)
        await request.audit(tx, "gpg_key.add", f"user {request.principal.name}", key_id=row.key_id)
        await request.part(MessageComponents).messages.notify(
            tx,
            "new_key",
            request.principal.id,
            page="/user/settings/gpg_keys",
            name=f"OpenPGP key {row.key_id}",
        )
        return (await _present_keys(tx, [row], request.principal.id))[0]


@get(
    "/api/v1/user/gpg_key_token",
    policy=signed_in("read:user"),
    operation_id="getVerificationToken",
    tags=["user"],
)
async def get_proof_token(request: IdentityRequest) -> Response[str]:
    """Return the token to sign, as text. `gpg --armor --detach-sign` creates the signature."""
    return Response(_tokens(request).current, media_type="text/plain")


@post(
    "/api/v1/user/gpg_key_verify",
    policy=signed_in("write:user"),
    operation_id="userVerifyGPGKey",
    tags=["user"],
    status_code=201,
)
async def verify_gpg_key(request: IdentityRequest, data: VerifyGPGKeyOption) -> GPGKey:
    """Prove that the caller owns one of their keys.

    The key then verifies commits of all confirmed addresses.
    """
    account_id, tokens = request.principal.id, _tokens(request)
    async with request.db.read() as db:
        row = await gpg_keys.own_key(db, account_id, data.key_id)
    if row is None:
        raise NotFound
    if not await asyncio.to_thread(tokens.are_signed, row.certificate or b"", data.armored_signature):
        raise gpg_keys.not_signed(tokens)
    async with request.db.transaction() as tx:
        await store.verify(tx, row.key_id)
        verified = await store.get(tx, row.id)
        if verified is None:
            raise NotFound
        await request.audit(tx, "gpg_key.verify", f"user {request.principal.name}", key_id=row.key_id)
        return (await _present_keys(tx, [verified], account_id))[0]


@get(
    "/api/v1/user/gpg_keys/{key_id:int}",
    policy=signed_in("read:user"),
    operation_id="userCurrentGetGPGKey",
    tags=["user"],
)
async def get_gpg_key(request: IdentityRequest, key_id: int) -> GPGKey:
    """Return an OpenPGP key of any user. These keys are public."""
    async with request.db.read() as db:
        row = await store.get(db, key_id)
        if row is None:
            raise NotFound
        return (await _present_keys(db, [row], request.principal.id))[0]


@delete(
    "/api/v1/user/gpg_keys/{key_id:int}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteGPGKey",
    tags=["user"],
)
async def delete_gpg_key(request: IdentityRequest, key_id: int) -> None:
    """Delete an OpenPGP key of the caller. A missing key is not an error."""
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is None:
            return
        access.require_own_key(request.principal, row.account_id)
        await store.remove(tx, row.key_id)
        await request.audit(tx, "gpg_key.delete", f"user {request.principal.name}", key_id=row.key_id)


def _tokens(request: IdentityRequest) -> ProofTokens:
    return ProofTokens(request.settings.sealing_key, request.principal.id)


async def _list(request: IdentityRequest, account_id: int) -> Response[list[GPGKey]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, account_id, page)
        keys = await _present_keys(db, rows, request.principal.id)
    return Response(keys, headers=request.page_headers(page, total))


async def _present_keys(db: Executor, rows: Sequence[GpgKeyRow], viewer_id: int) -> list[GPGKey]:
    """Return primary keys with subkeys, and the owner's current addresses that ``viewer_id`` may see."""
    own = await store.addresses_of(db, {row.account_id for row in rows}, viewer_id)
    subkeys: dict[str, list[GPGKey]] = defaultdict(list)
    for subkey in await store.subkeys_of(db, {row.key_id for row in rows}):
        subkeys[subkey.primary_key_id].append(_present_key(subkey, None, None))
    return [
        _present_key(
            row,
            [
                GPGKeyEmail(email=address, verified=own[row.account_id, address])
                for address in row.addresses.split()
                if (row.account_id, address) in own
            ],
            subkeys[row.key_id],
        )
        for row in rows
    ]


def _present_key(row: GpgKeyRow, emails: list[GPGKeyEmail] | None, subkeys: list[GPGKey] | None) -> GPGKey:
    return GPGKey(
        public_key=row.content,
        emails=emails,
        subkeys=subkeys,
        expires_at=row.expires_at or NEVER,
        **_KEY_FIELDS(row),
    )


routes = [
    list_own_gpg_keys,
    list_gpg_keys,
    add_gpg_key,
    get_proof_token,
    verify_gpg_key,
    get_gpg_key,
    delete_gpg_key,
]
