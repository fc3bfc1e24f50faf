"""Migrations: bringing a repository over from elsewhere, watching that, stopping it, starting it again."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.policy import MAX_ID, resource, signed_in
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call, Found
from ingot_repos.api.repositories import Secret
from ingot_repos.core import access, migrations, names
from ingot_repos.core import repositories as core
from ingot_repos.core.intervals import read_interval
from ingot_repos.core.migrations import NewMigration, told
from ingot_repos.core.sources import Source, read_source
from ingot_repos.store import accounts, remotes, repositories

FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5


class MigrateRepository(msgspec.Struct, kw_only=True):
    """Whose it becomes: ``repo_owner`` (a name) or ``uid``; neither: the caller's."""

    clone_addr: str
    repo_name: str
    uid: int = 0
    repo_owner: str = ""
    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""
    mirror: bool = False
    mirror_interval: str = ""
    private: bool = False
    description: Annotated[str, msgspec.Meta(max_length=255)] = ""


class Migration(msgspec.Struct):
    """How far it is. ``received`` counts bytes, ``percent`` belongs to the phase, ``error`` says what went wrong."""

    status: Literal["waiting", "running", "done", "failed", "cancelled"]
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
async def migrate(request: Call, data: MigrateRepository) -> Repository:
    """Bring a repository over. The answer waits a while for the end; then the repository is still being filled."""
    access.require_unconfined(request.who)
    request.take_place()
    owner = await _owner(request, data)
    source = await _source(request, data)
    wanted = NewMigration(
        name=names.check_repository(data.repo_name),
        description=data.description,
        private=data.private,
        default_branch=request.settings.default_branch,
        source=source,
        mirror=data.mirror,
        interval=_interval(request, data.mirror_interval),
    )
    async with request.db.transaction() as tx:
        row = await migrations.request(
            tx,
            request.parts.jobs,
            request.parts.seal,
            owner,
            request.who.id,
            wanted,
            shard=request.settings.shard,
            most=request.most_repositories,
        )
    await request.own(row)
    request.parts.migrators.wake.set()
    await _wait(request, row.id)
    async with request.db.read() as db:
        row = await repositories.get_raw(db, row.id)
    if row is None:
        raise NotFound("it was deleted meanwhile")
    return await request.view(Found(row, "owner"))


async def _owner(request: Call, data: MigrateRepository) -> Any:
    """Whose the repository becomes. Raises Invalid, Denied."""
    caller = await request.own_account()
    field, login = "repo_owner", data.repo_owner
    if not login and data.uid:
        field = "uid"
        async with request.db.read() as db:
            known = await accounts.get(db, data.uid) if 0 < data.uid <= MAX_ID else None
        if known is None:
            asked = await request.parts.identity.account(data.uid) if 0 < data.uid <= MAX_ID else None
            login = asked.login if asked is not None else ""
        else:
            login = known.login
        if not login:
            raise Invalid.field("uid", "unknown", "there is no such account")
    if not login or login.lower() == caller.login.lower():
        return caller
    try:
        owner = await request.account(login)
        if owner.kind == "organization":
            return await request.owned_organization(login)
    except NotFound:
        raise Invalid.field(field, "unknown", "there is no such account") from None
    if not request.who.admin:
        raise Denied("only for yourself and organizations that you own")
    return owner


async def _source(request: Call, data: MigrateRepository) -> Source:
    """Where from, with credentials; what the address itself holds counts only where the fields are empty."""
    settings = request.settings
    folders = settings.local_remotes if request.who.admin else []
    source = read_source(
        data.clone_addr.strip(),
        username=data.auth_username,
        folders=folders,
        ssh=bool(settings.known_hosts),
    )
    if source.host and await request.parts.proxy.refusal(source.host, source.port):
        raise Invalid.field("clone_addr", "address", migrations.TEXTS["address"])
    password = data.auth_token or data.auth_password or source.password
    return msgspec.structs.replace(source, password=password)


def _interval(request: Call, text: str) -> int:
    if not text.strip():
        return request.settings.mirror_interval_seconds
    return read_interval(text, least=request.settings.mirror_least_seconds)


async def _wait(request: Call, repository_id: int) -> None:
    """Return when it is there, or has taken too long. Raises Invalid when it failed; then the name is free again."""
    clock = asyncio.get_running_loop()
    end = clock.time() + request.settings.migration_wait_seconds
    pause = FIRST_LOOK
    while clock.time() < end:
        async with request.db.read() as db:
            row = await remotes.get_migration(db, repository_id)
        if row is None or row.state in ("done", "cancelled"):
            return
        if row.state == "failed":
            sender = await request.sender()
            async with request.db.transaction() as tx:
                failed = await repositories.get_raw(tx, repository_id)
                if failed is not None and failed.state == "failed":
                    await core.delete(tx, request.parts.jobs, request.viewing, failed, sender)
            request.parts.workers.wake.set()
            raise Invalid.field("clone_addr", row.reason, told(row.reason))
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_LOOK)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=resource("admin", "read:repository"),
    operation_id="repoGetMigration",
    tags=["repository"],
)
async def get_migration(request: Call) -> Migration:
    """How far a migration is; 404 for a repository that was not migrated."""
    return await _view(request)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=resource("admin", "write:repository"),
    operation_id="repoRestartMigration",
    tags=["repository"],
    status_code=202,
)
async def restart_migration(request: Call) -> Migration:
    """Start a migration again that failed or was cancelled; it keeps what it has brought over."""
    await _view(request)
    async with request.db.transaction() as tx:
        await migrations.restart(tx, request.parts.jobs, request.found.row)
    request.parts.migrators.wake.set()
    return await _view(request)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=resource("admin", "write:repository"),
    operation_id="repoCancelMigration",
    tags=["repository"],
)
async def cancel_migration(request: Call) -> None:
    """Stop a migration. The repository stays, without its commits, until it is deleted or started again."""
    await _view(request)
    async with request.db.transaction() as tx:
        await migrations.cancel(tx, request.found.id)


async def _view(request: Call) -> Migration:
    async with request.db.read() as db:
        row = await remotes.get_migration(db, request.found.id)
    if row is None:
        raise NotFound
    return Migration(
        status=row.state,
        phase=row.phase,
        percent=row.percent,
        received=row.received,
        error=told(row.reason),
        original_url=row.url if "://" in row.url else "",
        created_at=row.created_at.replace(microsecond=0),
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
    )


routes = [migrate, get_migration, restart_migration, cancel_migration]
