"""For issues: what a pull request is made of, which repositories somebody sees, and taking a head branch away."""

import asyncio
from typing import Literal

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import BadRequest, Conflict, NotFound, Unavailable
from ingot_chassis.policy import services
from ingot_contracts.pulls import ChangedPath, ChangedPaths, History, HistoryCommit, Signature
from ingot_contracts.repos import MOST_IDS, Seen
from ingot_repos.api.call import Call
from ingot_repos.api.internal import BRANCHES as BRANCHES_SEGMENT
from ingot_repos.api.internal import is_id, somebody
from ingot_repos.core import access
from ingot_repos.core.views import addresses
from ingot_repos.git import compare
from ingot_repos.git.commits import CommitInfo, Person
from ingot_repos.git.errors import (
    GitFailed,
    GitTimedOut,
    InvalidName,
    ObjectNotFound,
    OutputTooLarge,
    RefMoved,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_repos.git.objects import is_reachable
from ingot_repos.git.refs import BRANCHES, delete_branch
from ingot_repos.store import accounts, repositories

ISSUES = services("issues")
MOST_COMMITS = 1000


@get(
    "/internal/repositories/{first:str}/{second:str}",
    policy=ISSUES,
    include_in_schema=False,
)
async def between(
    request: Call,
    first: str,
    second: str,
    base: str,
    head: str,
    unattended: bool = False,
    offset: int = 0,
    limit: int = 50,
) -> Response[bytes]:
    """``{id}/diff?format=diff|patch``, ``{id}/commits`` or ``{id}/files``, from ``base`` to ``head``.

    Both are commits of the history; an empty base is nothing at all. ``unattended`` is for a worker of issues.
    """
    if not is_id(first) or second not in ("diff", "commits", "files"):
        raise NotFound
    repository_id = int(first)
    wanted = request.unattended if unattended else request.repository_by_id
    request.require_on_disk(await wanted(repository_id))
    if not unattended:
        request.take_place()
    try:
        for commit in filter(None, (base, head)):
            if not await request.storage.call(repository_id, is_reachable, commit):
                raise NotFound("there is no such commit")
        if second == "commits":
            found = await _commits(
                request, repository_id, base, head, max(offset, 0), min(limit, MOST_COMMITS)
            )
            return Response(msgspec.json.encode(found), media_type="application/json")
        if second == "files":
            changed = await _files(request, repository_id, base, head, max(offset, 0), limit)
            return Response(msgspec.json.encode(changed), media_type="application/json")
        form: Literal["diff", "patch"] = "patch" if request.query_params.get("format") == "patch" else "diff"
        made = compare.patch_text if form == "patch" else compare.diff_text
        return Response(await made(request.storage.path(repository_id), base, head), media_type="text/plain")
    except (InvalidName, GitFailed, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    except (OutputTooLarge, GitTimedOut) as error:
        raise Unavailable("the text is too large") from error


async def _commits(
    request: Call, repository_id: int, base: str, head: str, offset: int, limit: int
) -> History:
    found, total = await request.storage.call(
        repository_id, compare.history, base, head, offset=offset, limit=limit
    )
    async with request.db.read() as db:
        logins = await accounts.logins_by_email(db, addresses(*found))

    def signed(person: Person) -> Signature:
        login = logins.get(person.email.lower(), "")
        return Signature(name=person.name, email=person.email, when=person.when, login=login)

    def told(commit: CommitInfo) -> HistoryCommit:
        return HistoryCommit(
            sha=commit.oid,
            tree=commit.tree,
            parents=list(commit.parents),
            message=commit.message,
            author=signed(commit.author),
            committer=signed(commit.committer),
        )

    return History(commits=[told(commit) for commit in found], total=total)


async def _files(
    request: Call, repository_id: int, base: str, head: str, offset: int, limit: int
) -> ChangedPaths:
    found = await asyncio.to_thread(compare.changed_files, request.storage.path(repository_id), base, head)
    if found is None:
        raise Unavailable("the list of files is too large")
    shown = [
        ChangedPath(
            path=file.path,
            previous=file.old_path or "",
            status=file.status,
            additions=file.additions or 0,
            deletions=file.deletions or 0,
        )
        for file in found[offset : offset + max(limit, 0)]
    ]
    return ChangedPaths(files=shown, total=len(found))


@delete(
    "/internal/repositories/{first:str}/{second:str}/{rest:path}",
    policy=ISSUES,
    include_in_schema=False,
)
async def take_branch(
    request: Call,
    first: str,
    second: str,
    rest: str,  # noqa: ARG001
    tip: str,
    user: str = "",
) -> None:
    """``{id}/branches/{branch}?tip=``: delete a branch that still holds ``tip``.

    The forwarded person does it, and needs write access; or ``user``, who is not calling now.
    """
    if not is_id(first) or second != BRANCHES_SEGMENT:
        raise NotFound
    if user:
        request.scope["principal"] = await somebody(request, user)  # type: ignore[typeddict-unknown-key]
    found = await request.repository_by_id(int(first), "write")
    access.require_open(found.row)
    request.require_on_disk(found)
    name = request.rest_of_path(4)
    if name == found.row.default_branch:
        raise Conflict("the default branch is not deleted")
    who = await request.own_account()
    pushes = request.parts.pushes
    async with pushes.turn(found.id), pushes.journaled(found.id, who.id, [BRANCHES + name]) as push_id:
        try:
            await request.storage.call(found.id, delete_branch, name, tip)
        except RefMoved:
            raise Conflict("the branch has moved") from None
        except (RefNotFound, InvalidName, RepositoryNotFound):
            raise NotFound("there is no such branch") from None
        finally:
            await asyncio.shield(pushes.settle(push_id))


@post("/internal/seen", policy=ISSUES, include_in_schema=False, status_code=200)
async def seen(request: Call, data: Seen) -> Seen:
    """Of these repositories, those that the forwarded person may read."""
    if len(data.ids) > MOST_IDS:
        raise BadRequest(f"more than {MOST_IDS} ids")
    async with request.db.read() as db:
        rows = await repositories.parents(db, access.viewer(request.who), data.ids)
    return Seen(ids=sorted(rows))


routes = [between, take_branch, seen]
