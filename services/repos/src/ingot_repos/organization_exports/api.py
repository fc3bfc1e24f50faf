"""Routes for exports of organizations: begin, watch, download and delete."""

from functools import partial
from typing import Any

from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.http.policy import MAX_ID
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.access.api.policies import owner_of_organization
from ingot_repos.access.api.read_rights import renew_principal, require_scope, while_readable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.organization_exports import rules, store
from ingot_repos.organization_exports.rules import ExportedRepository, OrganizationExport
from ingot_repos.organization_exports.store import OrganizationExportRow
from ingot_repos.placement.rules.owners import OnAnotherShard

SCOPES = ("read:repository", "read:issue")
"""The scopes that an archive needs next to that of its route."""


@post(
    "/api/v1/orgs/{org:str}/exports",
    policy=owner_of_organization("write:organization"),
    operation_id="orgExport",
    tags=["organization"],
    status_code=202,
)
async def begin_export(request: RepositoryRequest) -> OrganizationExport:
    """Begin to write an archive of an organization: its repositories, teams, members of teams and labels.

    Only for owners of the organization and site administrators. It replaces the archive that a repository
    has. The latest ended export is kept, and older ones are deleted. Answers 409 while an export of the
    organization runs. A token also needs the scopes `read:repository` and `read:issue`.
    """
    _require_scopes(request)
    request.acquire_slot()
    organization = request.account
    async with request.db.transaction() as tx:
        row = await rules.begin(
            tx, request.part(Jobs), organization.id, request.principal.id, request.settings.shard
        )
        await request.audit(tx, "organization.export", f"organization {organization.login}", id=row.id)
        (view,) = await rules.present(tx, [row])
    return view


@get(
    "/api/v1/orgs/{org:str}/exports",
    policy=owner_of_organization("read:organization"),
    operation_id="orgListExports",
    tags=["organization"],
)
async def list_exports(request: RepositoryRequest) -> Response[list[OrganizationExport]]:
    """List the exports of an organization, the newest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.account.id, page)
        listed = await rules.present(db, rows)
    return Response(listed, headers=request.page_headers(page, total))


@get(
    "/api/v1/orgs/{org:str}/exports/{export_id:int}",
    policy=owner_of_organization("read:organization"),
    operation_id="orgGetExport",
    tags=["organization"],
)
async def get_export(request: RepositoryRequest, export_id: int) -> OrganizationExport:
    """Return the progress of an export of an organization."""
    row = await _get(request, export_id)
    async with request.db.read() as db:
        (view,) = await rules.present(db, [row])
    return view


@get(
    "/api/v1/orgs/{org:str}/exports/{export_id:int}/repositories",
    policy=owner_of_organization("read:organization"),
    operation_id="orgListExportedRepositories",
    tags=["organization"],
)
async def list_repositories(request: RepositoryRequest, export_id: int) -> Response[list[ExportedRepository]]:
    """List the repositories of an export with their progress, the oldest first.

    A token also needs the scopes `read:repository` and `read:issue`.
    """
    page, row = request.page(), await _get(request, export_id)
    _require_scopes(request)
    async with request.db.read() as db:
        parts, total = await store.list_repositories(db, row.id, page)
    listed = [rules.present_repository(one) for one in parts]
    return Response(listed, headers=request.page_headers(page, total))


@delete(
    "/api/v1/orgs/{org:str}/exports/{export_id:int}",
    policy=owner_of_organization("write:organization"),
    operation_id="orgDeleteExport",
    tags=["organization"],
)
async def delete_export(request: RepositoryRequest, export_id: int) -> None:
    """Cancel a running export of an organization, or delete an export with its archive."""
    row = await _get(request, export_id)
    async with request.db.transaction() as tx:
        await rules.remove(tx, request.part(Jobs), row)


@get(
    "/api/v1/orgs/{org:str}/exports/{export_id:int}/archive",
    policy=owner_of_organization("read:organization"),
    operation_id="orgDownloadExport",
    tags=["organization"],
)
async def download_export(request: RepositoryRequest, export_id: int) -> Response[Any]:
    """Download the archive of an organization. Answers 404 until the export is done.

    A token also needs the scopes `read:repository` and `read:issue`.
    """
    row = await _get(request, export_id)
    if row.state != ImportState.DONE:
        raise NotFound
    _require_scopes(request)
    if row.shard != request.settings.shard:
        raise OnAnotherShard(row.shard)
    request.acquire_slot()
    name = f"{request.account.login}.ingot.zip"
    file = StoredFile(rules.object_key(row), name, row.size, row.sha256, media_type="application/zip")
    answer = await file_answer(request.headers, request.part(ObjectStore), file, cached_by="private")
    return while_readable(answer, row.organization_id, partial(_renew, request))


async def _renew(request: RepositoryRequest) -> None:
    """Raise an ApiError if the credential of the request no longer gives the archive."""
    organization = request.account
    await renew_principal(request, "read:organization")
    _require_scopes(request)
    if not access.acts_for(request.principal, organization.id):
        raise Denied("only for owners of the organization")


def _require_scopes(request: RepositoryRequest) -> None:
    for scope in SCOPES:
        require_scope(request, scope)


async def _get(request: RepositoryRequest, export_id: int) -> OrganizationExportRow:
    """Return an export of the organization in the path. Raises NotFound."""
    async with request.db.read() as db:
        row = await store.get(db, request.account.id, export_id) if 0 <= export_id <= MAX_ID else None
    if row is None:
        raise NotFound
    return row


routes = [begin_export, list_exports, get_export, list_repositories, delete_export, download_export]
