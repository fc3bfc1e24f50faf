"""Brings the head of a pull request into its base repository, or compares a head with it where it is."""

import asyncio
import secrets
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import pygit2

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.errors import GitFailed, InvalidName, RefMoved, RefNotFound
from ingot_repos.git.packs import in_use
from ingot_repos.git.ref_locks import remove_old_locks
from ingot_repos.git.refs import (
    BRANCHES,
    delete_ref,
    get_branch,
    is_object_id,
    is_valid_ref_name,
    ref_target,
    set_ref,
)
from ingot_repos.git.scratch import ScratchRepository, make_folder
from ingot_repos.git.storage import Storage

_T = TypeVar("_T")
MoveBlock = Callable[[], AbstractAsyncContextManager[Any]]
"""A block in which a ref may move that nobody announces."""

_FETCH_SECONDS = 600.0


async def with_head(
    storage: Storage,
    target_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    source_id: int,
    branch: str,
    keep_ref: str,
    moving: MoveBlock = nullcontext,
) -> _T:
    """Make the commits of a branch available in a repository and return the result of ``act``.

    If the repository has them already, this is one call in one thread and starts no git.

    Args:
        storage: has both repositories.
        target_id: the repository that gets the commits.
        act: gets the repository and the id of the branch's tip; returns plain values, and never None.
        source_id: the repository that has the branch; may be the same.
        branch: short name.
        keep_ref: full name of the ref that is set to the tip and keeps it.
        moving: the block in which `keep_ref` moves; it is not entered where that is at the tip already.

    Raises:
        RefNotFound: there is no such branch.
        RefMoved: somebody else moves `keep_ref`.
        GitFailed, GitTimedOut: the commits could not be fetched.
    """

    def act_locally(repo: pygit2.Repository) -> _T | None:
        if source_id == target_id:
            tip = local_head(repo, repo, branch, keep_ref)
        else:
            with storage.watch.reading(source_id):
                tip = local_head(repo, storage.open(source_id), branch, keep_ref)
        return None if tip is None else act(repo, tip)

    def keep_and_act(repo: pygit2.Repository) -> _T:
        tip = get_branch(repo, branch).oid
        set_ref(repo, keep_ref, tip)
        return act(repo, tip)

    result = await storage.call(target_id, act_locally)
    if result is not None:
        return result
    async with moving():
        if source_id == target_id:
            return await storage.call(target_id, keep_and_act)
        paths = storage.path(target_id), storage.path(source_id)
        tip = await asyncio.to_thread(fetch_from, *paths, BRANCHES + branch, keep_ref)
        return await storage.call(target_id, act, tip)


class BorrowedHead:
    """The tip of a branch, whose commits are read where they are, beside those of the target (see `borrowed_head`)."""

    def __init__(self, storage: Storage, target_id: int, source_id: int, branch: str) -> None:
        self._storage, self._target_id, self._source_id = storage, target_id, source_id
        self._branch = branch
        self.tip = ""
        """Its id as the first ``act`` reads it; empty before."""
        self._folder: Path | None = None
        self._in_use, self._is_closed = threading.Lock(), False

    async def act(self, function: Callable[[pygit2.Repository, str], _T]) -> _T:
        """The result of a function that gets the target and the tip. It reads what an earlier one has written.

        Raises:
            RefNotFound: there is no such branch.
        """
        return await self._storage.call(self._target_id, self._act, function)

    def close(self) -> None:
        """Remove what was written, now or when the function ends that still runs, although nobody waits for it any more.

        Without its folder libgit2 would write into the target.
        """
        self._is_closed = True
        if self._in_use.acquire(blocking=False):
            self._remove()
            self._in_use.release()

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _act(self, target: pygit2.Repository, function: Callable[[pygit2.Repository, str], _T]) -> _T:
        try:
            with self._in_use:
                return self._act_on_both(target, function)
        finally:
            if self._is_closed:
                self._remove()

    def _act_on_both(self, target: pygit2.Repository, function: Callable[[pygit2.Repository, str], _T]) -> _T:
        if self._source_id == self._target_id:
            return function(self._view(target, target), self.tip)
        # Nobody can say in which of the two libgit2 hangs: git looks at the source first.
        with self._storage.watch.reading(self._source_id):
            view = self._view(target, self._storage.open(self._source_id))
            view.odb.add_disk_alternate(str(self._storage.path(self._source_id) / "objects"))
            return function(view, self.tip)

    def _view(self, target: pygit2.Repository, source: pygit2.Repository) -> pygit2.Repository:
        self.tip = self.tip or get_branch(source, self._branch).oid
        self._folder = self._folder or make_folder(target)
        return ScratchRepository(target.path, self._folder)


