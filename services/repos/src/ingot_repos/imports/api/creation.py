"""The route that imports a repository."""

import msgspec
from litestar import Response, post

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, signed_in
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import polls
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import Description, Name
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.repositories import Repository
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    organization_for_new,
    own_account,
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
from ingot_repos.imports.api.people import accounts_of
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.imports.rules.dry_runs import ImportReport, try_import
from ingot_repos.imports.rules.fields import OF_A_FORGE, new_source
from ingot_repos.imports.rules.lifecycle import NewImport, NewSource
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import People, PeopleCsv
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.presentation.rules.intervals import read_interval
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.rules import reasons
from ingot_repos.remotes.rules.reasons import reason_text
from ingot_repos.remotes.rules.urls import RemoteUrl, lfs_url, parse_remote_url
from ingot_repos.repositories.rules import deletions
from ingot_repos.repositories.rules.creation import record_owner

FORGES = ("github", "gitea", "forgejo", "gitlab", "gogs", "onedev", "gitbucket", "codebase", "codecommit")
"""Services with data next to git. As in Gitea, every other name means plain git."""


class MigrateRepoForm(msgspec.Struct, kw_only=True):
    """A request to import a repository. `repo_owner` (a name) or `uid` is the owner, by default the caller.

    - Labels, milestones, issues, pull requests, releases and the wiki are imported from these services:
      gitea, forgejo, gogs, github, gitlab. Such data of another `service` is rejected. For plain git and
      mirrors, these switches are ignored.
    - The author of a text is the account that shows the author's e-mail address. With `map_logins` it may
      also be the account with the same login. `people` maps logins at the source to local logins, and takes
      precedence. `people_csv` is the same table as CSV. Other authors become the ghost user, and
      `original_author` has their names.
    - Only administrators can set `map_logins` or map authors to accounts other than their own.
    - `lfs`: also import the LFS objects of the history, from `lfs_endpoint` or from the LFS server of the
      remote.
    - `mirror_interval` is ignored except for mirrors.
    - `aws_access_key_id` and `aws_secret_access_key` are ignored. Use `auth_username` and `auth_password`.
    - `dry_run`: create nothing, and return a report.
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


@post(
    "/api/v1/repos/migrate",
    policy=signed_in("write:repository"),
    operation_id="repoMigrate",
    tags=["repository"],
    status_code=201,
)
async def migrate(request: RepositoryRequest, data: MigrateRepoForm) -> Response[Repository | ImportReport]:
    """Import a repository. With `dry_run`, return a report with status 200 instead.

    The response waits for the end of the import, up to a limit. After the limit, the commits are still being
    fetched. If the import fails earlier, the repository is deleted.
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
    """Return the non-git data to import, or None. Raises Invalid, Denied."""
    service = data.service.lower()
    accounts = await accounts_of(request, data.people, data.people_csv, map_logins=data.map_logins)
    if data.mirror or service not in FORGES:
        return None
    return new_source(
        service,
        {name for name in OF_A_FORGE if getattr(data, name)},
        maps_people=request.principal.admin,
        map_logins=data.map_logins,
        people=accounts,
    )


async def owner_of_new(request: RepositoryRequest, login: str, uid: int = 0) -> AccountRow:
    """Return the owner that a request names, by default the caller. Raises Invalid, Denied."""
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
    """Return the remote with its credentials. Raises Invalid.

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
    """Wait until the import ends, at most ``migration_wait_seconds``.

    If the import failed, delete the repository and raise Invalid.
    """
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


routes = [migrate]
