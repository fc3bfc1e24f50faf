"""Deploy keys of a repository. Writers may let a key read; one that may write is for administrators."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import MAX_ID, resource
from ingot_repos.api.call import Call
from ingot_repos.core import access, deploy_keys
from ingot_repos.store import deploy_keys as store


class CreateDeployKey(msgspec.Struct, kw_only=True):
    """`key` is one OpenSSH line or an SSH2 block."""

    title: str
    key: str
    read_only: bool = True


class DeployKey(msgspec.Struct, kw_only=True):
    """`key_id` is the same as `id`."""

    id: int
    key_id: int
    key: str
    url: str
    title: str
    fingerprint: str
    created_at: datetime
    read_only: bool


def view(request: Call, row: Any) -> DeployKey:
    return DeployKey(
        id=row.id,
        key_id=row.id,
        key=row.content,
        url=f"{request.public_url}api/v1/repos/{request.found.full_name}/keys/{row.id}",
        title=row.title,
        fingerprint=row.fingerprint,
        created_at=row.created_at.replace(microsecond=0),
        read_only=row.read_only,
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/keys",
    policy=resource("write", "read:repository"),
    operation_id="repoListKeys",
    tags=["repository"],
)
async def list_keys(
    request: Call, key_id: int | None = None, fingerprint: str | None = None
) -> Response[list[DeployKey]]:
    """Deploy keys in the order of their addition."""
    page = request.page()
    if key_id is not None and not 0 < key_id <= MAX_ID:
        key_id = 0  # nobody's
    async with request.db.read() as db:
        rows, total = await store.list_of(db, request.found.id, store.Wanted(key_id, fingerprint), page)
    return Response([view(request, row) for row in rows], headers=request.page_headers(page, total))


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/keys",
    policy=resource("write", "write:repository"),
    operation_id="repoCreateKey",
    tags=["repository"],
    status_code=201,
)
async def create_key(request: Call, data: CreateDeployKey) -> DeployKey:
    """Let a key in."""
    if not data.read_only:
        access.require(request.found.row, request.found.level, "admin", request.who)
    async with request.db.transaction() as tx:
        row = await deploy_keys.add(
            tx, request.found.id, title=data.title, key=data.key, read_only=data.read_only
        )
    return view(request, row)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/keys/{key_id:int}",
    policy=resource("write", "read:repository"),
    operation_id="repoGetKey",
    tags=["repository"],
)
async def get_key(request: Call, key_id: int) -> DeployKey:
    """A deploy key."""
    async with request.db.read() as db:
        row = await store.get(db, request.found.id, key_id)
    if row is None:
        raise NotFound
    return view(request, row)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/keys/{key_id:int}",
    policy=resource("admin", "write:repository"),
    operation_id="repoDeleteKey",
    tags=["repository"],
)
async def delete_key(request: Call, key_id: int) -> None:
    """Take a key out; one that is not there is no error."""
    async with request.db.transaction() as tx:
        await store.remove(tx, request.found.id, key_id)


routes = [list_keys, create_key, get_key, delete_key]
