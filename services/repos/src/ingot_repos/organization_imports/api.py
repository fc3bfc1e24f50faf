"""Routes for imports of whole organizations, for site administrators."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, cast

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID, Connection, Policy, admin
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.identity.accounts import NewOrganization, Visibility
from ingot_contracts.limits import Description, Name
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_remotes.forges.organizations import SourceOrganization
from ingot_remotes.interface.source import SourceBusy, SourceFailed
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.rules.names import Secret
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports.api.people import ReassignPeople, audited_people, named_people
from ingot_repos.imports.api.repeats import RepeatMigration
from ingot_repos.imports.rules.fields import OF_A_FORGE, new_source
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import People, PeopleCsv, find_people, read_people
from ingot_repos.organization_imports import rules, store
from ingot_repos.organization_imports.rules import (
    AbsentMember,
    ListedRepository,
    ListedTeam,
    Options,
    OrganizationImport,
)
from ingot_repos.organization_imports.store import OrganizationImportRow
from ingot_repos.placement.api.forwarding import require_accepting
from ingot_repos.remotes.rules.credentials import seal_credentials
from ingot_repos.remotes.rules.reasons import reason_text

MOST_GLOBS = 100
SOURCE_SECONDS = 50.0
"""Limit of the time for the requests to a source during one request."""
MOST_NAMES = 1_000
"""Limit of names in a report."""
Globs = Annotated[list[Annotated[Name, msgspec.Meta(min_length=1)]], msgspec.Meta(max_length=MOST_GLOBS)]


class ImportOrganizationForm(msgspec.Struct, kw_only=True):
    """A request to import an organization. ``address`` is the URL of the site of the source.

    ``source`` is the name of the organization there; for gitlab also the path of a group. ``organization`` is
    its name here, and defaults to the name at the source. If it does not exist, it is created with the
    visibility at the source, and the caller owns it. If the organization here is visible to more people
    than at the source, all repositories become private.

    ``repositories`` are globs for names. With ``teams``, teams are imported before the repositories, and get
    access to them. With ``dry_run`` nothing is created, and the response is a report.

    Authors and members of teams are found by the table ``people``, by e-mail address, and with ``map_logins``
    by login. The other fields are the fields of an import of one repository.
    """

    service: Name
    address: Description
    source: Name
    organization: Name = ""
    auth_username: Secret = ""
    auth_password: Secret = ""
    auth_token: Secret = ""
    repositories: Globs = msgspec.field(default_factory=lambda: ["*"])
    private: bool = False
    issues: bool = False
    labels: bool = False
    milestones: bool = False
    pull_requests: bool = False
    releases: bool = False
    wiki: bool = False
    lfs: bool = False
    teams: bool = False
    map_logins: bool = False
    people: People = {}
    people_csv: PeopleCsv = ""
    dry_run: bool = False


class OrganizationReport(msgspec.Struct, kw_only=True):
    """The result of a dry run: the names of ``repositories`` that an import would create, at most 1,000.

    ``taken`` lists names that the organization here has already. ``excluded`` counts repositories that match
    no glob. ``is_complete`` is false if the source has more matching repositories.
    """

    repositories: list[str]
    taken: list[str]
    excluded: int
    is_complete: bool


def existing_import() -> Policy:
    """Policy for site administrators and the import ``{import_id}``. Raises NotFound if it does not exist.

    ``_resource`` returns the import.
    """

    async def decide(connection: Connection, _level: str) -> OrganizationImportRow:
        return await _get(cast("RepositoryRequest", connection), connection.path_params["import_id"])

    return msgspec.structs.replace(admin(), decide=decide)


def _resource(request: RepositoryRequest) -> OrganizationImportRow:
    return cast("OrganizationImportRow", request.scope["resource"])  # type: ignore[typeddict-item]


@post(
    "/api/v1/admin/imports",
    policy=admin(),
    operation_id="adminImportOrganization",
    tags=["admin"],
    status_code=202,
)
async def import_organization(
    request: RepositoryRequest, data: ImportOrganizationForm
) -> Response[OrganizationImport | OrganizationReport]:
    """Import the repositories of an organization, four at once. A dry run answers 200 with a report.

    Credentials are erased when the import ends.
    """
    access.require_unrestricted(request.principal)
    service, site = data.service.lower(), data.address.strip().rstrip("/")
    remote = rules.check_source(service, site, data.source)
    if await request.part(SocksProxy).refusal(remote.host, remote.port):
        raise Invalid.field("address", "address", reason_text("address"))
    if data.lfs and not request.settings.lfs_enabled:
        raise Invalid.field("lfs", "unsupported", reason_text("lfs-off"))
    people = read_people(data.people, data.people_csv)
    accounts = await find_people(request.db, request.part(AccountCopies), people, request.principal)
    options = Options(
        globs=data.repositories,
        private=data.private,
        lfs=data.lfs,
        source=new_source(
            service,
            {name for name in OF_A_FORGE if getattr(data, name)},
            maps_people=True,
            map_logins=data.map_logins,
            people=accounts,
        ),
        map_logins=data.map_logins,
        people=accounts,
    )
    sealed = seal_credentials(request.part(Seal), data.auth_username, data.auth_token or data.auth_password)
    request.acquire_slot()
    login = data.organization or data.source.rpartition("/")[2]
    organization = await _find_organization(request, login)
    if data.dry_run:
        organization_id = organization.id if organization is not None else 0
        report = await _report(request, options, organization_id, service, site, data.source, sealed)
        return Response(report, status_code=200)
    if organization is None:
        async with _open_source(request, service, site, data.source, sealed) as there:
            visibility = await there.visibility()
        organization = await _create_organization(request, login, visibility)
        options = msgspec.structs.replace(options, is_new=True)
    await require_accepting(request, organization.id)
    async with request.db.transaction() as tx:
        row = await rules.begin(
            tx,
            request.part(Jobs),
            request.settings.shard,
            options,
            organization_id=organization.id,
            user_id=request.principal.id,
            service=service,
            site=site,
            source=data.source,
            sealed=sealed,
            teams_place="" if data.teams else None,
        )
        await request.audit(
            tx,
            "organization.import",
            f"organization {organization.login}",
            id=row.id,
            source=f"{site}/{data.source}",
        )
        (view,) = await rules.present(tx, [row])
    return Response(view, status_code=202)


async def _find_organization(request: RepositoryRequest, login: str) -> AccountRow | None:
    """Return the organization with this name here, or None. Raises Invalid for the name of a user."""
    try:
        account = await request.part(AccountCopies).get_by_login(login)
    except NotFound:
        return None
    if account.kind != AccountKind.ORGANIZATION:
        raise Invalid.field("organization", "kind", "is the name of a user")
    return account


async def _create_organization(request: RepositoryRequest, login: str, visibility: Visibility) -> AccountRow:
    """Create an organization that the caller owns. Raises Invalid if the name is invalid or taken."""
    new = NewOrganization(login=login, owner_id=request.principal.id, visibility=visibility)
    try:
        created = await request.part(HttpIdentity).create_organization(new)
    except Invalid as error:
        texts = [one.message for one in error.errors] or [error.message]
        raise Invalid.field("organization", "format", texts[0]) from None
    return await request.part(AccountCopies).get(created.id)


@asynccontextmanager
async def _open_source(
    request: RepositoryRequest, service: str, site: str, source: str, sealed: bytes | None
) -> AsyncIterator[SourceOrganization]:
    """Open the organization at the source. Raises Invalid if the source fails or does not respond in time."""
    opener = request.part(SourceOpener)
    try:
        async with (
            asyncio.timeout(SOURCE_SECONDS),
            opener.open_organization(service, site, source, sealed) as there,
        ):
            yield there
    except SourceFailed as error:
        raise Invalid.field("address", error.fault, reason_text(error.fault)) from None
    except SourceBusy:
        raise Invalid.field("address", "busy", reason_text("busy")) from None
    except TimeoutError:
        raise Invalid.field("address", "unreachable", reason_text("unreachable")) from None


async def _report(
    request: RepositoryRequest,
    options: Options,
    organization_id: int,
    service: str,
    site: str,
    source: str,
    sealed: bytes | None,
) -> OrganizationReport:
    """Return the report of a dry run. Raises Invalid if the source fails or does not respond in time."""
    async with _open_source(request, service, site, source, sealed) as there:
        names, excluded, is_complete = await _read_list(there, options)
    async with request.db.read() as db:
        here = await store.taken_names(db, organization_id, names)
    return OrganizationReport(
        repositories=names,
        taken=[name for name in names if name.lower() in here],
        excluded=excluded,
        is_complete=is_complete,
    )


async def _read_list(there: SourceOrganization, options: Options) -> tuple[list[str], int, bool]:
    """Return the matching names, the number of other repositories, and True if no matching name is omitted.

    Raises SourceFailed, SourceBusy.
    """
    matching, excluded, place = dict[str, None](), 0, ""
    while len(matching) < MOST_NAMES:
        page = await there.repositories(place)
        rows = rules.rows_of(options, page.repositories)
        matching |= dict.fromkeys(str(row["name"]) for row in rows)
        excluded += len(page.repositories) - len(rows)
        if not page.following:
            return list(matching)[:MOST_NAMES], excluded, len(matching) <= MOST_NAMES
        place = page.following
    return list(matching)[:MOST_NAMES], excluded, False


@get("/api/v1/admin/imports", policy=admin("read:admin"), operation_id="adminListImports", tags=["admin"])
async def list_imports(request: RepositoryRequest) -> Response[list[OrganizationImport]]:
    """List imports of organizations, the newest first."""
    access.require_unrestricted(request.principal)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, page)
        listed = await rules.present(db, rows)
    return Response(listed, headers=request.page_headers(page, total))


@get(
    "/api/v1/admin/imports/{import_id:int}",
    policy=admin("read:admin"),
    operation_id="adminGetImport",
    tags=["admin"],
)
async def get_import(request: RepositoryRequest, import_id: int) -> OrganizationImport:
    """Return the progress of an import of an organization."""
    access.require_unrestricted(request.principal)
    row = await _get(request, import_id)
    async with request.db.read() as db:
        (view,) = await rules.present(db, [row])
    return view


@get(
    "/api/v1/admin/imports/{import_id:int}/repositories",
    policy=admin("read:admin"),
    operation_id="adminListImportedRepositories",
    tags=["admin"],
)
async def list_repositories(request: RepositoryRequest, import_id: int) -> Response[list[ListedRepository]]:
    """List the repositories of an import with their progress, in the order of the source."""
    access.require_unrestricted(request.principal)
    page, row = request.page(), await _get(request, import_id)
    async with request.db.read() as db:
        rows, total = await store.list_repositories(db, row.id, page)
    listed = [rules.present_repository(one) for one in rows]
    return Response(listed, headers=request.page_headers(page, total))


@get(
    "/api/v1/admin/imports/{import_id:int}/teams",
    policy=admin("read:admin"),
    operation_id="adminListImportedTeams",
    tags=["admin"],
)
async def list_teams(request: RepositoryRequest, import_id: int) -> Response[list[ListedTeam]]:
    """List the teams of an import, in the order of the source."""
    access.require_unrestricted(request.principal)
    page, row = request.page(), await _get(request, import_id)
    async with request.db.read() as db:
        rows, total = await store.list_teams(db, row.id, page)
    return Response([rules.present_team(one) for one in rows], headers=request.page_headers(page, total))


@get(
    "/api/v1/admin/imports/{import_id:int}/absent_members",
    policy=admin("read:admin"),
    operation_id="adminListAbsentMembers",
    tags=["admin"],
)
async def list_absent_members(request: RepositoryRequest, import_id: int) -> Response[list[AbsentMember]]:
    """List members of teams at the source who did not join the imported teams."""
    access.require_unrestricted(request.principal)
    page, row = request.page(), await _get(request, import_id)
    async with request.db.read() as db:
        rows, total = await store.list_absent_members(db, row.id, page)
    people = [AbsentMember(login=one.login, id=one.source_id, teams=one.teams) for one in rows]
    return Response(people, headers=request.page_headers(page, total))


@post(
    "/api/v1/admin/imports/{import_id:int}/again",
    policy=existing_import(),
    operation_id="adminRepeatImport",
    tags=["admin"],
    status_code=202,
)
async def repeat_import(request: RepositoryRequest, data: RepeatMigration) -> OrganizationImport:
    """Repeat an import of an organization, to fetch what is new at the source.

    The imports of its repositories are repeated, four at once, and failed ones are restarted. New
    repositories that match the globs are imported. Teams are not changed. Credentials are needed again,
    because they are erased when an import ends. Answers 409 until the import has ended.
    """
    access.require_unrestricted(request.principal)
    row = _resource(request)
    request.acquire_slot()
    people = read_people(data.people, data.people_csv)
    accounts = await find_people(request.db, request.part(AccountCopies), people, request.principal)
    sealed = seal_credentials(request.part(Seal), data.auth_username, data.auth_token or data.auth_password)
    async with request.db.transaction() as tx:
        await rules.repeat(
            tx,
            request.part(Jobs),
            row,
            user_id=request.principal.id,
            sealed=sealed,
            map_logins=data.map_logins,
            people=accounts,
        )
        await request.audit(
            tx,
            "organization.repeat_import",
            f"import {row.id}",
            id=row.id,
            map_logins=data.map_logins,
            **audited_people(people),
        )
        (view,) = await rules.present(tx, [await store.get(tx, row.id) or row])
    return view


@post(
    "/api/v1/admin/imports/{import_id:int}/people",
    policy=existing_import(),
    operation_id="adminReassignImportPeople",
    tags=["admin"],
    status_code=202,
)
async def reassign_people(request: RepositoryRequest, data: ReassignPeople) -> None:
    """Reassign imported data of people without an account to accounts, in all repositories of an import.

    Repositories that the organization no longer owns are skipped. Only data of the ghost user is reassigned.
    """
    access.require_unrestricted(request.principal)
    row = _resource(request)
    request.acquire_slot()
    people, accounts = await named_people(request, data)
    async with request.db.transaction() as tx:
        await rules.reassign(tx, request.part(Jobs), row, accounts, user_id=request.principal.id)
        await request.audit(
            tx,
            "organization.reassign_import",
            f"import {row.id}",
            id=row.id,
            **audited_people(people),
        )


@delete(
    "/api/v1/admin/imports/{import_id:int}",
    policy=admin(),
    operation_id="adminCancelImport",
    tags=["admin"],
)
async def cancel_import(request: RepositoryRequest, import_id: int) -> None:
    """Cancel an import of an organization. Imported repositories stay. Answers 409 if it has ended."""
    access.require_unrestricted(request.principal)
    row = await _get(request, import_id)
    async with request.db.transaction() as tx:
        await rules.cancel(tx, request.part(Jobs), row.id)
        await request.audit(tx, "organization.cancel_import", f"import {row.id}", id=row.id)


async def _get(request: RepositoryRequest, import_id: int) -> OrganizationImportRow:
    if not 0 < import_id <= MAX_ID:
        raise NotFound
    async with request.db.read() as db:
        row = await store.get(db, import_id)
    if row is None:
        raise NotFound
    return row


routes = [
    import_organization,
    list_imports,
    get_import,
    list_repositories,
    list_teams,
    list_absent_members,
    repeat_import,
    reassign_people,
    cancel_import,
]
