"""Fetches the head of a pull request into its base repository, or compares it in place."""

import asyncio
import secrets
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pygit2

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.errors import GitFailed, InvalidName, RefMoved, RefNotFound
from ingot_git.refs.ref_locks import remove_old_locks
from ingot_git.refs.refs import (
    BRANCHES,
    delete_ref,
    get_branch,
    is_object_id,
    is_valid_ref_name,
    ref_target,
    set_ref,
)
from ingot_git.storage.packs import in_use
from ingot_git.storage.scratch import ScratchRepository, make_folder
from ingot_git.storage.storage import Storage

_T = TypeVar("_T")
MoveBlock = Callable[[], AbstractAsyncContextManager[Any]]
"""A block in which an unannounced ref may move."""

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

    If the repository already has them, this is one call in one thread and starts no git process.

    Args:
        storage: has both repositories.
        target_id: the repository that gets the commits.
        act: takes the repository and the id of the branch's tip; returns plain values, never None.
        source_id: the repository that has the branch; may be the same.
        branch: short name.
        keep_ref: full name of a ref that is set to the tip, which protects the commits from pruning.
        moving: the block in which `keep_ref` moves; not entered if the ref is already at the tip.

    Raises:
        RefNotFound: the branch does not exist.
        RefMoved: another process moves `keep_ref`.
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
    """The tip of a branch, read in place together with the target's commits (see `borrowed_head`)."""

    def __init__(self, storage: Storage, target_id: int, source_id: int, branch: str) -> None:
        self._storage, self._target_id, self._source_id = storage, target_id, source_id
        self._branch = branch
        self.tip = ""
        """The id of the tip, read by the first ``act``; empty before."""
        self._folder: Path | None = None
        self._in_use, self._is_closed = threading.Lock(), False

    async def act(self, function: Callable[[pygit2.Repository, str], _T]) -> _T:
        """Call a function with the target and the id of the tip. Return its result.

        The function can read the objects that earlier calls wrote.

        Raises:
            RefNotFound: the branch does not exist.
        """
        return await self._storage.call(self._target_id, self._act, function)

    async def copy_commit(self, oid: str) -> None:
        """Copy a commit (full id) that ``act`` wrote, and the objects that it needs, into the target.

        The history of the tip is fetched first. No ref is created: the caller must create one. Any user with
        write access to the target can reference the commit. So check all results of ``act`` first.

        Raises:
            RefMoved: the source no longer has the tip.
            UnsafeObject: a push may not contain one of the objects.
            GitFailed, GitTimedOut: the commits could not be fetched.
        """
        store = partial(_store, oid)
        if self._source_id == self._target_id:
            await self.act(store)
            return
        ref = f"refs/scratch/{secrets.token_hex(8)}"
        paths = self._storage.path(self._target_id), self._storage.path(self._source_id)
        try:
            await asyncio.to_thread(fetch_from, *paths, self.tip, ref)
            await self.act(store)
        finally:
            await self._storage.call(self._target_id, delete_ref, ref)

    def close(self) -> None:
        """Remove the written objects. If a function of ``act`` still runs, remove them when it has ended.

        The function needs the folder of the objects: without it, libgit2 would write into the target.
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
        # If libgit2 hangs, the repository is unknown: git checks the source first.
        with self._storage.watch.reading(self._source_id):
            view = self._view(target, self._storage.open(self._source_id))
            view.add_alternate(self._storage.path(self._source_id) / "objects")
            return function(view, self.tip)

    def _view(self, target: pygit2.Repository, source: pygit2.Repository) -> ScratchRepository:
        self.tip = self.tip or get_branch(source, self._branch).oid
        self._folder = self._folder or make_folder(target)
        return ScratchRepository(target.path, self._folder)


@asynccontextmanager
async def borrowed_head(
    storage: Storage, target_id: int, *, source_id: int, branch: str
) -> AsyncIterator[BorrowedHead]:
    """Yield a head whose commits can be read together with the target's commits.

    The target gets no objects and no ref moves: objects of a test merge are discarded. A user with write
    access to the target could reference remaining objects, even without access to the source.

    For the arguments see `with_head`; for git processes see `alternate_environment`.
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
    """Enter `borrowed_head`, call ``act`` once and return its result."""
    async with borrowed_head(storage, target_id, source_id=source_id, branch=branch) as head:
        return await head.act(act)


def _store(oid: str, view: pygit2.Repository, _tip: str) -> None:
    if isinstance(view, ScratchRepository):
        view.keep(oid)
        view.move_objects()


def alternate_environment(alternate: Path | None) -> dict[str, str] | None:
    """Return the environment of a git process that also reads another repository's objects.

    Return None if ``alternate`` is None.
    """
    if alternate is None:
        return None
    return clean_environment({"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(alternate / "objects")})


def local_head(repo: pygit2.Repository, source: pygit2.Repository, branch: str, keep_ref: str) -> str | None:
    """Return the tip of a branch of ``source`` if ``keep_ref`` is at the tip; None if it must be fetched.

    Args:
        repo: the bare repository that gets the commits.
        source: the repository that has the branch; may be the same object.
        branch: short name.
        keep_ref: full name of the ref that keeps the tip.

    Raises:
        RefNotFound: the branch does not exist.
    """
    tip = get_branch(source, branch).oid
    return tip if ref_target(repo, keep_ref) == tip else None


def fetch_from(target: Path, source: Path, ref_or_oid: str, target_ref: str) -> str:
    """Fetch a commit with its history from one repository into another and return its id. Blocks.

    Args:
        target: the bare repository that gets the objects; may be the same as `source`.
        source: the bare repository that has the commit, on the same storage.
        ref_or_oid: full name of the ref, or the full id.
        target_ref: full name, such as `refs/pull/7/head`; overwritten.

    Raises:
        InvalidName: one of the names is not a full ref name.
        RefNotFound: the source does not have the ref.
        RefMoved: the source no longer has the id, or another process moves the ref in the target.
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
        with in_use(target):  # git does not fetch existing objects, even if they wait for pruning
            run_git(
                GitArgs("fetch", options, (str(source), f"+{ref_or_oid}:{target_ref}")),
                git_dir=target,
                environment=clean_environment(protocols=("file",)),
                time_limit=_FETCH_SECONDS,
            )
    except GitFailed as error:
        if "not our ref" in error.stderr:
            raise RefMoved("the source no longer has the commit") from error
        if "cannot lock ref" not in error.stderr:
            raise
        if not remove_old_locks(target, [target_ref]):
            raise RefMoved("another process moves the ref; try again") from error
        return fetch_from(target, source, ref_or_oid, target_ref)
    fetched = ref_target(pygit2.Repository(str(target)), target_ref)
    if fetched is None:
        raise RefMoved("the ref was deleted in the meantime")
    return fetched
