"""Commits: pages of a history, single commits, and their changes as text."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.errors import Conflict, Invalid, NotFound, TooLarge
from ingot_chassis.http.openapi import TextForms, response_spec
from ingot_chassis.http.paging import Page
from ingot_git.history import compare, history
from ingot_git.history.commit_files import files_of
from ingot_git.history.commits import CommitInfo
from ingot_git.history.history import HistoryFilter, HistoryPage
from ingot_git.history.signatures import CommitSignature
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    GitTooExpensive,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.refs.refs import is_empty, is_full_id
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.views import (
    CodePresenter,
    FullCommit,
    named_or_default,
    users_of,
    verifications_of,
)
from ingot_repos.commits.rules.excerpts import clip_for_list
from ingot_repos.commits.rules.signatures import UNSIGNED

TEXT_SUFFIXES = (".diff", ".patch")


@dataclass(frozen=True)
class CommitParts:
    """The optional parts of a commit in a response."""

    stats: bool = True
    files: bool = True
    verification: bool = True

    @classmethod
    def of(cls, stat: str, files: str, verification: str) -> "CommitParts":
        """Parse the query parameters. A part that the query does not name is included."""
        return cls(
            *(
                text.strip().lower() not in ("0", "f", "false", "off", "no")
                for text in (stat, files, verification)
            )
        )


async def full_commits(
    request: RepositoryRequest,
    infos: Sequence[CommitInfo],
    signatures: dict[str, CommitSignature],
    parts: CommitParts,
    *,
    alternate_id: int = 0,
) -> list[FullCommit]:
    """Return commits with accounts and changes, as commits of the repository in the path.

    ``alternate_id``: another repository that has the objects.
    """
    changes = {}
    if parts.stats or parts.files:
        cache = request.part(ReadCache).file_changes
        changes = await files_of(request.storage, alternate_id or request.resource.id, infos, cache)
    users = await users_of(request, infos)
    verifications = (
        await verifications_of(request, request.resource.id, infos, signatures) if parts.verification else {}
    )
    presenter = CodePresenter.of(request)
    return [
        presenter.commit(
            info,
            users,
            verification=verifications.get(info.oid, UNSIGNED) if parts.verification else None,
            changes=changes.get(info.oid),
            with_files=parts.files,
            with_stats=parts.stats,
        )
        for info in infos
    ]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/commits",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetAllCommits",
    tags=["repository"],
)
async def list_commits(
    request: RepositoryRequest,
    sha: str = "",
    path: str = "",
    since: str = "",
    until: str = "",
    stat: str = "",
    files: str = "",
    verification: str = "",
    hidden: Annotated[str, QueryParameter(name="not")] = "",
    author: str = "",
) -> Response[list[FullCommit]]:
    """List the history of a branch, tag or commit, latest first.

    With `path`, list only commits that change it. `not` names a branch, tag or commit whose history is
    excluded. `author` is a part of the author's name or address. Long texts are shortened. Answers 409 if the
    repository is empty, 404 if no commit changed `path`, 413 if that history is too long.
    """
    repository, page = request.resource, request.page()
    history_filter = HistoryFilter(
        path.strip("/"), _seconds("since", since), _seconds("until", until), author=author.strip()
    )
    # The row is updated when the push is recorded, which may be later.
    if repository.row.empty and await request.storage.call(repository.id, is_empty):
        raise Conflict("the repository is empty")
    try:
        listed, signatures = await request.storage.call(
            repository.id,
            history.named_history,
            named_or_default(request, sha),
            hidden.strip(),
            history_filter,
            offset=page.offset,
            limit=page.limit,
            cache=request.part(ReadCache),
            clip=clip_for_list,
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    except GitTooExpensive as error:
        raise TooLarge("the history of this path is too long for one response") from error
    if path and not author and not listed.total:
        raise NotFound("no commit changed that path")
    parts = CommitParts.of(stat, files, verification)
    commits = await full_commits(request, listed.commits, signatures, parts)
    return Response(commits, headers=request.page_headers(page, listed.total) | _older_headers(listed, page))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/git/commits/{sha:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetSingleCommit",
    tags=["repository"],
    responses={200: response_spec(FullCommit, "The commit")},
    text_forms=TextForms(
        "repoDownloadCommitDiffOrPatch", "diffType", ("diff", "patch"), "The changes of a commit as text."
    ),
)
async def get_commit(
    request: RepositoryRequest,
    sha: str,  # noqa: ARG001 - it is normalized
    stat: str = "",
    files: str = "",
    verification: str = "",
    whitespace: str = "",
    only_id: bool = False,
) -> Response[Any]:
    """Get one commit. With `.diff` or `.patch` after its id, get its changes as text.

    With `page`, a diff has the changes of one page of files, and `X-Total-Count` counts all changed files.
    `whitespace` ignores changes in white space: `ignore-all` all, `ignore-change` changes in its amount,
    `ignore-eol` changes at line ends. With `only_id`, the name is an id or an abbreviated id, even if a
    branch or tag has this name.
    """
    info, signature, form = await _commit_and_form(request, request.rest_of_path(7), only_id=only_id)
    if form == ".diff" and "page" in request.query_params:
        before = info.parents[0] if info.parents else ""
        return await page_of_diff(request, before, info.oid, request.page(), whitespace=whitespace)
    if form:
        return Response(await _text(request, info, form), media_type="text/plain")
    signatures = {info.oid: signature} if signature is not None else {}
    parts = CommitParts.of(stat, files, verification)
    return Response((await full_commits(request, [info], signatures, parts))[0])


async def _commit_and_form(
    request: RepositoryRequest, name: str, *, only_id: bool
) -> tuple[CommitInfo, CommitSignature | None, str]:
    """Return the named commit, its signature, and the suffix that requests it as text.

    The suffix is empty without such a request. A branch `x.diff` comes before the text of `x`. A full id with
    a suffix always means the text of that commit. Raises NotFound.
    """
    suffix = next((suffix for suffix in TEXT_SUFFIXES if name.endswith(suffix)), "")
    stem = name.removesuffix(suffix)
    forms = [(stem, suffix)] if is_full_id(stem) else [(name, ""), (stem, suffix)][: 1 + bool(suffix)]
    for one, form in forms:
        with contextlib.suppress(RefNotFound, ObjectNotFound, RepositoryNotFound):
            named = partial(history.named_commit, only_id=only_id)
            return *await request.storage.call(request.resource.id, named, one), form
    raise NotFound


async def diff_of_files(
    request: RepositoryRequest,
    path: Path,
    before: str,
    after: str,
    *,
    offset: int,
    limit: int,
    whitespace: compare.Whitespace = "show-all",
    alternate: Path | None = None,
) -> tuple[bytes, int]:
    """Return the result of `compare.diff_of_files` for commits that the caller may read. Cached."""
    cache, key = request.part(ReadCache).diffs, (before, after, offset, limit, whitespace)
    remembered = cache.get(key)
    if remembered is None:
        request.acquire_slot()
        remembered = await compare.diff_of_files(
            path, before, after, offset=offset, limit=limit, whitespace=whitespace, alternate=alternate
        )
        cache.put(key, remembered, size=len(remembered[0]) + 500)
    return remembered


async def page_of_diff(
    request: RepositoryRequest,
    before: str,
    after: str,
    page: Page,
    *,
    whitespace: str,
    alternate: Path | None = None,
) -> Response[bytes]:
    """Return the changes of one page of the files that differ. Raises NotFound, TooLarge."""
    path = request.storage.path(request.resource.id)
    try:
        text, total = await diff_of_files(
            request,
            path,
            before,
            after,
            offset=page.offset,
            limit=page.limit,
            whitespace=compare.whitespace_of(whitespace),
            alternate=alternate,
        )
    except GitFailed:
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error
    return Response(text, media_type="text/plain", headers=request.page_headers(page, total))


async def _text(request: RepositoryRequest, info: CommitInfo, form: str) -> bytes:
    """Return the changes against the first parent as text. Raises NotFound, TooLarge."""
    request.acquire_slot()
    path, before = request.storage.path(request.resource.id), info.parents[0] if info.parents else ""
    try:
        if form == ".patch":
            return await compare.patch_text(path, before, info.oid)
        return await compare.diff_text(path, before, info.oid)
    except GitFailed:
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise TooLarge("the text is too large") from error


def _seconds(field: str, text: str) -> int | None:
    """Return a time in the query as seconds since the epoch. Raises Invalid."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip().replace(" ", "+"))
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise Invalid.field(field, "format", "is a time such as 2026-01-31T12:00:00Z") from None


def _older_headers(listed: HistoryPage, page: Any) -> dict[str, str]:
    """Return the paging headers that older releases sent with lists of commits."""
    return {
        "X-Page": str(page.number),
        "X-PerPage": str(page.limit),
        "X-Total": str(listed.total),
        "X-PageCount": str(-(-listed.total // page.limit)),
        "X-HasMore": "true" if listed.more else "false",
    }


routes = [list_commits, get_commit]
