"""Comparison of two refs of a repository, or of a ref with a branch of a related repository."""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound, TooLarge, Unavailable
from ingot_chassis.http.openapi import response_spec
from ingot_chassis.http.paging import Page
from ingot_git.history import compare
from ingot_git.history.comparisons import RefComparison, compare_refs
from ingot_git.history.heads import with_borrowed_head
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.refs.refs import is_full_id
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository, require_on_disk, resolve, resolve_by_id
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.commits.api.commits import CommitParts, full_commits, page_of_diff
from ingot_repos.commits.api.views import FullCommit
from ingot_repos.commits.rules.excerpts import clip_for_list

MOST_COMMITS = 250
"""Maximum number of listed commits if no page is requested."""


class Compare(msgspec.Struct):
    """The commits of the head that the base lacks, latest first.

    ``before`` and ``after`` are the commits of the diff. ``head_repo`` is the repository with ``after``.
    """

    total_commits: int
    commits: list[FullCommit]
    before: str
    after: str
    head_repo: str


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/compare/{basehead:path}",
    policy=in_repository("read", "read:repository", on_disk=True, with_other_files=True),
    operation_id="repoCompareDiff",
    tags=["repository"],
    is_paged=True,
    responses={200: response_spec(Compare, "The comparison, unless a text is requested")},
)
async def compare_refs_of(
    request: RepositoryRequest,
    basehead: str,  # noqa: ARG001 - it is normalized
    output: str = "",
    stat: str = "",
    files: str = "",
    verification: str = "",
    whitespace: str = "",
) -> Response[Any]:
    """Compare `<base>...<head>` from the merge base, or `<base>..<head>` directly.

    Each is a branch, a tag or a commit. The head in another repository of the fork network is
    `<owner>:<branch>` or `<owner>/<name>:<branch>`. Without `page` and `limit`, at most 250 commits are
    listed. `output` requests the changes as `diff` or `patch`.

    With `page`, a diff has the changes of one page of files, and `X-Total-Count` counts all changed files.
    `whitespace` ignores changes in white space: `ignore-all` all, `ignore-change` changes in its amount,
    `ignore-eol` changes at line ends.
    """
    if output not in ("", "diff", "patch"):
        raise Invalid.field("output", "unknown", "is diff or patch")
    base, head, is_direct = _names(request.rest_of_path(6), request.resource.row.default_branch)
    is_paged = "page" in request.query_params or "limit" in request.query_params
    page = request.page() if is_paged else Page(1, MOST_COMMITS)
    request.acquire_slot()
    try:
        head_repository, head = await _head(request, head)
        compared = await _compare(request, base, head_repository, head, Page(1, 1) if output else page)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound, InvalidName):
        raise NotFound from None
    except (GitFailed, GitTimedOut) as error:
        raise Unavailable("the comparison failed; try again") from error
    before = compared.base if is_direct else compared.merge_base
    is_own = head_repository.id == request.resource.id
    alternate = None if is_own else request.storage.path(head_repository.id)
    if output == "diff" and "page" in request.query_params:
        return await page_of_diff(
            request, before, compared.head, page, whitespace=whitespace, alternate=alternate
        )
    if output:
        return Response(await _text(request, compared, output, before, alternate), media_type="text/plain")
    commits = await full_commits(
        request,
        compared.commits,
        compared.signatures,
        CommitParts.of(stat, files, verification),
        alternate_id=head_repository.id,
    )
    headers = request.page_headers(page, compared.total)
    answer = Compare(
        total_commits=compared.total,
        commits=commits,
        before=before,
        after=compared.head,
        head_repo=head_repository.full_name,
    )
    return Response(answer, headers=headers)


def _names(text: str, default_branch: str) -> tuple[str, str, bool]:
    """Return the names of base and head, and True for a direct comparison, with two dots.

    Raises NotFound for an empty head.
    """
    base, separator, head = text.partition("...")
    if not separator:
        base, separator, head = text.partition("..")
    if not separator:
        return default_branch, text, False
    if not head:
        raise NotFound
    return base or default_branch, head, separator == ".."


async def _head(request: RepositoryRequest, head: str) -> tuple[ResolvedRepository, str]:
    """Return the repository of the head, and the head's name in that repository."""
    owner, separator, branch = head.partition(":")
    return (await _related(request, owner), branch) if separator else (request.resource, head)


async def _compare(
    request: RepositoryRequest, base: str, other: ResolvedRepository, head: str, page: Page
) -> RefComparison:
    repository = request.resource
    cache = request.part(ReadCache).comparisons
    compared = partial(
        compare_refs, base=base, offset=page.offset, limit=page.limit, cache=cache, clip=clip_for_list
    )
    if other.id != repository.id:
        if is_full_id(head):  # an object id; other repositories are compared by branch only
            raise NotFound
        require_on_disk(request, other)
        act = partial(compared, head_is_commit=True)
        return await with_borrowed_head(request.storage, repository.id, act, source_id=other.id, branch=head)
    return await request.storage.call(repository.id, compared, head)


async def _related(request: RepositoryRequest, text: str) -> ResolvedRepository:
    """Return the repository named `<owner>` or `<owner>/<name>`: a fork, the parent, or a sibling fork.

    Raises NotFound, also if the caller may not read it.
    """
    repository, row = request.resource, request.resource.row
    owner, separator, name = text.partition("/")
    if separator:
        other = await resolve(request, owner, name)
        family = {repository.id, row.fork_of} - {None}
        if other.id not in family and other.row.fork_of not in family:
            raise NotFound
        return other
    if owner.lower() == row.owner_login.lower():
        return repository
    async with request.db.read() as db:
        account = await accounts.get_by_login(db, owner)
        fork = await repositories.fork_of(db, account.id, row.id) if account is not None else None
    if fork is None and account is not None and row.fork_of is not None:
        parent = await resolve_by_id(request, row.fork_of)
        if parent.row.owner_id == account.id:
            return parent
        async with request.db.read() as db:
            fork = await repositories.fork_of(db, account.id, row.fork_of)
    if fork is None:
        raise NotFound
    return await resolve_by_id(request, fork)


async def _text(
    request: RepositoryRequest, compared: RefComparison, output: str, before: str, alternate: Path | None
) -> bytes:
    """Return the changes as text. Raises NotFound, TooLarge."""
    path = request.storage.path(request.resource.id)
    write = compare.patch_text if output == "patch" else compare.diff_text
    try:
        return await write(
            path, compared.base if output == "patch" else before, compared.head, alternate=alternate
        )
    except GitFailed:
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error


routes = [compare_refs_of]
