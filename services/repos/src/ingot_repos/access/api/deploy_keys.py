"""Deploy keys of a repository. Only administrators of the repository may manage them."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import MAX_ID
from ingot_contracts.limits import Name, Text
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import deploy_keys
from ingot_repos.access.store import deploy_keys as store
from ingot_repos.access.store.deploy_keys import DeployKeyRow, KeyFilter


class CreateKeyOption(msgspec.Struct):
    """A deploy key to add. `key` is one OpenSSH line or an SSH2 block.

    A `read_only` key can only fetch. Deploy keys are read-only by default; user keys are read-write.
    """

    title: Name
    key: Text
    read_only: bool | UnsetType = UNSET


class DeployKey(msgspec.Struct, kw_only=True):
    """A deploy key. `key_id` equals `id`."""

    id: int
    key_id: int
    key: str
    url: str
    title: str
    fingerprint: str
    created_at: datetime
    read_only: bool
    repository: Repository


def _view(request: RepositoryRequest, row: DeployKeyRow, repository: Repository) -> DeployKey:
    return DeployKey(
        id=row.id,
        key_id=row.id,
        key=row.content,
        url=f"{request.public_url}api/v1/repos/{request.resource.full_name}/keys/{row.id}",
        title=row.title,
        fingerprint=row.fingerprint,
        created_at=row.created_at.replace(microsecond=0),
        read_only=row.read_only,
        repository=repository,
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/keys",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoListKeys",
    tags=["repository"],
)
async def list_keys(
    request: RepositoryRequest, key_id: int | None = None, fingerprint: str | None = None
) -> Response[list[DeployKey]]:
    """List deploy keys, oldest first. `key_id` and `fingerprint` filter the list."""
    page = request.page()
    if key_id is not None and not 0 < key_id <= MAX_ID:
        key_id = 0  # an id that no key has
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.resource.id, KeyFilter(key_id, fingerprint), page)
    repository = await present(request, request.resource)
    return Response(
        [_view(request, row, repository) for row in rows], headers=request.page_headers(page, total)
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/keys",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoCreateKey",
    tags=["repository"],
    status_code=201,
)
async def create_key(request: RepositoryRequest, data: CreateKeyOption) -> DeployKey:
    """Add a key."""
    async with request.db.transaction() as tx:
        row = await deploy_keys.add(
            tx,
            request.resource.id,
            creator_id=request.principal.id,
            title=data.title,
            key=data.key,
            read_only=data.read_only is not False,
        )
        await request.audit(
            tx,
            "deploy_key.add",
            request.resource.audit_subject,
            id=row.id,
            fingerprint=row.fingerprint,
            read_only=row.read_only,
        )
    return _view(request, row, await present(request, request.resource))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/keys/{key_id:int}",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoGetKey",
    tags=["repository"],
)
async def get_key(request: RepositoryRequest, key_id: int) -> DeployKey:
    """Return a deploy key."""
    async with request.db.read() as db:
        row = await store.get(db, request.resource.id, key_id)
    if row is None:
        raise NotFound
    return _view(request, row, await present(request, request.resource))


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/keys/{key_id:int}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoDeleteKey",
    tags=["repository"],
)
async def delete_key(request: RepositoryRequest, key_id: int) -> None:
    """Delete a key. A missing key is not an error."""
    async with request.db.transaction() as tx:
        row = await store.get(tx, request.resource.id, key_id)
        if row is not None:
            await store.remove(tx, request.resource.id, key_id)
            subject = request.resource.audit_subject
            await request.audit(tx, "deploy_key.delete", subject, id=key_id, fingerprint=row.fingerprint)


routes = [list_keys, create_key, get_key, delete_key]
