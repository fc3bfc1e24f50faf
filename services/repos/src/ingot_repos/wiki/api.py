"""Pages of the wiki of a repository."""

from base64 import b64encode
from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import BadRequest, Invalid, NotFound, TooLarge
from ingot_contracts.limits import Name, Text
from ingot_git.history import wiki_pages
from ingot_git.history.commits import CommitInfo, whole
from ingot_git.history.file_contents import blob_at
from ingot_git.history.wiki_pages import PageFile
from ingot_git.process.errors import GitTooExpensive, ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.wikis import in_wiki
from ingot_repos.catalog.rules import wiki_names
from ingot_repos.changes.api.files import Base64, decoded, ref_updates_in
from ingot_repos.changes.rules.files import FileEditor
from ingot_repos.commits.api.views import CommitUser, commit_user, named_or_default
from ingot_repos.commits.rules.excerpts import clip_for_list
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.files.api.contents import INLINE_BYTES, file_response
from ingot_repos.wiki.rules import PageEditor

NAME_SEGMENT = 8
"""Position of the name of a page in the path of a request."""


class CreatePage(msgspec.Struct, kw_only=True):
    """A new page. `content_base64` is Markdown in base64. The default `message` names the page."""

    title: Name = ""
    content_base64: Base64 = ""
    message: Text = ""


class EditPage(msgspec.Struct, kw_only=True):
    """A change of a page. Absent `title` or `content_base64` keep their values.

    `sha` is the commit in `last_commit` when the page was read. If the page has changed since, the answer is
    409.
    """

    title: Name = ""
    content_base64: Base64 | UnsetType = UNSET
    message: Text = ""
    sha: Annotated[str, msgspec.Meta(max_length=40)] = ""


class WikiCommit(msgspec.Struct):
    """A commit of a page. `commiter` is misspelled as in Gitea's API."""

    sha: str
    author: CommitUser
    commiter: CommitUser
    message: str


class WikiPageMetaData(msgspec.Struct):
    """A page in a list. `sub_url` is the last segment of `html_url`, and the name of the page in paths."""

    title: str
    html_url: str
    sub_url: str
    last_commit: WikiCommit | None


class WikiPage(WikiPageMetaData):
    """A page. `content_base64`, `sidebar` and `footer` are Markdown in base64."""

    content_base64: str
    commit_count: int
    sidebar: str
    footer: str


