"""Routes for imports from remotes: start, watch, cancel and restart.

The API calls imports migrations, so its structs and routes use that word.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, cast

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import ApiError, Denied, Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, Connection, Policy, resource, signed_in
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import polls
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import Description, Name
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.imports import ConflictKind
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    organization_for_new,
    own_account,
    require_present_name,
    resolve,
    resolve_by_id,
    sender_of,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.states import AccountKind, ImportState, RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports import store as sources
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.imports.rules import progress
from ingot_repos.imports.rules.dry_runs import ImportReport, try_import
from ingot_repos.imports.rules.fields import OF_A_FORGE, new_source
from ingot_repos.imports.rules.lifecycle import NewImport, NewRepeat, NewSource
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import People, PeopleCsv, find_people, read_people, reassign
from ingot_repos.imports.store import Counts
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.intervals import read_interval
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.clients.socks_proxy import SocksProxy
from ingot_repos.remotes.rules import reasons
from ingot_repos.remotes.rules.credentials import seal_credentials
from ingot_repos.remotes.rules.reasons import reason_text
from ingot_repos.remotes.rules.urls import RemoteUrl, lfs_url, parse_remote_url
from ingot_repos.repositories.rules import deletions
from ingot_repos.repositories.rules.creation import record_owner

MOST_AUDITED = 100
"""Limit of people in an entry of the audit log."""
FORGES = ("github", "gitea", "forgejo", "gitlab", "gogs", "onedev", "gitbucket", "codebase", "codecommit")
"""Services with data next to git. As in Gitea, every other name means plain git."""


class MigrateRepoForm(msgspec.Struct, kw_only=True):
    """``repo_owner`` (a name) or ``uid`` is the owner. The default is the caller.

    Labels, milestones, issues, pull requests, releases, the wiki and topics are imported from some services:
    gitea, forgejo, gogs, github, gitlab. The caller is the author of texts with an e-mail address that his
    account shows. If an administrator imports, other accounts are authors by their addresses, too. With
    ``map_logins``, which only administrators set, accounts with the same login follow. ``people`` names
    accounts by logins at the source, and comes first. ``people_csv`` is the same as CSV. Only administrators
    name other accounts than their own there. Other authors are the ghost; ``original_author`` names them.
    With ``lfs``, objects that the history points to are imported, too.
    They come from ``lfs_endpoint`` or from the LFS server of the remote. Switches for other data are ignored
    for plain git and mirrors. Other data of a ``service`` is refused. ``mirror_interval`` is for mirrors and
    ignored otherwise. The keys of AWS are ignored: git uses ``auth_username`` and ``auth_password``. With
    ``dry_run`` nothing is created, and the answer is a report.
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
    map_logins: bool = False
    people: People = {}
    people_csv: PeopleCsv = ""
    dry_run: bool = False
    lfs: bool = False
    lfs_endpoint: Description = ""
    aws_access_key_id: Secret = ""
    aws_secret_access_key: Secret = ""


class RestartMigration(msgspec.Struct, kw_only=True):
    """New credentials for the remote. Those of the import were erased when it ended."""

    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""


class RepeatMigration(RestartMigration, kw_only=True):
    """Credentials for the remote, and how its people are mapped, as for a new import."""

    map_logins: bool = False
    people: People = {}
    people_csv: PeopleCsv = ""


class ReassignPeople(msgspec.Struct, kw_only=True):
    """Logins here by logins at the source, as for a new import. ``people_csv`` is the same as CSV."""

    people: People = {}
    people_csv: PeopleCsv = ""


class MigrationConflict(msgspec.Struct):
    """An object that changed here and at the source since the last run. It stays as it is here.

    ``number`` is that of its issue or pull request, or 0. ``name`` is that of a label, milestone, release,
    branch or tag. Comments and reviews have their ids at the source there. ``fields`` changed on both sides.
    Of these, ``deleted`` says that it was deleted here, and ``number`` that another one has its number here.
    """

    kind: ConflictKind
    number: int
    name: str
    fields: list[str]


