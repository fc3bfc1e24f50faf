"""Releases. Drafts are for writers: to all others they do not exist."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import QueryParameter

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.repos import Release, reaches
from ingot_repos.api.call import Call
from ingot_repos.core import access
from ingot_repos.core.releases import NewRelease, view
from ingot_repos.store import releases

Text255 = Annotated[str, msgspec.Meta(max_length=255)]
LongText = Annotated[str, msgspec.Meta(max_length=1_000_000)]


class CreateRelease(msgspec.Struct, kw_only=True):
    """A missing tag is made at `target_commitish`, which is a branch, a tag or a commit."""

    tag_name: str
    target_commitish: Text255 = ""
    name: Text255 = ""
    body: LongText = ""
    draft: bool = False
    prerelease: bool = False


class EditRelease(msgspec.Struct, kw_only=True):
    """What is absent or empty stays as it is."""

    tag_name: str = ""
    target_commitish: Text255 = ""
    name: Text255 = ""
    body: LongText = ""
    draft: bool | None = None
    prerelease: bool | None = None


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=resource("read", "read:repository"),
    operation_id="repoListReleases",
    tags=["repository"],
    unit="releases",
)
async def list_releases(
    request: Call,
    draft: bool | None = None,
    pre_release: Annotated[bool | None, QueryParameter(name="pre-release")] = None,
) -> Response[list[Release]]:
    """Releases, newest first."""
    found, page = request.found, request.page()
    wanted = releases.Wanted(_sees_drafts(request), draft, pre_release)
    async with request.db.read() as db:
        rows, total = await releases.list_of(db, found.id, wanted, page)
    answer = [view(request.viewing, found.full_name, row) for row in rows]
    return Response(answer, headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/latest",
    policy=resource("read", "read:repository"),
    operation_id="repoGetLatestRelease",
    tags=["repository"],
    unit="releases",
)
async def get_latest(request: Call) -> Release:
    """The newest release that is neither a draft nor a prerelease."""
    async with request.db.read() as db:
        row = await releases.latest(db, request.found.id)
    return _shown(request, row)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/tags/{tag:path}",
    policy=resource("read", "read:repository"),
    operation_id="repoGetReleaseByTag",
    tags=["repository"],
    unit="releases",
)
async def get_by_tag(request: Call, tag: str) -> Release:  # noqa: ARG001 - it comes normalized
    """The release of a tag, whose name may hold slashes."""
    async with request.db.read() as db:
        row = await releases.get_by_tag(db, request.found.id, request.rest_of_path(7))
    return _shown(request, row)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=resource("read", "read:repository"),
    operation_id="repoGetRelease",
    tags=["repository"],
    unit="releases",
)
async def get_one(request: Call, release_id: int) -> Release:
    """A release."""
    async with request.db.read() as db:
        row = await releases.get(db, request.found.id, release_id)
    return _shown(request, row)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/releases",
    policy=resource("write", "write:repository"),
    on_disk=True,
    operation_id="repoCreateRelease",
    tags=["repository"],
    status_code=201,
    unit="releases",
)
async def create_release(request: Call, data: CreateRelease) -> Release:
    """Create a release, and its tag unless it is there or the release is a draft."""
    found = request.writable
    wanted = NewRelease(**msgspec.structs.asdict(data))
    row = await request.parts.releasing.create(found.row, await request.own_account(), wanted)
    return view(request.viewing, found.full_name, row)


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=resource("write", "write:repository"),
    on_disk=True,
    operation_id="repoEditRelease",
    tags=["repository"],
    unit="releases",
)
async def edit_release(request: Call, release_id: int, data: EditRelease) -> Release:
    """Change a release. A draft that becomes none gets its tag."""
    found = request.writable
    row = await _existing(request, release_id)
    changes = {key: value for key, value in msgspec.structs.asdict(data).items() if value not in ("", None)}
    edited = await request.parts.releasing.edit(found.row, await request.own_account(), row, changes)
    return view(request.viewing, found.full_name, edited)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/releases/{release_id:int}",
    policy=resource("write", "write:repository"),
    operation_id="repoDeleteRelease",
    tags=["repository"],
    unit="releases",
)
async def delete_release(request: Call, release_id: int) -> None:
    """Delete a release; its tag stays."""
    access.require_open(request.found.row)
    row = await _existing(request, release_id)
    await request.parts.releasing.delete(await request.own_account(), row)


def _sees_drafts(request: Call) -> bool:
    return reaches(request.found.level, "write")


def _shown(request: Call, row: Any) -> Release:
    if row is None or (row.draft and not _sees_drafts(request)):
        raise NotFound
    return view(request.viewing, request.found.full_name, row)


async def _existing(request: Call, release_id: int) -> Any:
    async with request.db.read() as db:
        row = await releases.get(db, request.found.id, release_id)
    if row is None:
        raise NotFound
    return row


routes = [
    list_releases,
    get_latest,
    get_by_tag,
    get_one,
    create_release,
    edit_release,
    delete_release,
]