class WikiCommitList(msgspec.Struct):
    """A page of a history, latest first. `count` is the total number of commits."""

    commits: list[WikiCommit]
    count: int


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/new",
    policy=in_wiki("write", "write:repository", creates=True),
    operation_id="repoCreateWikiPage",
    tags=["repository"],
    status_code=201,
)
async def create_page(request: RepositoryRequest, data: CreatePage) -> WikiPage:
    """Create a page. The first page creates the wiki."""
    if not data.title.strip():
        raise BadRequest("title: is required")
    content = _content(data.content_base64)
    address = await (await _editor(request)).create(data.title, content, data.message)
    return await _shown(request, address)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/pages",
    policy=in_wiki("read", "read:repository"),
    operation_id="repoGetWikiPages",
    tags=["repository"],
)
async def list_pages(request: RepositoryRequest, q: str = "") -> Response[list[WikiPageMetaData]]:
    """List the pages by name. With `q`, list only pages with this text in title or content."""
    page, text = request.page(), q.strip().lower()

    def matches(name: str, data: bytes) -> bool:
        title = wiki_names.title_of(wiki_names.address_of_file(name) or "")
        return text in title.lower() or text in data.decode(errors="replace").lower()

    try:
        files, total = await request.storage.call(
            request.resource.id,
            wiki_pages.list_files,
            request.resource.row.default_branch,
            lambda name: wiki_names.address_of_file(name) is not None,
            matches if text else None,
            request.part(ReadCache),
            clip_for_list,
            page.offset,
            page.limit,
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound("the wiki has no pages yet") from None
    addresses = [(wiki_names.address_of_file(file.name) or "", file.latest) for file in files]
    pages = [WikiPageMetaData(**_head(request, address, latest)) for address, latest in addresses]
    return Response(pages, headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/page/{page_name:path}",
    policy=in_wiki("read", "read:repository"),
    operation_id="repoGetWikiPage",
    tags=["repository"],
)
async def get_page(
    request: RepositoryRequest,
    page_name: str,  # noqa: ARG001 - it is decoded
    ref: str = "",
) -> WikiPage:
    """Get a page with its content at `ref`, a commit or branch, by default the default branch.

    The sidebar and the footer are always read from the default branch.
    """
    return await _shown(request, _address(request), named_or_default(request, ref))


@patch(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/page/{page_name:path}",
    policy=in_wiki("write", "write:repository"),
    operation_id="repoEditWikiPage",
    tags=["repository"],
)
async def edit_page(
    request: RepositoryRequest,
    page_name: str,  # noqa: ARG001 - it is decoded
    data: EditPage,
) -> WikiPage:
    """Change content or title of a page."""
    content = None if data.content_base64 is UNSET else _content(data.content_base64)
    page = await _page(request, _address(request))
    address = await (await _editor(request)).edit(
        page, _address_of(page), data.title, content, data.message, data.sha
    )
    return await _shown(request, address)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/page/{page_name:path}",
    policy=in_wiki("write", "write:repository"),
    operation_id="repoDeleteWikiPage",
    tags=["repository"],
)
async def delete_page(
    request: RepositoryRequest,
    page_name: str,  # noqa: ARG001 - it is decoded
) -> None:
    """Delete a page. Its history stays in the git repository of the wiki."""
    page = await _page(request, _address(request))
    await (await _editor(request)).delete(page, wiki_names.title_of(_address_of(page)))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/wiki/revisions/{page_name:path}",
    policy=in_wiki("read", "read:repository"),
    operation_id="repoGetWikiPageRevisions",
    tags=["repository"],
)
async def list_revisions(
    request: RepositoryRequest,
    page_name: str,  # noqa: ARG001 - it is decoded
) -> Response[WikiCommitList]:
    """List the commits that changed a page, latest first."""
    page = request.page()
    try:
        history = await request.storage.call(
            request.resource.id,
            wiki_pages.file_history,
            request.resource.row.default_branch,
            wiki_names.files_of(_address(request)),
            request.part(ReadCache),
            clip_for_list,
            page.offset,
            page.limit,
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    except GitTooExpensive as error:
        raise TooLarge("the history of this page is too long for one response") from error
    if history is None:
        raise NotFound("there is no such page")
    commits = [_commit(info) for info in history.commits]
    return Response(WikiCommitList(commits, history.total), headers=request.page_headers(page, history.total))


@get(
    "/{owner:str}/{repo:str}/wiki/raw/{filepath:path}",
    policy=in_wiki("read", "read:repository"),
    include_in_schema=False,
)
async def raw(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
) -> Response[Any]:
    """Get a file of the wiki, such as a picture of a page."""
    branch, path = request.resource.row.default_branch, request.rest_of_path(4)
    try:
        path, blob = await request.storage.call(
            request.resource.id, blob_at, branch, path, max_bytes=INLINE_BYTES
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    return await file_response(request, path, blob)


def _address(request: RepositoryRequest) -> str:
    """Return the address of the page in the path, without decoding the path: `%2F` is part of a title."""
    path = request.scope["raw_path"].decode("ascii", "replace")
    segments = path.split("/", NAME_SEGMENT)
    return wiki_names.address_of_request(segments[-1] if len(segments) > NAME_SEGMENT else "")


def _address_of(page: PageFile) -> str:
    return wiki_names.address_of_file(page.name) or ""


async def _page(request: RepositoryRequest, address: str, ref: str = "") -> PageFile:
    """Return the file of a page, by default of the default branch. Raises NotFound."""
    try:
        page = await request.storage.call(
            request.resource.id,
            wiki_pages.read_file,
            ref or request.resource.row.default_branch,
            wiki_names.files_of(address),
            request.part(ReadCache),
            whole,
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    except GitTooExpensive as error:
        raise TooLarge("the history of this page is too long for one response") from error
    if page is None:
        raise NotFound("there is no such page")
    return page


async def _shown(request: RepositoryRequest, address: str, ref: str = "") -> WikiPage:
    page = await _page(request, address, ref)
    sidebar, footer = await request.storage.call(
        request.resource.id,
        wiki_pages.read_texts,
        request.resource.row.default_branch,
        [wiki_names.file_of(wiki_names.SIDEBAR), wiki_names.file_of(wiki_names.FOOTER)],
    )
    return WikiPage(
        **_head(request, _address_of(page), page.latest),
        content_base64=b64encode(page.data).decode(),
        commit_count=page.commits,
        sidebar=b64encode(sidebar).decode(),
        footer=b64encode(footer).decode(),
    )


def _head(request: RepositoryRequest, address: str, latest: CommitInfo | None) -> dict[str, Any]:
    full_name = request.resource.full_name.removesuffix(".wiki")
    return {
        "title": wiki_names.title_of(address),
        "html_url": f"{request.settings.public_url}{full_name}/wiki/{address}",
        "sub_url": address,
        "last_commit": _commit(latest) if latest is not None else None,
    }


def _commit(info: CommitInfo) -> WikiCommit:
    return WikiCommit(info.oid, commit_user(info.author), commit_user(info.committer), info.message)


def _content(text: str) -> bytes:
    """Decode the content of a page. Raises BadRequest."""
    try:
        return decoded(text, "content_base64")
    except Invalid as error:
        raise BadRequest(error.message) from None


async def _editor(request: RepositoryRequest) -> PageEditor:
    """Return the ``PageEditor`` of the wiki for the caller."""
    request.acquire_slot()
    updates = await ref_updates_in(request, request.resource)
    return PageEditor(FileEditor(request.storage, updates, request.part(ServerKeys).signer))


routes = [create_page, list_pages, get_page, edit_page, delete_page, list_revisions, raw]
