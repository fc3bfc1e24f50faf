"""Search in the files of a repository."""

import re

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_git.history import code_search
from ingot_git.history.code_search import CodeQuery
from ingot_git.process.errors import InvalidName, ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_git.refs.trees import split_path
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.views import CodePresenter, named_or_default

LONGEST_SEARCH = 200
"""Characters of a search text."""
_EXTENSION = re.compile(r"[A-Za-z0-9_+#.-]{1,20}")
_CONTROL = re.compile("[\\0-\\x08\\x0a-\\x1f\\x7f]")


class CodeSearchLine(msgspec.Struct):
    """A line with matches. ``matches`` has the start and end of each match in ``text``, in characters.

    ``text`` is only a part of a long line.
    """

    number: int
    text: str
    matches: list[tuple[int, int]]


class CodeSearchFile(msgspec.Struct):
    """A file with its first lines that match, up to 20."""

    path: str
    sha: str
    html_url: str
    lines: list[CodeSearchLine]


class CodeSearch(msgspec.Struct):
    """A page of files. ``incomplete_results`` is true if a limit ended the search, or files were too large.

    ``sha`` is the searched commit, ``total_count`` the number of files.
    """

    sha: str
    total_count: int
    incomplete_results: bool
    files: list[CodeSearchFile]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/code/search",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoSearchCode",
    tags=["repository"],
)
async def search(
    request: RepositoryRequest,
    q: str,
    ref: str = "",
    path: str = "",
    extension: str = "",
    regexp: bool = False,
    case_sensitive: bool = False,
) -> Response[CodeSearch]:
    """Search the lines of the text files of a branch, tag or commit; without `ref`, of the default branch.

    `q` is a literal text. With `regexp` it is an extended regular expression, as in `git grep -E`. Without
    `case_sensitive`, the case of ASCII letters is ignored. `path` is a folder or a file. `extension` is the
    end of file names after the dot. Binary files, LFS pointers, and files of more than 512 KiB are skipped.
    The search ends after half a second of CPU time, 4 MiB of lines or 1,000 files.
    """
    query = _query(
        q, path.strip("/"), extension.removeprefix("."), regexp=regexp, case_sensitive=case_sensitive
    )
    request.acquire_slot()
    repository, page = request.resource, request.page()
    try:
        searched = await request.storage.call(
            repository.id,
            code_search.commit_to_search,
            named_or_default(request, ref),
            request.part(ReadCache),
        )
        async with request.git_slot(repository.id):
            matches = await code_search.search_code(request.storage.path(repository.id), searched, query)
        files = await request.storage.call(
            repository.id, code_search.without_pointers, searched, matches.files
        )
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    except InvalidName as error:
        raise Invalid.field("q", "invalid", str(error)) from None
    presenter = CodePresenter.of(request)
    views = [
        CodeSearchFile(
            path=file.path,
            sha=file.oid,
            html_url=presenter.source_page(searched.commit, file.path),
            lines=[CodeSearchLine(line.number, line.text, line.matches) for line in file.lines],
        )
        for file in files[page.offset : page.offset + page.limit]
    ]
    answer = CodeSearch(searched.commit, len(files), not matches.complete, views)
    return Response(answer, headers=request.page_headers(page, len(files)))


def _query(q: str, path: str, extension: str, *, regexp: bool, case_sensitive: bool) -> CodeQuery:
    """Return the query. Raises Invalid."""
    if not q.strip():
        raise Invalid.field("q", "required", "is the text to search for")
    if len(q) > LONGEST_SEARCH:
        raise Invalid.field("q", "length", f"has more than {LONGEST_SEARCH} characters")
    if _CONTROL.search(q):
        raise Invalid.field("q", "format", "contains a line break or another control character")
    try:
        split_path(path)
        q.encode()
    except (ObjectNotFound, UnicodeEncodeError):
        raise Invalid.field("path", "format", "is the path of a file or a folder") from None
    if extension and not _EXTENSION.fullmatch(extension):
        raise Invalid.field("extension", "format", "has up to 20 letters, digits and signs of + # . _ -")
    return CodeQuery(q, regexp, not case_sensitive, path, extension)


routes = [search]
