"""Routes for git data: trees, blobs, refs and notes."""

from base64 import b64encode
from collections.abc import Sequence
from functools import partial

import msgspec
from litestar import Response, get
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Invalid, NotFound, Unavailable
from ingot_chassis.http.paging import Page
from ingot_git.history import object_data
from ingot_git.history.history import named_commit
from ingot_git.history.lfs_pointers import read_pointer
from ingot_git.history.object_data import ObjectHeader
from ingot_git.history.visible_objects import is_in_history, is_in_newest_tree
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    ObjectNotFound,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.refs.refs import is_object_id
from ingot_git.refs.trees import FOLDER, SUBMODULE, Entry
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.commits import CommitParts, full_commits
from ingot_repos.commits.api.views import CodePresenter, FullCommit
from ingot_repos.files.api.file_contents import MOST_BYTES

TREE_PAGE = 1_000
MOST_REFS = 10_000
LONGEST_SEARCH = 200
"""Characters of a search text."""


class TreeEntry(msgspec.Struct):
    path: str
    mode: str
    type: str
    size: int
    sha: str
    url: str


class Tree(msgspec.Struct):
    """A page of a tree. ``truncated`` is true if there are more entries."""

    sha: str
    url: str
    tree: list[TreeEntry]
    truncated: bool
    page: int
    total_count: int


class GitBlob(msgspec.Struct):
    """A blob. ``content`` is base64, or null if it is too large.

    For an LFS pointer, ``lfs_oid`` and ``lfs_size`` are the id and the size of the large file.
    """

    content: str | None
    encoding: str | None
    url: str
    sha: str
    size: int
    lfs_oid: str | UnsetType = UNSET
    lfs_size: int | UnsetType = UNSET


class GitObject(msgspec.Struct):
    type: str
    sha: str
    url: str


class Reference(msgspec.Struct):
    ref: str
    url: str
    object: GitObject