class Migration(msgspec.Struct):
    """The progress of an import. ``received`` is in bytes, ``percent`` is of the present phase.

    ``error`` also names LFS objects that the remote lacks, and the error of a mirror's last sync. While an
    import waits for its source, it is the last failed request. ``counts`` has the data next to git by kind:
    objects that are done, and all that the source counts, or null. ``phase`` is then the present kind.
    ``rate`` is in objects a minute. ``remaining_seconds`` is an estimate, null if the source does not count
    its objects. The source is not asked before ``paused_until``. ``id`` is that of the repository.
    ``repeat`` counts how often the import was repeated. ``conflicts`` counts what changed on both sides.
    """

    id: int
    status: ImportState
    phase: str
    percent: int
    received: int
    error: str
    original_url: str
    created_at: datetime
    finished_at: datetime | None
    counts: dict[str, Counts] = {}
    rate: int | None = None
    remaining_seconds: int | None = None
    paused_until: datetime | None = None
    repeat: int = 0
    conflicts: int = 0


@post(
    "/api/v1/repos/migrate",
    policy=signed_in("write:repository"),
    operation_id="repoMigrate",
    tags=["repository"],
    status_code=201,
)
async def migrate(request: RepositoryRequest, data: MigrateRepoForm) -> Response[Repository | ImportReport]:
    """Import a repository, or answer 200 with a report about an import.

    The response waits for a while. If the import takes longer, the commits are still being fetched.
    """
    access.require_unrestricted(request.principal)
    source = await _source(request, data)
    request.acquire_slot()
    owner = await owner_of_new(request, data.repo_owner, data.uid)
    remote = await _remote_url(request, data)
    if source is not None and remote.scheme not in ("http", "https"):
        raise Invalid.field("clone_addr", "scheme", f"the API of {source.service} needs an address of https")
    if data.dry_run:
        if source is None:
            raise Invalid.field("dry_run", "unsupported", "only data next to git has a report")
        database, opener = request.db, request.part(SourceOpener)
        report = await try_import(database, opener, source, remote, importer_id=request.principal.id)
        return Response(report, status_code=200)
    new = NewImport(
        name=names.check_repository(data.repo_name),
        description=data.description,
        private=data.private,
        default_branch=request.settings.default_branch,
        remote=remote,
        lfs_url=await _lfs_url(request, data, remote) if data.lfs else None,
        mirror=data.mirror,
        interval=_interval(request, data.mirror_interval if data.mirror else ""),
        source=source,
    )
    await require_accepting(request, owner.id)
    async with request.db.transaction() as tx:
        added = await imports.request(
            tx,
            request.part(Jobs),
            request.part(Seal),
            owner,
            request.principal.id,
            new,
            shard=request.settings.shard,
            most=request.max_repositories,
        )
        mode = access.mode_of_creator(owner, request.principal)
        if mode:
            await grants.add_collaborator(tx, added.id, request.principal.id, mode)
    await record_owner(request.db, request.part(HttpIdentity), request.part(Jobs), request.presenter, added)
    await _wait(request, added.id)
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, added.id)
    if row is None:
        raise NotFound("it was deleted during the import")
    level = AccessLevel(level="admin" if mode else "owner")
    return Response(await present(request, ResolvedRepository(row, level)), status_code=201)


async def _source(request: RepositoryRequest, data: MigrateRepoForm) -> NewSource | None:
    """Return the data next to git to import. Raises Invalid, Denied."""
    service = data.service.lower()
    accounts = await _people(request, data)
    if data.mirror or service not in FORGES:
        return None
    return new_source(
        service,
        {name for name in OF_A_FORGE if getattr(data, name)},
        maps_people=request.principal.admin,
        map_logins=data.map_logins,
        people=accounts,
    )


