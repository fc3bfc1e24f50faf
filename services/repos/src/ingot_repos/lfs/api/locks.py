"""LFS file locks: a user locks a file, and git-lfs refuses to push changes of this file by other users.

The server itself accepts such pushes, like every other LFS server.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, Router, get, post
from litestar.params import QueryParameter

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.limits import DESCRIPTION_CHARACTERS, Description, Name
from ingot_repos.access.api.error_forms import LFS, for_lfs
from ingot_repos.access.api.policies import own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.lfs.api.objects import ROOT
from ingot_repos.lfs.api.policies import in_lfs
from ingot_repos.lfs.store import locks as lfs_locks
from ingot_repos.lfs.store.locks import LfsLockRow, LockFilter

MOST_LOCKS = 100
"""Limit of locks per response. ``next_cursor`` leads to more."""


class LockOwner(msgspec.Struct):
    name: str


class Lock(msgspec.Struct):
    """A lock. ``locked_at`` is in UTC without fractions of a second."""

    id: str
    path: str
    locked_at: datetime
    owner: LockOwner


class CreateLock(msgspec.Struct):
    path: Description


class VerifyLocks(msgspec.Struct):
    cursor: Name = ""
    limit: int = MOST_LOCKS


class Unlock(msgspec.Struct):
    """A request to unlock. ``force`` deletes the locks of other users, too."""

    force: bool = False


class LockAnswer(msgspec.Struct):
    lock: Lock


class LockConflict(msgspec.Struct):
    """The existing lock that prevents a new one."""

    lock: Lock
    message: str


class LockList(msgspec.Struct, omit_defaults=True):
    locks: list[Lock]
    next_cursor: str = ""


class VerifiedLocks(msgspec.Struct, omit_defaults=True):
    """The locks of the caller and the locks of other users."""

    ours: list[Lock]
    theirs: list[Lock]
    next_cursor: str = ""


@post(ROOT + "/locks", policy=in_lfs("write"), include_in_schema=False, status_code=201)
async def create_lock(
    request: RepositoryRequest, data: CreateLock
) -> Response[LockAnswer] | Response[LockConflict]:
    """Lock a path. The file need not exist."""
    _require_path(data.path)
    if not request.principal.signed_in:
        raise Denied("a deploy key cannot lock a file")
    owner, repository_id = await own_account(request), request.resource.id
    async with request.db.transaction() as tx:
        is_new = await lfs_locks.add(tx, repository_id, data.path, owner.id)
        row = await lfs_locks.get_by_path(tx, repository_id, data.path)
    if row is None:
        raise NotFound
    if not is_new:
        conflict = LockConflict(_lock(row), "already created lock")
        return Response(conflict, status_code=409, media_type=LFS)
    return Response(LockAnswer(_lock(row)), media_type=LFS)


@get(ROOT + "/locks", policy=in_lfs("read"), include_in_schema=False)
async def list_locks(
    request: RepositoryRequest,
    path: str | None = None,
    lock_id: Annotated[str | None, QueryParameter(name="id")] = None,
    cursor: str = "",
    limit: int = MOST_LOCKS,
) -> Response[LockList]:
    """List the locks of a repository, filtered by path or id."""
    if lock_id is not None and not _is_id(lock_id):
        return Response(LockList([]), media_type=LFS)
    lock_filter = LockFilter(path, int(lock_id) if lock_id is not None else None, _position(cursor))
    rows, next_cursor = await _page(request, lock_filter, limit)
    return Response(LockList([_lock(row) for row in rows], next_cursor), media_type=LFS)


@post(ROOT + "/locks/verify", policy=in_lfs("write"), include_in_schema=False, status_code=200)
async def verify_locks(request: RepositoryRequest, data: VerifyLocks) -> Response[VerifiedLocks]:
    """List the locks of the caller and of other users. git-lfs calls this before a push."""
    rows, next_cursor = await _page(request, LockFilter(after=_position(data.cursor)), data.limit)
    caller = request.principal.id
    return Response(
        VerifiedLocks(
            ours=[_lock(row) for row in rows if row.owner_id == caller],
            theirs=[_lock(row) for row in rows if row.owner_id != caller],
            next_cursor=next_cursor,
        ),
        media_type=LFS,
    )


@post(ROOT + "/locks/{lock_id:int}/unlock", policy=in_lfs("write"), include_in_schema=False, status_code=200)
async def unlock(request: RepositoryRequest, lock_id: int, data: Unlock) -> Response[LockAnswer]:
    """Delete a lock of the caller, or with ``force`` of any user."""
    async with request.db.transaction() as tx:
        row = await lfs_locks.get(tx, request.resource.id, lock_id)
        if row is None:
            raise NotFound("there is no such lock")
        if row.owner_id != request.principal.id and not data.force:
            raise Denied(f"{_owner(row)} has locked the file; use force to unlock it")
        await lfs_locks.remove(tx, row.id)
    return Response(LockAnswer(_lock(row)), media_type=LFS)


async def _page(
    request: RepositoryRequest, lock_filter: LockFilter, limit: int
) -> tuple[list[LfsLockRow], str]:
    """Return a page of locks and the cursor of the next page. The cursor of the last page is empty."""
    most = min(limit, MOST_LOCKS) if limit > 0 else MOST_LOCKS
    async with request.db.read() as db:
        rows = list(await lfs_locks.list_after(db, request.resource.id, lock_filter, most + 1))
    return rows[:most], str(rows[most - 1].id) if len(rows) > most else ""


def _position(cursor: str) -> int:
    if cursor and not _is_id(cursor):
        raise Invalid.field("cursor", "format", "is not the next_cursor of an answer")
    return int(cursor or 0)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MAX_ID


def _require_path(path: str) -> None:
    """Raise Invalid for a path that no file can have."""
    if not path or len(path.encode()) > DESCRIPTION_CHARACTERS:
        raise Invalid.field("path", "length", f"has 1 to {DESCRIPTION_CHARACTERS} bytes")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise Invalid.field("path", "format", "must be a relative path from the root of the repository")


def _lock(row: LfsLockRow) -> Lock:
    return Lock(str(row.id), row.path, row.locked_at.replace(microsecond=0), LockOwner(_owner(row)))


def _owner(row: LfsLockRow) -> str:
    return row.owner_login or GHOST.login


ROUTES = Router("/", route_handlers=[create_lock, list_locks, verify_locks, unlock], middleware=[for_lfs])
