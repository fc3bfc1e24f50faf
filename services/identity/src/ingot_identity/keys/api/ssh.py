"""Routes for SSH keys of users."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from litestar import Response, delete, get, post
from msgspec import UNSET, UnsetType

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.limits import Name, Text
from ingot_identity.access import rules as access
from ingot_identity.access.api import of_user
from ingot_identity.access.rules import SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import UserProfile, whole_seconds
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.keys.rules import ssh as ssh_keys
from ingot_identity.keys.store import ssh as store
from ingot_identity.keys.store.tables import SshKeyRow
from ingot_identity.messages.components import MessageComponents


class CreateKeyOption(msgspec.Struct):
    """A new key: one OpenSSH line or an SSH2 block.

    A `read_only` key can only fetch. Deploy keys are read-only by default; user keys are read-write.
    """

    title: Name
    key: Text
    read_only: bool | UnsetType = UNSET


class PublicKey(msgspec.Struct, kw_only=True):
    """An SSH key. `last_used_at` is the time of the last git session over SSH, exact to the minute.

    `source` is the directory that added the key, and can remove it. It is empty for keys of users. Only the
    owner and administrators see it.
    """

    id: int
    key: str
    url: str
    title: str
    fingerprint: str
    created_at: datetime
    last_used_at: datetime | None
    key_type: str = "user"
    read_only: bool
    source: str
    user: UserProfile


async def _present_keys(request: IdentityRequest, db: Executor, rows: Sequence[SshKeyRow]) -> list[PublicKey]:
    """Return the keys of one user in the format of the API.

    The list is empty without keys, or if the owner was deleted.
    """
    owner = await accounts.get(db, rows[0].account_id) if rows else None
    if owner is None:
        return []
    user = await request.present_user(db, owner)
    may_see = request.principal.id == owner.id or request.principal.admin
    has_sources = may_see and any(row.identity_id is not None for row in rows)
    sources = await store.sources_of(db, owner.id) if has_sources else {}
    return [_present_key(request, row, user, sources.get(row.identity_id or 0, "")) for row in rows]


def _present_key(request: IdentityRequest, row: SshKeyRow, user: UserProfile, source: str) -> PublicKey:
    return PublicKey(
        id=row.id,
        key=row.content,
        url=f"{request.public_url}api/v1/user/keys/{row.id}",
        title=row.title,
        fingerprint=row.fingerprint,
        created_at=whole_seconds(row.created_at),
        last_used_at=whole_seconds(row.last_used_at) if row.last_used_at else None,
        read_only=row.read_only,
        source=source,
        user=user,
    )


@get("/api/v1/user/keys", policy=signed_in("read:user"), operation_id="userCurrentListKeys", tags=["user"])
async def list_own_keys(request: IdentityRequest, fingerprint: str = "") -> Response[list[PublicKey]]:
    """List the caller's SSH keys. With `fingerprint`, list only the key with this fingerprint."""
    return await _list(request, request.principal.id, fingerprint)


@get(
    "/api/v1/users/{username:str}/keys",
    policy=of_user(SignIn.REQUIRED, "read:user"),
    operation_id="userListKeys",
    tags=["user"],
)
async def list_keys(request: IdentityRequest, fingerprint: str = "") -> Response[list[PublicKey]]:
    """List the SSH keys of a user. With `fingerprint`, list only the key with this fingerprint."""
    return await _list(request, request.account.id, fingerprint)


@post(
    "/api/v1/user/keys",
    policy=signed_in("write:user"),
    operation_id="userCurrentPostKey",
    tags=["user"],
    status_code=201,
)
async def add_own_key(request: IdentityRequest, data: CreateKeyOption) -> PublicKey:
    """Add an SSH key."""
    async with request.db.transaction() as tx:
        return await _add(request, tx, request.principal.id, request.principal.name, data)


@get(
    "/api/v1/user/keys/{key_id:int}",
    policy=signed_in("read:user"),
    operation_id="userCurrentGetKey",
    tags=["user"],
)
async def get_key(request: IdentityRequest, key_id: int) -> PublicKey:
    """Return an SSH key of the caller."""
    async with request.db.read() as db:
        row = await store.get(db, key_id)
        if row is None or row.account_id != request.principal.id:
            raise NotFound
        return (await _present_keys(request, db, [row]))[0]


@delete(
    "/api/v1/user/keys/{key_id:int}",
    policy=signed_in("write:user"),
    operation_id="userCurrentDeleteKey",
    tags=["user"],
)
async def delete_own_key(request: IdentityRequest, key_id: int) -> None:
    """Delete an SSH key of the caller. A missing key is not an error.

    The status is 409 for a directory's key.
    """
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is not None:
            access.require_own_key(request.principal, row.account_id)
            await ssh_keys.remove_by_hand(tx, row)
            await _audit(request, tx, "ssh_key.delete", request.principal.name, row)


@post(
    "/api/v1/admin/users/{username:str}/keys",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminCreatePublicKey",
    tags=["admin"],
    status_code=201,
)
async def add_key(request: IdentityRequest, data: CreateKeyOption) -> PublicKey:
    """Add an SSH key to a user."""
    async with request.db.transaction() as tx:
        return await _add(request, tx, request.account.id, request.account.login, data)


@delete(
    "/api/v1/admin/users/{username:str}/keys/{key_id:int}",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminDeleteUserPublicKey",
    tags=["admin"],
)
async def delete_key(request: IdentityRequest, key_id: int) -> None:
    """Delete an SSH key of a user. The status is 409 for a directory's key."""
    async with request.db.transaction() as tx:
        row = await store.get(tx, key_id)
        if row is None or row.account_id != request.account.id:
            raise NotFound
        await ssh_keys.remove_by_hand(tx, row)
        await _audit(request, tx, "ssh_key.delete", request.account.login, row)


async def _add(
    request: IdentityRequest, tx: Tx, account_id: int, login: str, data: CreateKeyOption
) -> PublicKey:
    row = await ssh_keys.add(tx, account_id, title=data.title, key=data.key, read_only=data.read_only is True)
    await _audit(request, tx, "ssh_key.add", login, row)
    await request.part(MessageComponents).messages.notify(
        tx,
        "new_key",
        account_id,
        page="/user/settings/keys",
        name=f"SSH key {row.title}",
        fingerprint=row.fingerprint,
    )
    return (await _present_keys(request, tx, [row]))[0]


async def _audit(request: IdentityRequest, tx: Tx, action: str, login: str, row: SshKeyRow) -> None:
    await request.audit(tx, action, f"user {login}", title=row.title, fingerprint=row.fingerprint)


async def _list(request: IdentityRequest, account_id: int, fingerprint: str) -> Response[list[PublicKey]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, account_id, page, fingerprint=fingerprint)
        keys = await _present_keys(request, db, rows)
    return Response(keys, headers=request.page_headers(page, total))


routes = [list_own_keys, list_keys, add_own_key, get_key, delete_own_key, add_key, delete_key]