async def _people(request: RepositoryRequest, data: MigrateRepoForm | RepeatMigration) -> dict[str, int]:
    """Return the accounts of a table of people. Raises Invalid, Denied."""
    if data.map_logins and not request.principal.admin:
        raise Denied("only administrators map users by their logins")
    people = read_people(data.people, data.people_csv)
    return await find_people(request.db, request.part(AccountCopies), people, request.principal)


async def owner_of_new(request: RepositoryRequest, login: str, uid: int = 0) -> AccountRow:
    """Return the owner that a request names; the caller by default. Raises Invalid, Denied."""
    caller = await own_account(request)
    field = "repo_owner"
    if not login and uid:
        field = "uid"
        try:
            login = (await request.part(AccountCopies).get(uid)).login if 0 < uid <= MAX_ID else ""
        except NotFound:
            login = ""
        if not login:
            raise Invalid.field("uid", "unknown", "there is no such account")
    if not login or login.lower() == caller.login.lower():
        return caller
    try:
        owner = await request.part(AccountCopies).get_by_login(login)
        if owner.kind == AccountKind.ORGANIZATION:
            return await organization_for_new(request, login)
    except NotFound:
        raise Invalid.field(field, "unknown", "there is no such account") from None
    if not request.principal.admin:
        raise Denied("only administrators import repositories for other users")
    return owner


async def _remote_url(request: RepositoryRequest, data: MigrateRepoForm) -> RemoteUrl:
    """Return the remote with its credentials.

    Credentials in the address are used only if the fields are empty.
    """
    settings = request.settings
    folders = settings.local_remotes if request.principal.admin else []
    remote = parse_remote_url(
        data.clone_addr.strip(),
        username=data.auth_username,
        folders=folders,
        ssh=bool(settings.known_hosts),
    )
    if remote.host and await request.part(SocksProxy).refusal(remote.host, remote.port):
        raise Invalid.field("clone_addr", "address", reasons.REASON_TEXTS["address"])
    password = data.auth_token or data.auth_password or remote.password
    return msgspec.structs.replace(remote, password=password)


async def _lfs_url(request: RepositoryRequest, data: MigrateRepoForm, remote: RemoteUrl) -> str:
    """Return the address of the LFS server. Raises Invalid."""
    if not request.settings.lfs_enabled:
        raise Invalid.field("lfs", "unsupported", reasons.REASON_TEXTS["lfs-off"])
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
    if await request.part(SocksProxy).refusal(endpoint.host, endpoint.port):
        raise Invalid.field("lfs_endpoint", "address", reasons.REASON_TEXTS["address"])
    return endpoint.url


def _interval(request: RepositoryRequest, text: str) -> int:
    if not text.strip():
        return request.settings.mirror_interval_seconds
    return read_interval(text, least=request.settings.mirror_least_seconds)


async def _wait(request: RepositoryRequest, repository_id: int) -> None:
    """Wait until the import ends, with a limit. If it failed, delete the repository and raise Invalid."""
    async for _ in polls(request.settings.migration_wait_seconds):
        async with request.db.read() as db:
            row = await import_rows.get(db, repository_id)
        if row is None or row.state in (ImportState.DONE, ImportState.CANCELLED):
            return
        if row.state == ImportState.FAILED:
            sender = await sender_of(request)
            async with request.db.transaction() as tx:
                failed = await repositories.get_unfiltered(tx, repository_id)
                source = await sources.get(tx, repository_id)
                if failed is not None and (failed.state == RepositoryState.FAILED or source is not None):
                    await deletions.delete(tx, request.part(Jobs), request.presenter, failed, sender)
            raise Invalid.field("clone_addr", row.reason, reason_text(row.reason))


