"""Imports of repositories from remotes: starting, watching, cancelling and restarting one.

The API calls them migrations, so its structs and routes do as well.
"""

from datetime import datetime

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, signed_in
from ingot_contracts.limits import Description, Name
from ingot_repos.api.policies import in_repository, organization_for_new, own_account, sender_of
from ingot_repos.api.repositories import Secret, present
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shards import require_accepting
from ingot_repos.core import access, grants, imports, names
from ingot_repos.core import repositories as core
from ingot_repos.core.imports import NewImport, reason_text
from ingot_repos.core.intervals import read_interval
from ingot_repos.core.presenter import RepositoryAnswer
from ingot_repos.core.remote_urls import RemoteUrl, lfs_url, parse_remote_url
from ingot_repos.core.repositories import record_owner
from ingot_repos.core.waits import looks
from ingot_repos.store import imports as import_rows
from ingot_repos.store import repositories
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.states import AccountKind, ImportState, RepositoryState

OF_A_FORGE = ("issues", "labels", "milestones", "pull_requests", "releases", "wiki")
"""What is beside git on the server of a ``service``. Gitea reads none of it from plain git, nor for a mirror."""
PLAIN_GIT = ("", "git")
SERVICES = ("git", "github", "gitea", "gitlab", "gogs", "onedev", "gitbucket", "codebase", "codecommit")
"""What may be behind a remote."""
NOT_IMPORTED = {
    **dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "CodeCommit is reached by auth_username"),
}
"""Fields that can only be empty, with the reason."""
NEEDED_SWITCHES = {"mirror_interval": "mirror", "lfs_endpoint": "lfs"}
"""Fields that can only be empty while a switch is off."""


class MigrateRepository(msgspec.Struct, kw_only=True):
    """``repo_owner`` (a name) or ``uid`` is the owner; without either it is the caller.

    Only what git has is imported, with ``lfs`` also the objects of LFS that its history names, from ``lfs_endpoint`` or else
    the LFS server of the remote. The switches of the rest say nothing for plain git and mirrors, and are refused for a
    ``service`` that has it.
    """

    clone_addr: Description
    repo_name: Name
    uid: int = 0
    repo_owner: Name = ""
    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""
    mirror: bool = False
    mirror_interval: Name = ""
    private: bool = False
    description: Name = ""
    service: Name = ""
    issues: bool = False
    labels: bool = False
    milestones: bool = False
    pull_requests: bool = False
    releases: bool = False
    wiki: bool = False
    lfs: bool = False
    lfs_endpoint: Description = ""
    aws_access_key_id: Secret = ""
    aws_secret_access_key: Secret = ""


class Migration(msgspec.Struct):
    """The progress of an import. ``received`` counts bytes, ``percent`` is that of the phase.

    ``error`` also says which objects of LFS the remote lacks, and for a mirror what was wrong with the last sync.
    """

    status: ImportState
    phase: str
    percent: int
    received: int
    error: str
    original_url: str
    created_at: datetime
    finished_at: datetime | None


@post(
    "/api/v1/repos/migrate",
    policy=signed_in("write:repository"),
    operation_id="repoMigrate",
    tags=["repository"],
    status_code=201,
)
async def migrate(request: RepositoryRequest, data: MigrateRepository) -> RepositoryAnswer:
    """Import a repository. The answer waits a while for the end; then the commits are still being fetched."""
    access.require_unrestricted(request.principal)
    _require_importable(data)
    request.acquire_slot()
    owner = await _owner(request, data)
    remote = await _remote_url(request, data)
    new = NewImport(
        name=names.check_repository(data.repo_name),
        description=data.description,
        private=data.private,
        default_branch=request.settings.default_branch,
        remote=remote,
        lfs_url=await _lfs_url(request, data, remote) if data.lfs else None,
        mirror=data.mirror,
        interval=_interval(request, data.mirror_interval),
    )
    await require_accepting(request, owner.id)
    async with request.db.transaction() as tx:
        added = await imports.request(
            tx,
            request.components.jobs,
            request.components.seal,
            owner,
            request.principal.id,
            new,
            shard=request.settings.shard,
            most=request.max_repositories,
        )
        mode = access.mode_of_creator(owner, request.principal)
        if mode:
            await grants.add_collaborator(tx, added.id, request.principal.id, mode)
    components = request.components
    await record_owner(request.db, components.identity, components.jobs, request.presenter, added)
    components.import_workers.wake.set()
    await _wait(request, added.id)
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, added.id)
    if row is None:
        raise NotFound("it was deleted meanwhile")
    return await present(request, ResolvedRepository(row, "admin" if mode else "owner"))


def _require_importable(data: MigrateRepository) -> None:
    """Raises Invalid for an unknown service, and for what would be left out although the client expects it."""
    service = data.service.lower()
    if service and service not in SERVICES:
        raise Invalid.field("service", "unknown", f"is one of {', '.join(SERVICES)}")
    for name, reason in NOT_IMPORTED.items():
        if getattr(data, name):
            raise Invalid.field(name, "unsupported", reason)
    for name, switch in NEEDED_SWITCHES.items():
        if getattr(data, name).strip() and not getattr(data, switch):
            raise Invalid.field(name, "unsupported", f"says nothing without {switch}")
    if data.mirror or service in PLAIN_GIT:
        return
    for name in OF_A_FORGE:
        if getattr(data, name):
            raise Invalid.field(name, "unsupported", "an import fetches what git has, and nothing else")


