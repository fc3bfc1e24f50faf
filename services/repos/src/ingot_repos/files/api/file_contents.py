"""Files and folders of a branch, tag or commit, with their contents in base64."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Invalid, NotFound, TooLarge
from ingot_chassis.http.paging import Page
from ingot_contracts.limits import Name
from ingot_git.history.file_contents import Contents, contents_at, files_at
from ingot_git.history.lfs_pointers import LONGEST_POINTER
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import is_empty
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.views import CodePresenter, ContentsResponse, named_or_default
from ingot_repos.commits.rules.excerpts import clip_for_folder

MOST_BYTES = 10 * 1024 * 1024
"""Limit for one file in a response, and for all files of ``file-contents`` together."""
MOST_FILES = 100
ENTRIES_OF_PAGE = 500


class GetFiles(msgspec.Struct):
    """A request for several files by path."""

    files: Annotated[list[Name], msgspec.Meta(max_length=MOST_FILES)] = []


class ExtendedContents(msgspec.Struct):
    """The content of a path. Only the field of a file or the field of a folder is set."""

    file_contents: ContentsResponse | UnsetType = UNSET
    dir_contents: list[ContentsResponse] | UnsetType = UNSET


async def _contents(
    request: RepositoryRequest,
    path: str,
    ref: str,
    *,
    max_bytes: int = MOST_BYTES,
    with_changes: bool = True,
    part: slice | None = None,
) -> Contents | None:
    """Return the content of a path; None for the root of an empty repository. Raises NotFound, TooLarge."""
    try:
        is_root = not path and not ref
        # The row is updated when the push is recorded, which may be later.
        if (
            is_root
            and request.resource.row.empty
            and await request.storage.call(request.resource.id, is_empty)
        ):
            return None
        return await request.storage.call(
            request.resource.id,
            contents_at,
            named_or_default(request, ref),
            path,
            request.part(ReadCache),
            max_bytes=max_bytes,
            clip=clip_for_folder,
            with_changes=with_changes,
            part=part,
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    except OutputTooLarge as error:
        raise TooLarge(str(error)) from None


def _views(
    request: RepositoryRequest,
    contents: Contents,
    ref: str,
    *,
    with_message: bool = False,
    with_content: bool = True,
) -> list[ContentsResponse]:
    presenter, name = CodePresenter.of(request), named_or_default(request, ref)
    return [
        presenter.content(item, contents.ref, name, with_message=with_message, with_content=with_content)
        for item in contents.items
    ]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/contents",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetContentsList",
    tags=["repository"],
)
async def list_root(request: RepositoryRequest, ref: str = "") -> list[ContentsResponse]:
    """List the entries of the root folder; empty for an empty repository."""
    contents = await _contents(request, "", ref)
    return _views(request, contents, ref) if contents is not None else []


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetContents",
    tags=["repository"],
)
async def get_contents(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
    ref: str = "",
) -> ContentsResponse | list[ContentsResponse]:
    """Get a file, link or submodule as an object, or the entries of a folder as a list."""
    contents = await _contents(request, request.rest_of_path(6), ref)
    if contents is None:
        return []
    views = _views(request, contents, ref)
    return views if contents.is_folder else views[0]


def _extended_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Return the operation id. Ids must be unique, so each spelling of the path has its own id."""
    return "repoGetContentsExt" if len(path) > 6 else "repoGetContentsExtRoot"


@get(
    [
        "/api/v1/repos/{owner:str}/{repo:str}/contents-ext",
        "/api/v1/repos/{owner:str}/{repo:str}/contents-ext/{filepath:path}",
    ],
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id=_extended_id,
    tags=["repository"],
)
async def get_extended(
    request: RepositoryRequest,
    filepath: str = "",  # noqa: ARG001 - it is normalized
    ref: str = "",
    includes: str = "",
) -> Response[ExtendedContents]:
    """Get a path with optional parts.

    ``includes`` names parts, separated by commas: file_content, lfs_metadata, commit_metadata,
    commit_message. With `page` a folder is returned in pages of 500 entries, folders first.
    """
    parts = {part.strip() for part in includes.split(",") if part.strip()}
    if parts - {"file_content", "lfs_metadata", "commit_metadata", "commit_message"}:
        raise Invalid.field("includes", "unknown", "names an unknown part")
    with_content = "file_content" in parts
    pointer_bytes = LONGEST_POINTER if "lfs_metadata" in parts else 0
    page = Page(request.page().number, ENTRIES_OF_PAGE) if "page" in request.query_params else None
    contents = await _contents(
        request,
        request.rest_of_path(6),
        ref,
        max_bytes=MOST_BYTES if with_content else pointer_bytes,
        with_changes=bool(parts & {"commit_metadata", "commit_message"}),
        part=slice(page.offset, page.offset + page.limit) if page else None,
    )
    if contents is None:
        return Response(ExtendedContents(dir_contents=[]))
    with_message = "commit_message" in parts
    views = _views(request, contents, ref, with_message=with_message, with_content=with_content)
    if contents.is_folder:
        headers = request.page_headers(page, contents.total) if page else {}
        return Response(ExtendedContents(dir_contents=views), headers=headers)
    return Response(ExtendedContents(file_contents=views[0]))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/file-contents",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetFileContents",
    tags=["repository"],
)
async def get_files(
    request: RepositoryRequest,
    question: Annotated[str, QueryParameter(name="body")] = "",
    ref: str = "",
) -> Response[list[ContentsResponse | None]]:
    """Get several files. `body` is the JSON body of the POST request to this path."""
    try:
        data = msgspec.json.decode(question, type=GetFiles)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Invalid.field("body", "format", 'is JSON such as {"files": ["a.txt"]}') from None
    return await _files(request, data, ref)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/file-contents",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetFileContentsPost",
    tags=["repository"],
    status_code=200,
)
async def post_files(
    request: RepositoryRequest,
    data: GetFiles,
    ref: str = "",
) -> Response[list[ContentsResponse | None]]:
    """Get several files in the order of the request, with null for a missing file."""
    return await _files(request, data, ref)


async def _files(
    request: RepositoryRequest, data: GetFiles, ref: str
) -> Response[list[ContentsResponse | None]]:
    request.acquire_slot()
    name = named_or_default(request, ref)
    try:
        resolved, contents = await request.storage.call(
            request.resource.id,
            files_at,
            name,
            data.files,
            request.part(ReadCache),
            max_bytes=MOST_BYTES,
            clip=clip_for_folder,
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    presenter = CodePresenter.of(request)
    return Response([presenter.content(one, resolved, name) if one is not None else None for one in contents])


routes = [list_root, get_contents, get_extended, get_files, post_files]