@asynccontextmanager
async def borrowed_head(
    storage: Storage, target_id: int, *, source_id: int, branch: str
) -> AsyncIterator[BorrowedHead]:
    """Inside the block the commits of a branch can be read beside those of the target.

    Nothing is written to the target, nor a ref moved: what a merge makes is gone afterwards. Objects that stayed there without
    a ref could be named by whoever may push to it, and need not be able to read the source. Arguments are those of
    `with_head`; for git see `borrowing`.
    """
    head = BorrowedHead(storage, target_id, source_id, branch)
    try:
        yield head
    finally:
        await asyncio.to_thread(head.close)


async def with_borrowed_head(
    storage: Storage,
    target_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    source_id: int,
    branch: str,
) -> _T:
    """The result of one ``act`` inside `borrowed_head`."""
    async with borrowed_head(storage, target_id, source_id=source_id, branch=branch) as head:
        return await head.act(act)


async def with_commit(
    storage: Storage,
    target_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    source_id: int,
    oid: str,
) -> _T:
    """Bring a commit (full id) with its history from another repository, and return the result of ``act``.

    No ref keeps it afterwards: whoever may push to the target can name it there, so try first, in `borrowed_head`, what may fail.

    Raises:
        RefMoved: the source does not have it any more.
        GitFailed, GitTimedOut: the commits could not be fetched.
    """
    if source_id == target_id:
        return await storage.call(target_id, act, oid)
    ref = f"refs/scratch/{secrets.token_hex(8)}"
    try:
        await asyncio.to_thread(fetch_from, storage.path(target_id), storage.path(source_id), oid, ref)
        return await storage.call(target_id, act, oid)
    finally:
        await storage.call(target_id, delete_ref, ref)


def borrowing(lender: Path | None) -> dict[str, str] | None:
    """The environment of a git that reads the objects of another repository beside its own; None for one that does not."""
    if lender is None:
        return None
    return clean_environment({"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(lender / "objects")})


def local_head(repo: pygit2.Repository, source: pygit2.Repository, branch: str, keep_ref: str) -> str | None:
    """The tip of a branch of ``source`` if all its history is in ``repo`` and kept; None if it has to be fetched or kept.

    Args:
        repo: the bare repository that gets the commits.
        source: the repository that has the branch; may be the same object.
        branch: short name.
        keep_ref: full name of the ref that keeps the tip.

    Raises:
        RefNotFound: there is no such branch.
    """
    tip = get_branch(source, branch).oid
    return tip if ref_target(repo, keep_ref) == tip else None


def fetch_from(target: Path, source: Path, ref_or_oid: str, target_ref: str) -> str:
    """Fetch a commit of one repository, with its history, into another and return its id. Blocks.

    Args:
        target: the bare repository that gets the objects; may be the same as `source`.
        source: the bare repository that has the commit, on the same storage.
        ref_or_oid: full name of the ref, or the full id.
        target_ref: full name, such as `refs/pull/7/head`; it is set whatever its value was.

    Raises:
        InvalidName: one of the names is not a full ref name.
        RefNotFound: the source has no such ref.
        RefMoved: the source does not have the id any more; or somebody else moves the ref in the target.
        GitFailed, GitTimedOut: the objects could not be fetched.
    """
    is_ref = not is_object_id(ref_or_oid)
    for name in (ref_or_oid, target_ref) if is_ref else (target_ref,):
        if not name.startswith("refs/") or not is_valid_ref_name(name):
            raise InvalidName(f"not a full ref name: {name!r}")
    if is_ref and ref_target(pygit2.Repository(str(source)), ref_or_oid) is None:
        raise RefNotFound("no such ref in the source")
    options = (
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--quiet",
    )
    try:
        with in_use(target):  # git fetches nothing that is there, although it may wait to be pruned
            run_git(
                GitArgs("fetch", options, (str(source), f"+{ref_or_oid}:{target_ref}")),
                git_dir=target,
                environment=clean_environment(protocols=("file",)),
                time_limit=_FETCH_SECONDS,
            )
    except GitFailed as error:
        if "not our ref" in error.stderr:
            raise RefMoved("the source does not have the commit any more") from error
        if "cannot lock ref" not in error.stderr:
            raise
        if not remove_old_locks(target, [target_ref]):
            raise RefMoved("somebody else moves the ref") from error
        return fetch_from(target, source, ref_or_oid, target_ref)
    fetched = ref_target(pygit2.Repository(str(target)), target_ref)
    if fetched is None:
        raise RefMoved("the ref was deleted meanwhile")
    return fetched
