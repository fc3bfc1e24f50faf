"""Blame: the commit of each line of a file."""

from datetime import datetime

import msgspec
from litestar import get

from ingot_chassis.errors import NotFound, TooLarge, Unavailable
from ingot_contracts.identity.accounts import User
from ingot_git.history.blame import Blame, BlamedCommit, blame, file_to_blame
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    GitTooExpensive,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.views import CodePresenter, named_or_default
from ingot_repos.commits.store import authors as commit_authors


class BlameCommit(msgspec.Struct):
    """A commit that last changed some lines. ``author`` is the account with the author's address.

    ``path`` is the file in that commit. ``previous_sha`` and ``previous_path`` name its earlier version;
    empty for a new file.
    """

    sha: str
    url: str
    title: str
    created: datetime
    author_name: str
    author: User | None
    path: str
    previous_sha: str
    previous_path: str


class BlameLines(msgspec.Struct):
    """A run of ``count`` lines of one commit, starting with line ``first``."""

    first: int
    count: int
    sha: str


class FileBlame(msgspec.Struct):
    """All lines of a file, and the commits that they come from."""

    lines: list[BlameLines]
    commits: list[BlameCommit]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/blame/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetBlame",
    tags=["repository"],
)
async def get_blame(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
    ref: str = "",
) -> FileBlame:
    """Get the commit of each line of a file at a branch, tag or commit. Large files are rejected."""
    repository, path = request.resource, request.rest_of_path(6)
    name = named_or_default(request, ref)
    try:
        commit, oid = await request.storage.call(repository.id, file_to_blame, name, path)
        remembered: Blame | None = request.part(ReadCache).blames.get((commit, oid, path))
        if remembered is None:
            request.acquire_slot()
            remembered = await blame(request.storage.path(repository.id), commit, path)
            request.part(ReadCache).blames.put((commit, oid, path), remembered, size=remembered.weight)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound, InvalidName):
        raise NotFound from None
    except OutputTooLarge as error:
        raise TooLarge(str(error)) from None
    except GitTooExpensive as error:
        raise TooLarge("the history of the file is too long for one response") from error
    except (GitFailed, GitTimedOut) as error:
        raise Unavailable("the history of the file could not be read in time; try again") from error
    return await _present(request, remembered)


async def _present(request: RepositoryRequest, result: Blame) -> FileBlame:
    addresses = {commit.author_email.lower() for commit in result.commits if commit.author_email}
    async with request.db.read() as db:
        rows = await commit_authors.users_by_email(db, addresses)
    users = {address: request.presenter.user(row) for address, row in rows.items()}
    presenter = CodePresenter.of(request)
    return FileBlame(
        lines=[BlameLines(run.first, run.count, run.sha) for run in result.lines],
        commits=[
            _commit(commit, presenter, users.get(commit.author_email.lower())) for commit in result.commits
        ],
    )


def _commit(commit: BlamedCommit, presenter: CodePresenter, author: User | None) -> BlameCommit:
    return BlameCommit(
        sha=commit.sha,
        url=presenter.commit_url(commit.sha),
        title=commit.title,
        created=commit.created,
        author_name=commit.author_name,
        author=author,
        path=commit.path,
        previous_sha=commit.previous,
        previous_path=commit.previous_path,
    )


routes = [get_blame]
