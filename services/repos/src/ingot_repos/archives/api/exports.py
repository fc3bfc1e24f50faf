"""Routes for exports: begin, watch, download and delete."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.store import ObjectStore
from ingot_contracts.repos.exports import LeftOutFile
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.read_rights import renew_reader, require_scope, while_readable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.archives.rules import exports
from ingot_repos.archives.store import Layout, counts_of, left_out_files_of
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.remotes.rules.reasons import reason_text

ISSUES = "read:issue"
"""The scope that an archive needs next to that of its route."""


class Export(msgspec.Struct, kw_only=True):
    """The progress of an export. ``counts`` has the number of exported objects by kind.

    ``size`` is the size of the file in bytes. The file is deleted at ``expires_at``. ``left_out`` has the
    numbers of pull requests whose patches are too large for the layout of Gitea. ``left_out_files`` lists
    files of issues and pull requests that are missing in the archive, at most 1,000. It is empty for a token
    without the scope `read:issue`.
    """

    status: ImportState
    layout: Layout
    left_out: list[int]
    left_out_files: list[LeftOutFile]
    counts: dict[str, int]
    size: int
    error: str
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/export",
    policy=in_repository("admin", "write:repository", on_disk=True, unit=None),
    operation_id="repoExport",
    tags=["repository"],
    status_code=202,
)
async def begin_export(request: RepositoryRequest, layout: str = Layout.ARCHIVE) -> Export:
    """Begin to write an archive of everything in the repository. It replaces an earlier archive.

    `layout` is `archive` or `gitea`. `gitea` is a ZIP file of the folder that Gitea's command `restore-repo`
    reads. Answers 409 while an export runs. A token also needs the scope `read:issue`.
    """
    if layout not in (*Layout,):
        raise Invalid.field("layout", "unsupported", f"is none of {', '.join(Layout)}")
    require_scope(request, ISSUES)
    request.acquire_slot()
    repository = request.resource
    async with request.db.transaction() as tx:
        await exports.begin(tx, request.part(Jobs), repository.id, repository.row.shard, Layout(layout))
        await request.audit(tx, "repository.export", repository.audit_subject, id=repository.id)
    return await _present(request)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/export",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoGetExport",
    tags=["repository"],
)
async def get_export(request: RepositoryRequest) -> Export:
    """Return the progress of an export. Answers 404 without one."""
    return await _present(request)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/export",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoDeleteExport",
    tags=["repository"],
)
async def delete_export(request: RepositoryRequest) -> None:
    """Cancel a running export, or delete an export with its archive. Answers 404 without one."""
    repository = request.resource
    async with request.db.transaction() as tx:
        row = await exports.require(tx, repository.id)
        await exports.remove(tx, request.part(Jobs), row, repository.row.shard)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/export/archive",
    policy=in_repository("admin", "read:repository", on_disk=True, with_other_files=True, unit=None),
    operation_id="repoDownloadExport",
    tags=["repository"],
)
async def download_export(request: RepositoryRequest) -> Response[Any]:
    """Download the archive. Answers 404 until the export is done.

    A token also needs the scope `read:issue`.
    """
    repository = request.resource
    async with request.db.read() as db:
        row = await exports.require(db, repository.id)
    if row.state != ImportState.DONE:
        raise NotFound
    require_scope(request, ISSUES)
    request.acquire_slot()
    kind = "gitea" if row.layout == Layout.GITEA else "ingot"
    name = f"{repository.row.name}.{kind}.zip"
    file = StoredFile(exports.object_key(row), name, row.size, row.sha256, media_type="application/zip")
    answer = await file_answer(request.headers, request.part(ObjectStore), file, cached_by="private")
    return while_readable(answer, repository.id, renew_reader(request, repository.id, "admin", None))


async def _present(request: RepositoryRequest) -> Export:
    async with request.db.read() as db:
        row = await exports.require(db, request.resource.id)
    return Export(
        status=row.state,
        layout=row.layout,
        left_out=msgspec.json.decode(row.left_out, type=list[int]),
        left_out_files=left_out_files_of(row) if request.principal.may(ISSUES) else [],
        counts={kind: count.objects for kind, count in counts_of(row).items()},
        size=row.size,
        error=reason_text(row.reason),
        created_at=row.created_at.replace(microsecond=0),
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
        expires_at=row.expires_at.replace(microsecond=0) if row.expires_at else None,
    )


routes = [begin_export, get_export, delete_export, download_export]