class Note(msgspec.Struct):
    message: str
    commit: FullCommit


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/trees/{sha:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="GetTree",
    tags=["repository"],
)
async def get_tree(
    request: RepositoryRequest,
    sha: str,  # noqa: ARG001 - it is normalized
    recursive: str = "",
    page: str = "",
    per_page: str = "",
    q: str = "",
) -> Tree:
    """Get the tree of a branch, tag, commit or tree, or `<ref>:<folder>`.

    With `recursive` it includes all subfolders. With `q` it has only files, in all subfolders, whose paths
    contain each word of `q`, ignoring case. If no path matches, it has the files whose paths contain the
    characters of `q` in their order. Files with matching names come first. `q` has at most 200 characters.
    Only its first 10 different words are used.
    """
    repository, name = request.resource, request.rest_of_path(7)
    is_recursive = recursive.strip().lower() not in ("", "0", "f", "false")
    number, limit = _number(page, 1, 10**6), _number(per_page, TREE_PAGE, TREE_PAGE)
    if len(q) > LONGEST_SEARCH:
        raise Invalid.field("q", "length", f"has more than {LONGEST_SEARCH} characters")
    if q.strip():
        request.acquire_slot()
        read = partial(object_data.page_of_files_named, text=q)
    else:
        read = partial(object_data.tree_page, recursive=is_recursive)
    try:
        sha_of_answer, tree = await _tree(request, name)
        listed = await request.storage.call(
            repository.id,
            read,
            tree,
            request.part(ReadCache),
            offset=(number - 1) * limit,
            limit=limit,
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    presenter = CodePresenter.of(request)
    return Tree(
        sha=sha_of_answer,
        url=presenter.object_url("tree", sha_of_answer),
        tree=_entries(presenter, listed.entries, listed.sizes),
        truncated=number * limit < listed.total or not listed.complete,
        page=number,
        total_count=listed.total,
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/blobs/{sha:str}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="GetBlob",
    tags=["repository"],
)
async def get_blob(request: RepositoryRequest, sha: str) -> GitBlob:
    """Get the blob with this id, if a visible commit contains it."""
    header = await _visible(request, sha.lower(), "blob")
    content = pointer = None
    if header.size <= MOST_BYTES:
        data = await request.storage.call(request.resource.id, object_data.read_data, header.oid)
        content, pointer = b64encode(data).decode(), read_pointer(data)
    return GitBlob(
        content=content,
        encoding="base64" if content is not None else None,
        url=CodePresenter.of(request).object_url("blob", header.oid),
        sha=header.oid,
        size=header.size,
        lfs_oid=pointer.oid if pointer else UNSET,
        lfs_size=pointer.size if pointer else UNSET,
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/refs",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoListAllGitRefs",
    tags=["repository"],
)
async def list_refs(request: RepositoryRequest) -> Response[list[Reference]]:
    """List refs by name. Without `page` and `limit`, at most 10,000 refs are returned."""
    return await _refs(request, "refs/")


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/refs/{ref:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoListGitRefs",
    tags=["repository"],
)
async def list_refs_by_prefix(
    request: RepositoryRequest,
    ref: str,  # noqa: ARG001 - it is normalized
) -> Response[list[Reference]]:
    """List the refs whose names start with a prefix: `heads`, `heads/main`, `tags/v1`."""
    return await _refs(request, f"refs/{request.rest_of_path(7)}")


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/notes/{sha:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetNote",
    tags=["repository"],
)
async def get_note(
    request: RepositoryRequest,
    sha: str,  # noqa: ARG001 - it is normalized
    files: str = "",
    verification: str = "",
) -> Note:
    """Get the note of a commit."""
    repository = request.resource
    try:
        info, signature = await request.storage.call(repository.id, named_commit, request.rest_of_path(7))
        message = await request.storage.call(repository.id, object_data.note_of, info.oid)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    signatures = {info.oid: signature} if signature is not None else {}
    parts = CommitParts.of("", files, verification)
    return Note(message, (await full_commits(request, [info], signatures, parts))[0])


async def _tree(request: RepositoryRequest, name: str) -> tuple[str, str]:
    """Return the id to show, and the id of the tree. Raises NotFound, RefNotFound, ObjectNotFound."""
    oid = name.lower()
    if is_object_id(oid):
        header = await request.storage.call(request.resource.id, object_data.object_header, oid)
        if header.kind == "tree":
            return oid, (await _visible(request, oid, "tree")).oid
    return await request.storage.call(request.resource.id, object_data.named_tree, name)


async def _visible(request: RepositoryRequest, oid: str, kind: str) -> ObjectHeader:
    """Return the header of a blob or tree that a visible commit contains. Raises NotFound, Unavailable."""
    repository, reads = request.resource, request.part(ReadCache)
    try:
        header = await request.storage.call(repository.id, object_data.object_header, oid)
        if header.kind != kind:
            raise NotFound
        branch = repository.row.default_branch
        if await request.storage.call(repository.id, is_in_newest_tree, branch, oid, reads.tree_objects):
            return header
        request.acquire_slot()
        async with request.git_slot(repository.id):
            path, memory = request.storage.path(repository.id), request.settings.max_git_memory
            if not await is_in_history(path, oid, max_memory=memory):
                raise NotFound
    except (ObjectNotFound, RepositoryNotFound, GitFailed):
        raise NotFound from None
    except GitTimedOut as error:
        raise Unavailable("the history could not be searched in time; try again") from error
    return header


async def _refs(request: RepositoryRequest, prefix: str) -> Response[list[Reference]]:
    is_paged = "page" in request.query_params or "limit" in request.query_params
    page = request.page() if is_paged else Page(1, MOST_REFS)
    try:
        refs, total = await request.storage.call(
            request.resource.id, object_data.page_of_refs, prefix, offset=page.offset, limit=page.limit
        )
    except RepositoryNotFound:
        raise NotFound from None
    if not total:
        raise NotFound
    presenter = CodePresenter.of(request)
    views = [
        Reference(
            ref=name,
            url=presenter.url("git", name),
            object=GitObject(header.kind, header.oid, presenter.object_url(header.kind, header.oid)),
        )
        for name, header in refs
    ]
    return Response(views, headers=request.page_headers(page, total))


def _entries(presenter: CodePresenter, entries: Sequence[Entry], sizes: dict[str, int]) -> list[TreeEntry]:
    blobs, trees = presenter.object_url("blob", ""), presenter.object_url("tree", "")
    views = []
    for entry in entries:
        if entry.mode == FOLDER:
            kind, url = "tree", trees + entry.oid
        elif entry.mode == SUBMODULE:
            kind, url = "commit", ""
        else:
            kind, url = "blob", blobs + entry.oid
        size = sizes.get(entry.oid, 0)
        views.append(TreeEntry(entry.path, f"{entry.mode:06o}", kind, size, entry.oid, url))
    return views


def _number(text: str, default: int, most: int) -> int:
    """Return a positive number from the query, at most ``most``. Return ``default`` for any other text."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return min(number, most) if number > 0 else default


routes = [get_tree, get_blob, list_refs, list_refs_by_prefix, get_note]
