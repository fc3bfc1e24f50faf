"""Push mirrors: remotes to which a repository is pushed at intervals."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import Description
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_repos.access.api.policies import in_repository, own_account, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.mirrors import store as rows
from ingot_repos.mirrors.rules import push_mirrors
from ingot_repos.mirrors.store import PushMirrorRow
from ingot_repos.presentation.rules.intervals import read_interval, write_interval
from ingot_repos.remotes.rules import credentials, reasons
from ingot_repos.remotes.rules.urls import RemoteUrl, parse_remote_url


class CreatePushMirror(msgspec.Struct, kw_only=True):
    """A new push mirror. `interval` defaults to the interval of mirrors. `0` pushes only on request.

    With `sync_on_commit`, every push to the repository starts a run, too.
    """

    remote_address: Description
    remote_username: Secret = ""
    remote_password: Secret = ""
    interval: Description = ""
    sync_on_commit: bool = False


class PushMirror(msgspec.Struct, kw_only=True):
    """A push mirror. `remote_name` is its name in paths. `last_error` is empty after a success."""

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
        last_error=reasons.reason_text(row.reason),
        interval=write_interval(row.interval_seconds),
        sync_on_commit=row.sync_on_commit,
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors",
    policy=in_repository("admin", "write:repository", unit=None, on_disk=True),
    operation_id="repoAddPushMirror",
    tags=["repository"],
    status_code=200,
)
async def add_push_mirror(request: RepositoryRequest, data: CreatePushMirror) -> PushMirror:
    """Add a push mirror and start its first push.

    Each push deletes branches and tags that only the remote has.
    """
    repository = writable(request)
    remote = await _remote(request, data)
    seconds = request.settings.mirror_interval_seconds
    if data.interval.strip():
        seconds = read_interval(data.interval, least=request.settings.mirror_least_seconds, field="interval")
    account = await own_account(request)
    async with request.db.transaction() as tx:
        row = await push_mirrors.add(
            tx,
            request.part(Jobs),
            repository.row,
            account.id,
            url=remote.url,
            sealed=credentials.seal_credentials(request.part(Seal), remote.username, remote.password),
            interval_seconds=seconds,
            sync_on_commit=data.sync_on_commit,
        )
        await request.audit(tx, "push_mirror.add", repository.audit_subject, name=row.name, remote=row.url)
    return _shown(request, row)


async def _remote(request: RepositoryRequest, data: CreatePushMirror) -> RemoteUrl:
    """Return the remote with its credentials. Raises Invalid.

    Credentials in the address are used only if the fields are empty.
    """
    try:
        remote = parse_remote_url(
            data.remote_address.strip(),
            username=data.remote_username,
            ssh=bool(request.settings.known_hosts),
        )
    except Invalid as error:
        raise Invalid.field("remote_address", error.errors[0].code, error.errors[0].message) from None
    if await request.part(SocksProxy).refusal(remote.host, remote.port):
        raise Invalid.field("remote_address", "address", reasons.REASON_TEXTS["address"])
    return msgspec.structs.replace(remote, password=data.remote_password or remote.password)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoListPushMirrors",
    tags=["repository"],
)
async def list_push_mirrors(request: RepositoryRequest) -> Response[list[PushMirror]]:
    """List the push mirrors of the repository."""
    page = request.page()
    async with request.db.read() as db:
        mirrors, total = await rows.list_page(db, request.resource.id, page)
    return Response([_shown(request, row) for row in mirrors], headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors/{name:str}",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoGetPushMirrorByRemoteName",
    tags=["repository"],
)
async def get_push_mirror(request: RepositoryRequest, name: str) -> PushMirror:
    """Return a push mirror."""
    async with request.db.read() as db:
        row = await rows.get_by_name(db, request.resource.id, name)
    if row is None:
        raise NotFound
    return _shown(request, row)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors/{name:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoDeletePushMirror",
    tags=["repository"],
)
async def delete_push_mirror(request: RepositoryRequest, name: str) -> None:
    """Delete a push mirror. The remote repository does not change."""
    repository = writable(request)
    async with request.db.transaction() as tx:
        if not await rows.remove(tx, repository.id, name):
            raise NotFound
        await request.audit(tx, "push_mirror.delete", repository.audit_subject, name=name)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/push_mirrors-sync",
    policy=in_repository("admin", "write:repository", unit=None, on_disk=True),
    operation_id="repoPushMirrorSync",
    tags=["repository"],
    status_code=200,
)
async def sync_push_mirrors(request: RepositoryRequest) -> Response[bytes]:
    """Schedule a push to every push mirror."""
    row = writable(request).row
    async with request.db.transaction() as tx:
        for mirror in await rows.list_all(tx, row.id):
            await push_mirrors.request_push(tx, request.part(Jobs), row.id, mirror.id, row.shard)
    return Response(b"", status_code=200, media_type="text/plain")


routes = [add_push_mirror, list_push_mirrors, get_push_mirror, delete_push_mirror, sync_push_mirrors]