def imported_repository(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the import of ``{owner}/{repo}``. Without an import the route answers 404.

    ``request.resource`` is the repository.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, path = cast("RepositoryRequest", connection), connection.path_params
        resolved = await resolve(request, path["owner"], path["repo"], level, unit=None)
        require_present_name(request, resolved)
        return await _require_import(request, resolved)

    return resource(level, scope, decide)


def imported_repository_by_id(level: access.RequiredLevel, scope: str) -> Policy:
    """Policy for the import of ``{repository_id}``. Without an import the route answers 404.

    ``request.resource`` is the repository.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request = cast("RepositoryRequest", connection)
        access.require_signed_in(request.principal)
        resolved = await resolve_by_id(request, connection.path_params["repository_id"], level, unit=None)
        return await _require_import(request, resolved)

    return resource(level, scope, decide)


async def _require_import(request: RepositoryRequest, resolved: ResolvedRepository) -> ResolvedRepository:
    """Return the repository. Raises NotFound if it was not imported."""
    async with request.db.read() as db:
        if await import_rows.get(db, resolved.id) is None:
            raise NotFound
    return resolved


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "read:repository"),
    operation_id="repoGetMigration",
    tags=["repository"],
)
async def get_migration(request: RepositoryRequest) -> Migration:
    """Return the progress of an import. Answers 404 if the repository was not imported."""
    return await _present(request)


@get(
    "/api/v1/repos/migrate/{repository_id:int}",
    policy=imported_repository_by_id("admin", "read:repository"),
    operation_id="repoGetMigrationByID",
    tags=["repository"],
)
async def get_by_id(request: RepositoryRequest) -> Migration:
    """Return the progress of an import by the id of its repository."""
    return await _present(request)


@delete(
    "/api/v1/repos/migrate/{repository_id:int}",
    policy=imported_repository_by_id("owner", "write:repository"),
    operation_id="repoUndoMigration",
    tags=["repository"],
)
async def undo_migration(request: RepositoryRequest) -> None:
    """Cancel an import and delete its repository with everything that came. Answers 409 if it is done."""
    row, sender = request.resource.row, await sender_of(request)
    async with request.db.transaction() as tx:
        await imports.give_up(tx, request.part(Jobs), row.id)
        await deletions.delete(tx, request.part(Jobs), request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    with suppress(ApiError):  # identity gets the event as well
        await request.part(HttpIdentity).disown(row.id)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "write:repository"),
    operation_id="repoRestartMigration",
    tags=["repository"],
    status_code=202,
)
async def restart_migration(request: RepositoryRequest, data: RestartMigration) -> Migration:
    """Restart a failed or cancelled import. Data that was fetched is kept.

    Credentials are needed again, because they are erased when an import ends. A cancelled one has no table of
    people any more.
    """
    sealed = seal_credentials(request.part(Seal), data.auth_username, data.auth_token or data.auth_password)
    async with request.db.transaction() as tx:
        await imports.restart(
            tx,
            request.part(Jobs),
            request.presenter,
            request.resource.row,
            user_id=request.principal.id,
            is_admin=request.principal.admin,
            sealed=sealed,
        )
    return await _present(request)


@post(
    "/api/v1/repos/migrate/{repository_id:int}/again",
    policy=imported_repository_by_id("admin", "write:repository"),
    operation_id="repoRepeatMigration",
    tags=["repository"],
    status_code=202,
)
async def repeat_migration(request: RepositoryRequest, data: RepeatMigration) -> Migration:
    """Repeat an import that is done: it brings what is new at the source.

    What changed here since then stays. What changed on both sides stays and is listed. Credentials are needed
    again, because they are erased when an import ends. Answers 409 if the import is not done, and for mirrors
    and archives.
    """
    request.acquire_slot()
    new = NewRepeat(
        user_id=request.principal.id,
        sealed=seal_credentials(
            request.part(Seal), data.auth_username, data.auth_token or data.auth_password
        ),
        maps_people=request.principal.admin,
        map_logins=data.map_logins,
        people=await _people(request, data),
    )
    async with request.db.transaction() as tx:
        row = await current_row(tx, request.resource.id)
        await imports.repeat(tx, request.part(Jobs), row, new)
        await request.audit(
            tx,
            "repository.repeat_import",
            request.resource.audit_subject,
            id=request.resource.id,
            map_logins=new.map_logins,
            **_audited(new.people),
        )
    return await _present(request)


@get(
    "/api/v1/repos/migrate/{repository_id:int}/conflicts",
    policy=imported_repository_by_id("admin", "read:repository"),
    operation_id="repoListMigrationConflicts",
    tags=["repository"],
)
async def list_conflicts(request: RepositoryRequest) -> Response[list[MigrationConflict]]:
    """List what the last repeat of an import did not change, because it changed here, too."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await sources.list_conflicts(db, request.resource.id, page)
    conflicts = [
        MigrationConflict(row.kind, row.number, row.name, msgspec.json.decode(row.fields, type=list[str]))
        for row in rows
    ]
    return Response(conflicts, headers=request.page_headers(page, total))


@post(
    "/api/v1/repos/migrate/{repository_id:int}/people",
    policy=imported_repository_by_id("admin", "write:repository"),
    operation_id="repoReassignMigrationPeople",
    tags=["repository"],
    status_code=202,
)
async def reassign_people(request: RepositoryRequest, data: ReassignPeople) -> None:
    """Give accounts what an import brought of people who had none: texts, reviews, releases and the like.

    Only what the ghost has is moved, so a second call moves the rest. An account that cannot read the
    repository becomes no assignee and no reviewer. Only site administrators name other accounts than their
    own.
    """
    request.acquire_slot()
    people = read_people(data.people, data.people_csv)
    if not people:
        raise Invalid.field("people", "required", "names no one")
    accounts = await find_people(request.db, request.part(AccountCopies), people, request.principal)
    async with request.db.transaction() as tx:
        await reassign(tx, request.resource.id, accounts)
        await request.audit(
            tx,
            "repository.reassign_import",
            request.resource.audit_subject,
            id=request.resource.id,
            **_audited(people),
        )


def _audited(people: Mapping[str, object]) -> dict[str, Any]:
    """Return the first people of a table, their number, and a digest of all of them."""
    lines = sorted(f"{there} is {here}" for there, here in people.items())
    sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"people": lines[:MOST_AUDITED], "people_count": len(lines), "people_sha256": sha256}


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/migration",
    policy=imported_repository("admin", "write:repository"),
    operation_id="repoCancelMigration",
    tags=["repository"],
)
async def cancel_migration(request: RepositoryRequest) -> None:
    """Cancel an import.

    The repository stays without commits until it is deleted or the import is restarted.
    """
    async with request.db.transaction() as tx:
        await imports.cancel(tx, request.part(Jobs), request.resource.id)


