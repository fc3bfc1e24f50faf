"""Push mirrors: remotes to which a repository is pushed."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.limits import Description
from ingot_repos.api.policies import in_repository, own_account, writable
from ingot_repos.api.repositories import Secret
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import imports, push_mirrors
from ingot_repos.core.intervals import read_interval, write_interval
from ingot_repos.core.remote_urls import RemoteUrl, parse_remote_url
from ingot_repos.store import push_mirrors as rows
from ingot_repos.store.push_mirrors import PushMirrorRow


class CreatePushMirror(msgspec.Struct, kw_only=True):
    """Without an `interval` as often as mirrors are synced; `0`: only on request, and with `sync_on_commit` after pushes."""

    remote_address: Description
    remote_username: Secret = ""
    remote_password: Secret = ""
    interval: Description = ""
    sync_on_commit: bool = False


class PushMirror(msgspec.Struct, kw_only=True):
    """`remote_name` is the name of the push mirror in paths. `last_error` is empty after a push that succeeded."""

    repo_name: str
    remote_name: str
    remote_address: str
    created: datetime
    last_update: datetime | None
    last_error: str
    interval: str
    sync_on_commit: bool


def _shown(request: RepositoryRequest, row: PushMirrorRow) -> PushMirror:
    return PushMirror(
        repo_name=request.resource.row.name,
        remote_name=row.name,
        remote_address=row.url,
        created=row.created_at.replace(microsecond=0),
        last_update=row.last_at.replace(microsecond=0) if row.last_at else None,
        last_error=imports.reason_text(row.reason),
        interval=write_interval(row.interval_seconds),
        sync_on_commit=row.sync_on_commit,
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors",
    policy=in_repository("admin", "write:repository", on_disk=True),
    operation_id="repoAddPushMirror",
    tags=["repository"],
    status_code=200,
)
async def add_push_mirror(request: RepositoryRequest, data: CreatePushMirror) -> PushMirror:
    """Push the repository to a remote, now and from now on. Branches and tags that are only there are deleted."""
    repository = writable(request)
    remote = await _remote(request, data)
    seconds = request.settings.mirror_interval_seconds
    if data.interval.strip():
        seconds = read_interval(data.interval, least=request.settings.mirror_least_seconds, field="interval")
    account = await own_account(request)
    async with request.db.transaction() as tx:
        row = await push_mirrors.add(
            tx,
            request.components.jobs,
            repository.row,
            account.id,
            url=remote.url,
            sealed=imports.seal_credentials(request.components.seal, remote.username, remote.password),
            interval_seconds=seconds,
            sync_on_commit=data.sync_on_commit,
        )
        await request.audit(tx, "push_mirror.add", repository.audit_subject, name=row.name, remote=row.url)
    request.components.mirror_workers.wake.set()
    return _shown(request, row)


async def _remote(request: RepositoryRequest, data: CreatePushMirror) -> RemoteUrl:
    """The remote with its credentials; those in the address count only where the fields are empty. Raises Invalid."""
    try:
        remote = parse_remote_url(
            data.remote_address.strip(),
            username=data.remote_username,
            ssh=bool(request.settings.known_hosts),
        )
    except Invalid as error:
        raise Invalid.field("remote_address", error.errors[0].code, error.errors[0].message) from None
    if await request.components.proxy.refusal(remote.host, remote.port):
        raise Invalid.field("remote_address", "address", imports.REASON_TEXTS["address"])
    return msgspec.structs.replace(remote, password=data.remote_password or remote.password)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors",
    policy=in_repository("admin", "read:repository"),
    operation_id="repoListPushMirrors",
    tags=["repository"],
)
async def list_push_mirrors(request: RepositoryRequest) -> Response[list[PushMirror]]:
    """Remotes to which the repository is pushed."""
    page = request.page()
    async with request.db.read() as db:
        mirrors, total = await rows.list_page(db, request.resource.id, page)
    return Response([_shown(request, row) for row in mirrors], headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors/{name:str}",
    policy=in_repository("admin", "read:repository"),
    operation_id="repoGetPushMirrorByRemoteName",
    tags=["repository"],
)
async def get_push_mirror(request: RepositoryRequest, name: str) -> PushMirror:
    """A push mirror."""
    async with request.db.read() as db:
        row = await rows.get_by_name(db, request.resource.id, name)
    if row is None:
        raise NotFound
    return _shown(request, row)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors/{name:str}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoDeletePushMirror",
    tags=["repository"],
)
async def delete_push_mirror(request: RepositoryRequest, name: str) -> None:
    """Push to that remote no more; what is there stays."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        if not await rows.remove(tx, repository.id, name):
            raise NotFound
        await request.audit(tx, "push_mirror.delete", repository.audit_subject, name=name)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors-sync",
    policy=in_repository("admin", "write:repository", on_disk=True),
    operation_id="repoPushMirrorSync",
    tags=["repository"],
    status_code=200,
)
async def sync_push_mirrors(request: RepositoryRequest) -> Response[bytes]:
    """Push to every push mirror soon."""
    row = writable(request).row
    async with request.db.transaction() as tx:
        for mirror in await rows.list_all(tx, row.id):
            await push_mirrors.request_push(tx, request.components.jobs, mirror.id, row.shard)
    request.components.mirror_workers.wake.set()
    return Response(b"", status_code=200, media_type="text/plain")


routes = [add_push_mirror, list_push_mirrors, get_push_mirror, delete_push_mirror, sync_push_mirrors]
