"""Releases. Only writers see drafts. For other callers, drafts do not exist."""

from typing import Annotated

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.limits import Body, Name, Text
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.releases import Release
from ingot_repos.access.api.policies import in_repository, own_account, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.protection.rules.decisions import actor_of
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.releases.rules.edits import NewRelease, ReleaseEditor
from ingot_repos.releases.rules.views import release_view
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.releases import ReleaseFilter, ReleaseRow


class CreateReleaseOption(msgspec.Struct, kw_only=True):
    """A new release. A missing tag is created at `target_commitish`: a branch, a tag or a commit.

    With `tag_message` the tag is annotated. A draft creates no tag and does not store the message.
    """

    tag_name: Name
    tag_message: Text = ""
    target_commitish: Name = ""
    name: Name = ""
    body: Body = ""
    draft: bool = False
    prerelease: bool = False


class EditReleaseOption(msgspec.Struct, kw_only=True):
    """A change of a release. Absent or empty fields keep their values."""

    tag_name: Name | UnsetType = UNSET
    target_commitish: Name | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    body: Body | UnsetType = UNSET
    draft: bool | UnsetType = UNSET
    prerelease: bool | UnsetType = UNSET


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoCreateRelease",
    tags=["repository"],
)
async def list_releases(
    request: RepositoryRequest,
    draft: bool | None = None,
    pre_release: Annotated[bool | None, QueryParameter(name="pre-release")] = None,
) -> Response[list[Release]]:
    """List releases, the latest first."""
    repository, page = request.resource, request.page()
    release_filter = ReleaseFilter(sees_drafts(request), draft, pre_release)
    async with request.db.read() as db:
        rows, total = await releases.list_page(db, repository.id, release_filter, page)
        assets = await release_assets.list_of_releases(db, [row.id for row in rows])
    answer = [
        release_view(request.presenter, repository.full_name, row, assets.get(row.id, [])) for row in rows
    ]
    return Response(answer, headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/latest",
    policy=in_repository("read", "read:repository", unit="releases"),
    operation_id="repoGetLatestRelease",
    tags=["repository"],
)
async def get_latest(request: RepositoryRequest) -> Release:
    """Return the latest release that is neither a draft nor a prerelease."""
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
    """Return the release of a tag. The tag may contain slashes."""
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
    """Return a release."""
    return await _answer(request, await release_of_path(request, release_id))


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=in_repository("write", "write:repository", on_disk=True, unit="releases"),
    operation_id="repoPostRelease",
    tags=["repository"],
    status_code=201,
)
async def create_release(request: RepositoryRequest, data: CreateReleaseOption) -> Release:
    """Create a release. A missing tag is created unless the release is a draft."""
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
async def edit_release(request: RepositoryRequest, release_id: int, data: EditReleaseOption) -> Release:
    """Change a release. Publishing a draft creates its tag."""
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
    """Delete a release. Its tag is not deleted."""
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
    """Delete the release of a tag, which may contain slashes. The tag is not deleted."""
    repository = writable(request)
    async with request.db.read() as db:
        row = visible(request, await releases.get_by_tag(db, repository.id, request.rest_of_path(7)))
    await _editor(request).delete(repository.row, await own_account(request), row)


def visible(request: RepositoryRequest, row: ReleaseRow | None) -> ReleaseRow:
    """Return ``row`` if the caller may see the release. Raises NotFound."""
    if row is None or (row.draft and not sees_drafts(request)):
        raise NotFound
    return row


def sees_drafts(request: RepositoryRequest) -> bool:
    """Return whether the caller may see drafts of the repository in the path."""
    return reaches(request.resource.access.of("releases"), "write")


async def release_of_path(request: RepositoryRequest, release_id: int) -> ReleaseRow:
    """Return the release with that id, if the caller may see it. Raises NotFound."""
    async with request.db.read() as db:
        return visible(request, await releases.get(db, request.resource.id, release_id))


async def _answer(request: RepositoryRequest, row: ReleaseRow) -> Release:
    async with request.db.read() as db:
        assets = await release_assets.list_of_releases(db, [row.id])
    return release_view(request.presenter, request.resource.full_name, row, assets.get(row.id, []))


def _editor(request: RepositoryRequest) -> ReleaseEditor:
    return ReleaseEditor(
        request.db,
        request.storage,
        request.part(Pushes),
        request.part(Jobs),
        request.part(Presenter),
        request.part(ServerKeys).signer,
        actor_of(request.principal, request.resource.row, request.resource.access.of("releases")),
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
