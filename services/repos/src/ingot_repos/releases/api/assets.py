"""Release assets, streamed in both directions. Only writers see the assets of drafts."""

from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.request_bodies import FileUpload
from ingot_chassis.http.uploads import uploaded_file
from ingot_chassis.objects.store import ObjectStore
from ingot_contracts.attachments import Attachment
from ingot_contracts.limits import Name
from ingot_repos.access.api.policies import in_repository, own_account, writable
from ingot_repos.access.api.read_rights import renew_reader, while_readable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.releases.api.releases import release_of_path, sees_drafts
from ingot_repos.releases.rules.assets import AssetEditor, object_key
from ingot_repos.releases.rules.views import asset_view
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store.assets import AssetRow

FIELD = "attachment"


class EditAttachment(msgspec.Struct, kw_only=True):
    """A change of an asset. Absent or empty fields keep their values."""

    name: Name | UnsetType = UNSET


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}/assets",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoListReleaseAttachments",
    tags=["repository"],
)
async def list_assets(request: RepositoryRequest, release_id: int) -> Response[list[Attachment]]:
    """List the assets of a release, the oldest first. Returns all unless `page` or `limit` is given."""
    release = await release_of_path(request, release_id)
    full_name = request.resource.full_name
    if not {"page", "limit"} & set(request.query_params):
        async with request.db.read() as db:
            rows = (await release_assets.list_of_releases(db, [release.id])).get(release.id, [])
        answer = [asset_view(request.presenter, full_name, row) for row in rows]
        return Response(answer, headers={"X-Total-Count": str(len(answer))})
    page = request.page()
    async with request.db.read() as db:
        page_rows, total = await release_assets.list_page(db, release.id, page)
    answer = [asset_view(request.presenter, full_name, row) for row in page_rows]
    return Response(answer, headers=request.page_headers(page, total))


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}/assets",
    policy=in_repository("write", "write:repository", on_disk=True, unit="releases"),
    operation_id="repoCreateReleaseAttachment",
    tags=["repository"],
    status_code=201,
    request_max_body_size=None,
    operation_class=FileUpload,
)
async def upload(request: RepositoryRequest, release_id: int, name: str = "") -> Attachment:
    """Add an asset to a release. `name` is the name of the asset.

    The file is the field `attachment` of a form. Any other body is stored as the file.
    """
    repository = writable(request)
    release = await release_of_path(request, release_id)
    uploader = await own_account(request)
    request.acquire_slot()
    async with request.part(Pushes).uploading(repository.id, uploader.id):
        file = await uploaded_file(request, FIELD)
        row = await request.part(AssetEditor).upload(
            release, uploader.id, name or file.name, file.chunks, file.length
        )
    return asset_view(request.presenter, repository.full_name, row)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}/assets/{attachment_id:int}",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoGetReleaseAttachment",
    tags=["repository"],
)
async def get_asset(request: RepositoryRequest, release_id: int, attachment_id: int) -> Attachment:
    """Return the metadata of an asset. `browser_download_url` is the URL of the file."""
    row = await _asset_of_path(request, release_id, attachment_id)
    return asset_view(request.presenter, request.resource.full_name, row)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}/assets/{attachment_id:int}",
    policy=in_repository("write", "write:repository", unit="releases"),
    operation_id="repoEditReleaseAttachment",
    tags=["repository"],
    status_code=201,
)
async def edit_asset(
    request: RepositoryRequest, release_id: int, attachment_id: int, data: EditAttachment
) -> Attachment:
    """Rename an asset."""
    repository = writable(request)
    row = await _asset_of_path(request, release_id, attachment_id)
    if name := set_fields(data).get("name"):
        async with request.db.transaction() as tx:
            row = await request.part(AssetEditor).rename(tx, row, name)
    return asset_view(request.presenter, repository.full_name, row)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}/assets/{attachment_id:int}",
    policy=in_repository("write", "write:repository", unit="releases"),
    operation_id="repoDeleteReleaseAttachment",
    tags=["repository"],
)
async def delete_asset(request: RepositoryRequest, release_id: int, attachment_id: int) -> None:
    """Delete an asset."""
    repository = writable(request)
    row = await _asset_of_path(request, release_id, attachment_id)
    async with request.db.transaction() as tx:
        await request.part(AssetEditor).delete(tx, repository.row.shard, row)


@get(
    "/{owner:str}/{repo:str}/releases/download/{tag_and_name:path}",
    policy=in_repository("read", "read:repository", on_disk=True, with_other_files=True, unit="releases"),
    include_in_schema=False,
)
async def download_by_name(request: RepositoryRequest, tag_and_name: str) -> Response[Any]:  # noqa: ARG001
    """Download an asset by tag and name. The tag may contain slashes.

    If several assets have the name, the first one is returned.
    """
    tag, _, name = request.rest_of_path(4).rpartition("/")
    async with request.db.read() as db:
        row = await release_assets.get_by_name(db, request.resource.id, tag, name)
    return await _file(request, row)


@get(
    "/{owner:str}/{repo:str}/releases/assets/{asset_uuid:str}",
    policy=in_repository("read", "read:repository", on_disk=True, with_other_files=True, unit="releases"),
    include_in_schema=False,
)
async def download_by_uuid(request: RepositoryRequest, asset_uuid: str) -> Response[Any]:
    """Download an asset by its uuid, for names that are not unique."""
    async with request.db.read() as db:
        row = await release_assets.get_by_uuid(db, request.resource.id, asset_uuid)
    return await _file(request, row)


async def _asset_of_path(request: RepositoryRequest, release_id: int, asset_id: int) -> AssetRow:
    release = await release_of_path(request, release_id)
    async with request.db.read() as db:
        row = await release_assets.get(db, release.id, asset_id)
    if row is None:
        raise NotFound
    return row


async def _file(request: RepositoryRequest, row: AssetRow | None) -> Response[Any]:
    """Return the bytes of an asset, if the caller may see it. Raises NotFound.

    Only complete downloads are counted.
    """
    if row is None or (row.draft and not sees_drafts(request)):
        raise NotFound
    request.acquire_slot()

    async def count_download() -> None:
        async with request.db.transaction() as tx:
            await release_assets.count_download(tx, row.id)

    file = StoredFile(object_key(row.repository_id, row.uuid), row.name, row.size, row.sha256)
    repository = request.resource.row
    is_public = not (repository.private or row.draft) and repository.owner_visibility == "public"
    answer = await file_answer(
        request.headers,
        request.part(ObjectStore),
        file,
        cached_by="public" if is_public else "private",
        before_end=count_download,
    )
    renew = renew_reader(request, repository.id, "write" if row.draft else "read", "releases")
    return while_readable(answer, repository.id, renew)


routes = [
    list_assets,
    upload,
    get_asset,
    edit_asset,
    delete_asset,
    download_by_name,
    download_by_uuid,
]
