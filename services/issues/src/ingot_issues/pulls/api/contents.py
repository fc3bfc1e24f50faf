"""Commits and files of a pull request, and its changes as text at the URLs of its page."""

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.errors import NotFound
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.commits import Verification
from ingot_contracts.repos.comparisons import ChangedPath
from ingot_contracts.repos.histories import HistoryCommit, HistoryFile, Signature
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.pulls.api.routes import number_and_form, require_target, text_of


class CommitUser(msgspec.Struct):
    """A person in a commit."""

    name: str
    email: str
    date: datetime


class CommitMeta(msgspec.Struct):
    url: str
    sha: str
    created: datetime


class RepoCommit(msgspec.Struct):
    url: str
    author: CommitUser
    committer: CommitUser
    message: str
    tree: CommitMeta
    verification: Verification | None


class CommitStats(msgspec.Struct):
    """Lines that a commit adds and deletes, against its first parent."""

    total: int
    additions: int
    deletions: int


class PullCommit(msgspec.Struct):
    """A commit. ``author`` and ``committer`` are accounts, or None if no account has the address."""

    url: str
    sha: str
    created: datetime
    html_url: str
    commit: RepoCommit
    author: User | None
    committer: User | None
    parents: list[CommitMeta]
    files: list[HistoryFile] | None = None
    stats: CommitStats | None = None


class ChangedFile(msgspec.Struct):
    filename: str
    status: str
    additions: int
    deletions: int
    changes: int
    html_url: str
    contents_url: str
    raw_url: str
    previous_filename: str = ""


@get(
    "/pulls/{index:int}/commits",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullRequestCommits",
    tags=["repository"],
)
async def list_commits(
    request: IssuesRequest, index: int, files: str = "", stat: str = "", verification: str = ""
) -> Response[list[PullCommit]]:
    """List commits of the head that the base lacked, latest first.

    `files`, `stat` and `verification` add the changed files, line counts and signatures. They are on by
    default.
    """
    with_files, with_stats = queries.truth(files or "true"), queries.truth(stat or "true")
    pull, page = await pull_of(request, index), request.page()
    history = await request.components.repos.history(
        request.repository_id,
        pull.merge_base,
        pull.head_sha,
        request.principal_token,
        offset=page.offset,
        limit=page.limit,
        changes=with_files or with_stats,
        verification=queries.truth(verification or "true"),
        base_tip=pull.base_sha,
    )
    logins = {side.login for commit in history.commits for side in (commit.author, commit.committer)}
    async with request.db.read() as db:
        ids_by_login = await accounts.user_ids_by_login(db, sorted(logins - {""}))
        people = await accounts.get_people(db, ids_by_login.values())
    presenter, full_name = request.presenter, request.access.repository.full_name
    users = {login: presenter.user(people.get(account_id)) for login, account_id in ids_by_login.items()}
    root = f"{presenter.root}api/v1/repos/{full_name}/git"
    pages = f"{presenter.root}{full_name}/commit"
    page_commits = [_commit(commit, users, root, pages) for commit in history.commits]
    for shown, commit in zip(page_commits, history.commits, strict=True):
        if commit.changes is not None:
            added, deleted = commit.changes.additions, commit.changes.deletions
            shown.files = commit.changes.files if with_files else None
            shown.stats = CommitStats(added + deleted, added, deleted) if with_stats else None
    return Response(page_commits, headers=request.page_headers(page, history.total))


def _commit(commit: HistoryCommit, users: dict[str, User], root: str, pages: str) -> PullCommit:
    def meta(kind: str, sha: str) -> CommitMeta:
        return CommitMeta(url=f"{root}/{kind}/{sha}", sha=sha, created=commit.committer.when)

    def signed(side: Signature) -> CommitUser:
        return CommitUser(name=side.name, email=side.email, date=side.when)

    return PullCommit(
        url=f"{root}/commits/{commit.sha}",
        sha=commit.sha,
        created=commit.committer.when,
        html_url=f"{pages}/{commit.sha}",
        commit=RepoCommit(
            url=f"{root}/commits/{commit.sha}",
            author=signed(commit.author),
            committer=signed(commit.committer),
            message=commit.message,
            tree=meta("trees", commit.tree),
            verification=commit.verification,
        ),
        author=users.get(commit.author.login.lower()),
        committer=users.get(commit.committer.login.lower()),
        parents=[meta("commits", parent) for parent in commit.parents],
    )


@get(
    "/pulls/{index:int}/files",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullRequestFiles",
    tags=["repository"],
)
async def list_files(
    request: IssuesRequest,
    index: int,
    skip_to: Annotated[str, QueryParameter(name="skip-to")] = "",
    whitespace: str = "",
    commit_id: str = "",
    base_branch: str = "",
    merge_base: str = "",
) -> Response[list[ChangedFile]]:
    """List the changed files of a pull request by path. `skip-to` is the path of the first listed file.

    `whitespace` ignores changes in white space: `ignore-all` all, `ignore-change` changes in its amount,
    `ignore-eol` changes at line ends. Files without other changes are omitted. The status is 409 if
    `commit_id`, `base_branch` or `merge_base` is not the current value.
    """
    pull, page = await pull_of(request, index), request.page()
    require_target(pull, commit_id, base_branch, merge_base)
    changed = await request.components.repos.files(
        request.repository_id,
        pull.merge_base,
        pull.head_sha,
        request.principal_token,
        offset=page.offset,
        limit=page.limit,
        whitespace=queries.ignored_whitespace(whitespace),
        skip_to=queries.storable(skip_to),
    )
    page_files = [_file(request, file, pull) for file in changed.files]
    return Response(page_files, headers=request.page_headers(page, changed.total))


def _file(request: IssuesRequest, file: ChangedPath, pull: PullDetails) -> ChangedFile:
    full_name, path = request.access.repository.full_name, quote(file.path)
    sha = pull.merge_base if file.status == "deleted" else pull.head_sha
    return ChangedFile(
        filename=file.path,
        previous_filename=file.previous,
        status="changed" if file.status in ("modified", "type-changed") else file.status,
        additions=file.additions,
        deletions=file.deletions,
        changes=file.additions + file.deletions,
        html_url=f"{request.presenter.root}{full_name}/src/commit/{sha}/{path}",
        contents_url=f"{request.presenter.root}api/v1/repos/{full_name}/contents/{path}?ref={sha}",
        raw_url=f"{request.presenter.root}api/v1/repos/{full_name}/raw/{sha}/{path}",
    )


@get(
    "/pulls/{index:str}",
    policy=in_repository("read", "read:repository", "pulls"),
    include_in_schema=False,
)
async def get_text(
    request: IssuesRequest,
    index: str,
    binary: bool = False,
    commit_id: str = "",
    base_branch: str = "",
    merge_base: str = "",
) -> Response[Any]:
    """Get `7.diff` or `7.patch`: the targets of `diff_url` and `patch_url`."""
    number, form = number_and_form(index)
    if form is None:
        raise NotFound
    pull = await pull_of(request, number)
    require_target(pull, commit_id, base_branch, merge_base)
    return await text_of(request, pull, form, binary=binary)


routes = [list_commits, list_files]
pages = [get_text]