async def _owner(request: RepositoryRequest, data: MigrateRepository) -> AccountRow:
    """The owner that the body names. Raises Invalid, Denied."""
    caller = await own_account(request)
    field, login = "repo_owner", data.repo_owner
    if not login and data.uid:
        field = "uid"
        try:
            login = (await request.components.accounts.get(data.uid)).login if 0 < data.uid <= MAX_ID else ""
        except NotFound:
            login = ""
        if not login:
            raise Invalid.field("uid", "unknown", "there is no such account")
    if not login or login.lower() == caller.login.lower():
        return caller
    try:
        owner = await request.components.accounts.get_by_login(login)
        if owner.kind == AccountKind.ORGANIZATION:
            return await organization_for_new(request, login)
    except NotFound:
        raise Invalid.field(field, "unknown", "there is no such account") from None
    if not request.principal.admin:
        raise Denied("only administrators import repositories for other users")
    return owner


async def _remote_url(request: RepositoryRequest, data: MigrateRepository) -> RemoteUrl:
    """The remote with its credentials; those in the address count only where the fields are empty."""
    settings = request.settings
    folders = settings.local_remotes if request.principal.admin else []
    remote = parse_remote_url(
        data.clone_addr.strip(),
        username=data.auth_username,
        folders=folders,
        ssh=bool(settings.known_hosts),
    )
    if remote.host and await request.components.proxy.refusal(remote.host, remote.port):
        raise Invalid.field("clone_addr", "address", imports.REASON_TEXTS["address"])
    password = data.auth_token or data.auth_password or remote.password
    return msgspec.structs.replace(remote, password=password)


async def _lfs_url(request: RepositoryRequest, data: MigrateRepository, remote: RemoteUrl) -> str:
    """Where objects of LFS are fetched from. Raises Invalid."""
    if not request.settings.lfs_enabled:
        raise Invalid.field("lfs", "unsupported", imports.REASON_TEXTS["lfs-off"])
    text = data.lfs_endpoint.strip() or lfs_url(remote.url)
    if not text:
        raise Invalid.field(
            "lfs_endpoint", "required", "a folder of this server has no LFS server of its own"
        )
    try:
        endpoint = parse_remote_url(text)
    except Invalid as error:
        raise Invalid.field("lfs_endpoint", error.errors[0].code, error.errors[0].message) from None
    if endpoint.scheme not in ("http", "https"):
        raise Invalid.field("lfs_endpoint", "scheme", "is not an address of http or https")
    if endpoint.username or endpoint.password:
        raise Invalid.field("lfs_endpoint", "credentials", "may have no user name and no password")
    if await request.components.proxy.refusal(endpoint.host, endpoint.port):
        raise Invalid.field("lfs_endpoint", "address", imports.REASON_TEXTS["address"])
    return endpoint.url


def _interval(request: RepositoryRequest, text: str) -> int:
    if not text.strip():
        return request.settings.mirror_interval_seconds
    return read_interval(text, least=request.settings.mirror_least_seconds)


async def _wait(request: RepositoryRequest, repository_id: int) -> None:
    """Return when the import has ended or taken too long. If it failed, delete the repository and raise Invalid."""
    async for _ in looks(request.settings.migration_wait_seconds):
        async with request.db.read() as db:
            row = await import_rows.get(db, repository_id)
        if row is None or row.state in (ImportState.DONE, ImportState.CANCELLED):
            return
        if row.state == ImportState.FAILED:
            sender = await sender_of(request)
            async with request.db.transaction() as tx:
                failed = await repositories.get_unfiltered(tx, repository_id)
                if failed is not None and failed.state == RepositoryState.FAILED:
                    await core.delete(tx, request.components.jobs, request.presenter, failed, sender)
            request.components.workers.wake.set()
            raise Invalid.field("clone_addr", row.reason, reason_text(row.reason))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=in_repository("admin", "read:repository"),
    operation_id="repoGetMigration",
    tags=["repository"],
)
async def get_migration(request: RepositoryRequest) -> Migration:
    """The progress of an import; 404 for a repository that was not imported."""
    return await _present(request)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoRestartMigration",
    tags=["repository"],
    status_code=202,
)
async def restart_migration(request: RepositoryRequest) -> Migration:
    """Start an import again that failed or was cancelled; it keeps what it has fetched."""
    await _present(request)
    async with request.db.transaction() as tx:
        await imports.restart(tx, request.components.jobs, request.resource.row)
    request.components.import_workers.wake.set()
    return await _present(request)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoCancelMigration",
    tags=["repository"],
)
async def cancel_migration(request: RepositoryRequest) -> None:
    """Cancel an import. The repository stays without commits until it is deleted or the import started again."""
    await _present(request)
    async with request.db.transaction() as tx:
        await imports.cancel(tx, request.resource.id)


async def _present(request: RepositoryRequest) -> Migration:
    async with request.db.read() as db:
        row = await import_rows.get(db, request.resource.id)
    if row is None:
        raise NotFound
    return Migration(
        status=row.state,
        phase=row.phase,
        percent=row.percent,
        received=row.received,
        error=imports.error_text(row),
        original_url=row.url if "://" in row.url else "",
        created_at=row.created_at.replace(microsecond=0),
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
    )


routes = [migrate, get_migration, restart_migration, cancel_migration]
