"""Compares two refs of a repository, or one with a branch of a related repository."""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound, TooLarge, Unavailable
from ingot_chassis.http.openapi import response_spec
from ingot_chassis.http.paging import Page
from ingot_repos.api.code_views import FullCommit
from ingot_repos.api.commits import CommitParts, full_commits, page_of_diff
from ingot_repos.api.policies import in_repository, require_on_disk, resolve, resolve_by_id
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core.excerpts import clip_for_list
from ingot_repos.git import compare
from ingot_repos.git.comparisons import RefComparison, compare_refs
from ingot_repos.git.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_repos.git.heads import with_borrowed_head
from ingot_repos.store import accounts, repositories

MOST_COMMITS = 250
"""Commits that are listed when no page is asked for."""


class Compare(msgspec.Struct):
    """What the head has that the base has not. ``commits`` are newest first.

    ``before`` and ``after`` are the commits that its diff compares, ``head_repo`` is the repository that has ``after``.
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
    responses={200: response_spec(Compare, "What the head has, unless a text is asked for")},
)
async def compare_refs_of(
    request: RepositoryRequest,
    basehead: str,  # noqa: ARG001 - it comes normalized
    output: str = "",
    stat: str = "",
    files: str = "",
    verification: str = "",
    whitespace: str = "",
) -> Response[Any]:
    """`<base>...<head>` since they parted, or `<base>..<head>`; a head of a fork is `<owner>:<branch>`.

    Each is a branch, a tag or a commit. `output` asks for the changes as `diff` or `patch`; with
    `page` a diff has the changes of some files, `X-Total-Count` counts all that differ, and `whitespace` says
    which changes of white space are not shown: `ignore-all`, `ignore-change` (of its amount) or `ignore-eol` (at the ends of lines).
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
        raise Unavailable("the comparison could not be made") from error
    before = compared.base if is_direct else compared.merge_base
    is_own = head_repository.id == request.resource.id
    lender = None if is_own else request.storage.path(head_repository.id)
    if output == "diff" and "page" in request.query_params:
        return await page_of_diff(request, before, compared.head, page, whitespace=whitespace, lender=lender)
    if output:
        return Response(await _text(request, compared, output, before, lender), media_type="text/plain")
    commits = await full_commits(
        request,
        compared.commits,
        compared.signatures,
        CommitParts.of(stat, files, verification),
        lender_id=head_repository.id,
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
    """Base, head, and whether they are compared directly: with two dots."""
    base, separator, head = text.partition("...")
    if not separator:
        base, separator, head = text.partition("..")
    if not separator:
        return default_branch, text, False
    if not head:
        raise NotFound
    return base or default_branch, head, separator == ".."


async def _head(request: RepositoryRequest, head: str) -> tuple[ResolvedRepository, str]:
    """The repository of the head, and its ref there."""
    owner, separator, branch = head.partition(":")
    return (await _related(request, owner), branch) if separator else (request.resource, head)


async def _compare(
    request: RepositoryRequest, base: str, other: ResolvedRepository, head: str, page: Page
) -> RefComparison:
    repository = request.resource
    cache = request.components.reads.comparisons
    compared = partial(
        compare_refs, base=base, offset=page.offset, limit=page.limit, cache=cache, clip=clip_for_list
    )
    if other.id != repository.id:
        require_on_disk(request, other)
        act = partial(compared, head_is_commit=True)
        return await with_borrowed_head(request.storage, repository.id, act, source_id=other.id, branch=head)
    return await request.storage.call(repository.id, compared, head)


async def _related(request: RepositoryRequest, text: str) -> ResolvedRepository:
    """The repository of `<owner>` or `<owner>/<name>` that is a fork, the parent or another fork of the same parent.

    Raises NotFound, also when the caller may not read it.
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
    request: RepositoryRequest, compared: RefComparison, output: str, before: str, lender: Path | None
) -> bytes:
    """The changes as text. Raises NotFound, TooLarge."""
    path = request.storage.path(request.resource.id)
    write = compare.patch_text if output == "patch" else compare.diff_text
    try:
        return await write(path, compared.base if output == "patch" else before, compared.head, lender=lender)
    except GitFailed:
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error


routes = [compare_refs_of]
