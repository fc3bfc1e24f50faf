"""SSH keys of users."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.policy import admin, signed_in
from ingot_identity.api.call import Call
from ingot_identity.core import ssh_keys
from ingot_identity.store import ssh_keys as store


class CreateKey(msgspec.Struct):
    """`key` is one OpenSSH line or an SSH2 block."""

    title: str
    key: str


class PublicKey(msgspec.Struct, kw_only=True):
    id: int
    key: str
    url: str
    title: str
    fingerprint: str
    created_at: datetime


def view(request: Call, row: Any) -> PublicKey:
    return PublicKey(
        id=row.id,
        key=row.content,
        url=f"{request.public_url}api/v1/user/keys/{row.id}",
        title=row.title,
        fingerprint=row.fingerprint,
        created_at=row.created_at,
    )


@get("/api/v1/user/keys", policy=signed_in("read:user"), operation_id="userCurrentListKeys", tags=["user"])
async def list_own_keys(request: Call) -> Response[list[PublicKey]]:
    """The caller's SSH keys."""
    return await _list(request, request.who.id)


@get(
    "/api/v1/users/{username:str}/keys",
    policy=signed_in("read:user"),
    operation_id="userListKeys",
    tags=["user"],
)
async def list_keys(request: Call, username: str) -> Response[list[PublicKey]]:
    """The SSH keys of a user."""
    return await _list(request, (await request.user(username)).id)


@post(
    "/api/v1/user/keys",
    policy=signed_in("write:user"),
    operation_id="userCurrentPostKey",
    tags=["user"],
    status_code=201,
)
async def add_own_key(request: Call, data: CreateKey) -> PublicKey:
    """Add an SSH key."""
    async with request.db.transaction() as tx:
        row = await ssh_keys.add(tx, request.who.id, title=data.title, key=data.key)
    return view(request, row)


@get(
    "/api/v1/user/keys/{key_id:int}",
    policy=signed_in("read:user"),
    operation_id="userCurrentGetKey",
    tags=["user"],
)
async def get_key(request: Call, key_id: int) -> PublicKey:
    """An SSH key. They are public, so it may be anybody's."""
    async with request.db.read() as db:
        row = await store.get(db, key_id)
    if row is None:
        raise NotFound
    return view(request, row)


@delete(
    "/api/v1/user/keys/{key_id:int}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteKey",
    tags=["user"],
)
async def delete_own_key(request: Call, key_id: int) -> None:
    """Delete an SSH key of one's own; one that is not there is no error."""
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is not None and row.account_id != request.who.id and not request.who.admin:
            raise Denied("the key is somebody else's")
        await store.remove(tx, key_id)


@post(
    "/api/v1/admin/users/{username:str}/keys",
    policy=admin(),
    operation_id="adminCreatePublicKey",
    tags=["admin"],
    status_code=201,
)
async def add_key(request: Call, username: str, data: CreateKey) -> PublicKey:
    """Add an SSH key to a user."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        row = await ssh_keys.add(tx, user.id, title=data.title, key=data.key)
    return view(request, row)


@delete(
    "/api/v1/admin/users/{username:str}/keys/{key_id:int}",
    policy=admin(),
    operation_id="adminDeleteUserPublicKey",
    tags=["admin"],
)
async def delete_key(request: Call, username: str, key_id: int) -> None:
    """Delete an SSH key of a user."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is None or row.account_id != user.id:
            raise NotFound
        await store.remove(tx, key_id)


async def _list(request: Call, account_id: int) -> Response[list[PublicKey]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, account_id, page)
    return Response([view(request, row) for row in rows], headers=request.page_headers(page, total))


routes = [list_own_keys, list_keys, add_own_key, get_key, delete_own_key, add_key, delete_key]
