"""What a pull request is made of: its commits, its files, and both as text where people look at it."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.identity import User
from ingot_contracts.pulls import ChangedPath, HistoryCommit, Signature
from ingot_issues.api.call import Call
from ingot_issues.api.pulls import number_and_form, pull_row, text_of
from ingot_issues.store import accounts
from ingot_issues.store.surroundings import people


class CommitUser(msgspec.Struct):
    """As git has it."""

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


class PullCommit(msgspec.Struct):
    """``author`` and ``committer`` are accounts, or None where no account has the address."""

    url: str
    sha: str
    created: datetime
    html_url: str
    commit: RepoCommit
    author: User | None
    committer: User | None
    parents: list[CommitMeta]


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
    policy=resource("read", "read:repository"),
    unit="pulls",
    operation_id="repoGetPullRequestCommits",
    tags=["repository"],
)
async def list_commits(request: Call, index: int) -> Response[list[PullCommit]]:
    """Commits that the head has and the base had not, newest first."""
    row, page = await pull_row(request, index), request.page()
    found = await request.repos.history(
        request.repository_id,
        row.merge_base,
        row.head_sha,
        request.statement,
        offset=page.offset,
        limit=page.limit,
    )
    logins = {side.login for commit in found.commits for side in (commit.author, commit.committer)}
    async with request.db.read() as db:
        known = await accounts.users_by_login(db, sorted(logins - {""}))
        around = await people(db, known.values())
    users = {login: request.viewing.user(account_id, around) for login, account_id in known.items()}
    root = f"{request.viewing.root}api/v1/repos/{request.access.repository.full_name}/git"
    pages = f"{request.viewing.root}{request.access.repository.full_name}/commit"
    shown = [_commit(commit, users, root, pages) for commit in found.commits]
    return Response(shown, headers=request.page_headers(page, found.total))


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
        ),
        author=users.get(commit.author.login.lower()),
        committer=users.get(commit.committer.login.lower()),
        parents=[meta("commits", parent) for parent in commit.parents],
    )


@get(
    "/pulls/{index:int}/files",
    policy=resource("read", "read:repository"),
    unit="pulls",
    operation_id="repoGetPullRequestFiles",
    tags=["repository"],
)
async def list_files(request: Call, index: int) -> Response[list[ChangedFile]]:
    """Files that the pull request changes, by path."""
    row, page = await pull_row(request, index), request.page()
    found = await request.repos.files(
        request.repository_id,
        row.merge_base,
        row.head_sha,
        request.statement,
        offset=page.offset,
        limit=page.limit,
    )
    shown = [_file(request, file, row) for file in found.files]
    return Response(shown, headers=request.page_headers(page, found.total))


def _file(request: Call, file: ChangedPath, row: Any) -> ChangedFile:
    full_name, path = request.access.repository.full_name, quote(file.path)
    sha = row.merge_base if file.status == "deleted" else row.head_sha
    return ChangedFile(
        filename=file.path,
        previous_filename=file.previous,
        status="changed" if file.status in ("modified", "type-changed") else file.status,
        additions=file.additions,
        deletions=file.deletions,
        changes=file.additions + file.deletions,
        html_url=f"{request.viewing.root}{full_name}/src/commit/{sha}/{path}",
        contents_url=f"{request.viewing.root}api/v1/repos/{full_name}/contents/{path}?ref={sha}",
        raw_url=f"{request.viewing.root}api/v1/repos/{full_name}/raw/{sha}/{path}",
    )


@get(
    "/pulls/{index:str}",
    policy=resource("read", "read:repository"),
    unit="pulls",
    include_in_schema=False,
)
async def get_text(request: Call, index: str) -> Response[Any]:
    """`7.diff` and `7.patch`: what `diff_url` and `patch_url` of a pull request lead to."""
    number, form = number_and_form(index)
    if form is None:
        raise NotFound
    return await text_of(request, await pull_row(request, number), form)


routes = [list_commits, list_files]
pages = [get_text]