async def _present(request: RepositoryRequest) -> Migration:
    async with request.db.read() as db:
        row = await import_rows.get(db, request.resource.id)
        source = await sources.get(db, request.resource.id)
        conflicts = await sources.count_conflicts(db, request.resource.id) if row and row.repeat else 0
    if row is None:
        raise NotFound
    speed = progress.speed_of(source, row.finished_at) if source is not None else progress.Speed()
    pause = source.paused_until if source is not None and row.state == ImportState.RUNNING else None
    last_error = reason_text(source.last_reason) if source is not None and pause else ""
    return Migration(
        id=row.repository_id,
        counts=sources.counts_of(source) if source is not None else {},
        rate=speed.rate,
        remaining_seconds=speed.remaining_seconds,
        paused_until=pause.replace(microsecond=0) if pause else None,
        status=row.state,
        phase=row.phase,
        percent=row.percent,
        received=row.received,
        error=imports.error_text(row) or last_error,
        original_url=row.url if "://" in row.url else "",
        created_at=row.created_at.replace(microsecond=0),
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
        repeat=row.repeat,
        conflicts=conflicts,
    )


routes = [
    migrate,
    get_migration,
    get_by_id,
    undo_migration,
    restart_migration,
    cancel_migration,
    repeat_migration,
    list_conflicts,
    reassign_people,
]
