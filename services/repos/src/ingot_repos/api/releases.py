"""Releases. Drafts are for writers; to everybody else they do not exist."""

from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_contracts.limits import Body, Name, Text
from ingot_contracts.repos import Release, reaches
from ingot_repos.api.policies import in_repository, own_account, writable
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core.protections import actor_of
from ingot_repos.core.releases import NewRelease, ReleaseEditor
from ingot_repos.store import release_assets, releases
from ingot_repos.store.releases import ReleaseFilter, ReleaseRow


class CreateRelease(msgspec.Struct, kw_only=True):
    """A missing tag is created at `target_commitish`, which is a branch, a tag or a commit.

    With `tag_message` it is annotated; a draft has no tag yet, and keeps no message for it.
    """

    tag_name: Name
    tag_message: Text = ""
    target_commitish: Name = ""
    name: Name = ""
    body: Body = ""
    draft: bool = False
    prerelease: bool = False


class EditRelease(msgspec.Struct, kw_only=True):
    """What is absent or empty stays as it is."""

    tag_name: Name | UnsetType = UNSET
    target_commitish: Name | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    body: Body | UnsetType = UNSET
    draft: bool | UnsetType = UNSET
    prerelease: bool | UnsetType = UNSET


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoListReleases",
    tags=["repository"],
)
async def list_releases(
    request: RepositoryRequest,
    draft: bool | None = None,
    pre_release: Annotated[bool | None, QueryParameter(name="pre-release")] = None,
) -> Response[list[Release]]:
    """Releases, newest first."""
    repository, page = request.resource, request.page()
    release_filter = ReleaseFilter(sees_drafts(request), draft, pre_release)
    async with request.db.read() as db:
        rows, total = await releases.list_page(db, repository.id, release_filter, page)
        assets = await release_assets.list_of_releases(db, [row.id for row in rows])
    answer = [request.presenter.release(repository.full_name, row, assets.get(row.id, [])) for row in rows]
    return Response(answer, headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/latest",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoGetLatestRelease",
    tags=["repository"],
)
async def get_latest(request: RepositoryRequest) -> Release:
    """The newest release that is neither a draft nor a prerelease."""
    async with request.db.read() as db:
        row = await releases.latest(db, request.resource.id)
    return await _answer(request, visible(request, row))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/tags/{tag:path}",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoGetReleaseByTag",
    tags=["repository"],
)
async def get_by_tag(request: RepositoryRequest, tag: str) -> Release:  # noqa: ARG001 - it comes normalized
    """The release of a tag, whose name may hold slashes."""
    async with request.db.read() as db:
        row = await releases.get_by_tag(db, request.resource.id, request.rest_of_path(7))
    return await _answer(request, visible(request, row))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoGetRelease",
    tags=["repository"],
)
async def get_one(request: RepositoryRequest, release_id: int) -> Release:
    """A release."""
    return await _answer(request, await release_of_path(request, release_id))


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=in_repository("write", "write:repository", on_disk=True, unit="releases"),
    operation_id="repoCreateRelease",
    tags=["repository"],
    status_code=201,
)
async def create_release(request: RepositoryRequest, data: CreateRelease) -> Release:
    """Create a release, and its tag if that is missing and the release is not a draft."""
    repository = writable(request)
    new = NewRelease(**msgspec.structs.asdict(data))
    row = await _editor(request).create(repository.row, await own_account(request), new)
    return await _answer(request, row)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=in_repository("write", "write:repository", on_disk=True, unit="releases"),
    operation_id="repoEditRelease",
    tags=["repository"],
)
async def edit_release(request: RepositoryRequest, release_id: int, data: EditRelease) -> Release:
    """Change a release. A draft that is published gets its tag."""
    repository = writable(request)
    row = await release_of_path(request, release_id)
    changes = {column: value for column, value in set_fields(data).items() if value != ""}
    edited = await _editor(request).edit(repository.row, await own_account(request), row, changes)
    return await _answer(request, edited)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=in_repository("write", "write:repository", unit="releases"),
    operation_id="repoDeleteRelease",
    tags=["repository"],
)
async def delete_release(request: RepositoryRequest, release_id: int) -> None:
    """Delete a release; its tag stays."""
    repository = writable(request)
    row = await release_of_path(request, release_id)
    await _editor(request).delete(repository.row, await own_account(request), row)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/tags/{tag:path}",
    policy=in_repository("write", "write:repository", unit="releases"),
    operation_id="repoDeleteReleaseByTag",
    tags=["repository"],
)
async def delete_by_tag(request: RepositoryRequest, tag: str) -> None:  # noqa: ARG001 - it comes normalized
    """Delete the release of a tag, whose name may hold slashes; the tag stays."""
    repository = writable(request)
    async with request.db.read() as db:
        row = visible(request, await releases.get_by_tag(db, repository.id, request.rest_of_path(7)))
    await _editor(request).delete(repository.row, await own_account(request), row)


def visible(request: RepositoryRequest, row: ReleaseRow | None) -> ReleaseRow:
    """The release, if the caller may know of it. Raises NotFound."""
    if row is None or (row.draft and not sees_drafts(request)):
        raise NotFound
    return row


def sees_drafts(request: RepositoryRequest) -> bool:
    """Whether the caller may see what is not published yet."""
    return reaches(request.resource.level, "write")


async def release_of_path(request: RepositoryRequest, release_id: int) -> ReleaseRow:
    """The release of that id, if the caller may know of it. Raises NotFound."""
    async with request.db.read() as db:
        return visible(request, await releases.get(db, request.resource.id, release_id))


async def _answer(request: RepositoryRequest, row: ReleaseRow) -> Release:
    async with request.db.read() as db:
        assets = await release_assets.list_of_releases(db, [row.id])
    return request.presenter.release(request.resource.full_name, row, assets.get(row.id, []))


def _editor(request: RepositoryRequest) -> ReleaseEditor:
    components = request.components
    return ReleaseEditor(
        request.db,
        components.storage,
        components.pushes,
        components.jobs,
        components.presenter,
        actor_of(request.principal, request.resource.row, request.resource.level),
    )


routes = [
    list_releases,
    get_latest,
    get_by_tag,
    get_one,
    create_release,
    edit_release,
    delete_release,
    delete_by_tag,
]
