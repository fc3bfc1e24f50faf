"""OpenPGP keys of users."""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.database import Executor
from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.policy import signed_in
from ingot_identity.api.call import Call
from ingot_identity.core import gpg_keys
from ingot_identity.store import gpg_keys as store

NEVER = datetime(1, 1, 1, tzinfo=UTC)


class CreateGPGKey(msgspec.Struct):
    """Forms may call it `armored_key`."""

    armored_public_key: str = ""
    armored_key: str = ""


class GPGKeyEmail(msgspec.Struct):
    email: str
    verified: bool


class GPGKey(msgspec.Struct, kw_only=True):
    """`emails` are those of the owner's, none for others if the owner hides them.

    `expires_at` is in the year 1 for a key that never does.
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


@get(
    "/api/v1/user/gpg_keys",
    policy=signed_in("read:user"),
    operation_id="userCurrentListGPGKeys",
    tags=["user"],
)
async def list_own_gpg_keys(request: Call) -> Response[list[GPGKey]]:
    """The caller's OpenPGP keys."""
    return await _list(request, request.who.id)


@get(
    "/api/v1/users/{username:str}/gpg_keys",
    policy=signed_in("read:user"),
    operation_id="userListGPGKeys",
    tags=["user"],
)
async def list_gpg_keys(request: Call, username: str) -> Response[list[GPGKey]]:
    """The OpenPGP keys of a user."""
    return await _list(request, (await request.user(username)).id)


@post(
    "/api/v1/user/gpg_keys",
    policy=signed_in("write:user"),
    operation_id="userCurrentPostGPGKey",
    tags=["user"],
    status_code=201,
)
async def add_gpg_key(request: Call, data: CreateGPGKey) -> GPGKey:
    """Add an OpenPGP key that names an address of the caller's."""
    keys = await asyncio.to_thread(gpg_keys.read, data.armored_public_key or data.armored_key)
    async with request.db.transaction() as tx:
        row = await gpg_keys.add(tx, request.who.id, keys)
        return (await _views(tx, [row], request.who.id))[0]


@get(
    "/api/v1/user/gpg_keys/{key_id:int}",
    policy=signed_in("read:user"),
    operation_id="userCurrentGetGPGKey",
    tags=["user"],
)
async def get_gpg_key(request: Call, key_id: int) -> GPGKey:
    """An OpenPGP key. They are public, so it may be anybody's."""
    async with request.db.read() as db:
        row = await store.get(db, key_id)
        if row is None:
            raise NotFound
        return (await _views(db, [row], request.who.id))[0]


@delete(
    "/api/v1/user/gpg_keys/{key_id:int}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteGPGKey",
    tags=["user"],
)
async def delete_gpg_key(request: Call, key_id: int) -> None:
    """Delete an OpenPGP key of one's own; one that is not there is no error."""
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is None:
            return
        if row.account_id != request.who.id and not request.who.admin:
            raise Denied("the key is somebody else's")
        await store.remove(tx, row.key_id)


async def _list(request: Call, account_id: int) -> Response[list[GPGKey]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, account_id, page)
        views = await _views(db, rows, request.who.id)
    return Response(views, headers=request.page_headers(page, total))


async def _views(db: Executor, rows: list[Any], seen_by: int) -> list[GPGKey]:
    """Primary keys with their subkeys and the addresses that are their owner's now, as ``seen_by`` may see them."""
    held = await store.addresses_of(db, {row.account_id for row in rows}, seen_by)
    subkeys: dict[str, list[GPGKey]] = defaultdict(list)
    for subkey in await store.subkeys_of(db, {row.key_id for row in rows}):
        subkeys[subkey.primary_key_id].append(_view(subkey, None, None))
    return [
        _view(
            row,
            [
                GPGKeyEmail(email=address, verified=True)
                for address in row.addresses.split()
                if (row.account_id, address) in held
            ],
            subkeys[row.key_id],
        )
        for row in rows
    ]


def _view(row: Any, emails: list[GPGKeyEmail] | None, subkeys: list[GPGKey] | None) -> GPGKey:
    return GPGKey(
        id=row.id,
        primary_key_id=row.primary_key_id,
        key_id=row.key_id,
        public_key=row.content,
        emails=emails,
        subkeys=subkeys,
        can_sign=row.can_sign,
        can_encrypt_comms=row.can_encrypt_comms,
        can_encrypt_storage=row.can_encrypt_storage,
        can_certify=row.can_certify,
        created_at=row.created_at,
        expires_at=row.expires_at or NEVER,
    )


routes = [list_own_gpg_keys, list_gpg_keys, add_gpg_key, get_gpg_key, delete_gpg_key]
