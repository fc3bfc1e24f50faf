"""Brings the head of a pull request into its base repository, or compares a head with it where it is."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pygit2

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.errors import InvalidName, RefMoved, RefNotFound
from ingot_repos.git.packs import in_use
from ingot_repos.git.refs import BRANCHES, delete_ref, get_branch, is_valid_ref_name, ref_target, set_ref
from ingot_repos.git.scratch import scratch
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
        keep_ref: full name of the ref that is set to the tip and keeps it; empty for none: then whoever may push to the target can
            name the commits there, so try first what may fail (see `with_borrowed_head`).
        moving: the block in which `keep_ref` moves; it is not entered where that is at the tip already.

    Raises:
        RefNotFound: there is no such branch.
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
    fetch = partial(fetch_from, storage.path(target_id), storage.path(source_id), BRANCHES + branch)
    if keep_ref:
        async with moving():
            if source_id == target_id:
                return await storage.call(target_id, keep_and_act)
            return await storage.call(target_id, act, await asyncio.to_thread(fetch, keep_ref))
    ref = f"refs/scratch/{secrets.token_hex(8)}"
    try:
        return await storage.call(target_id, act, await asyncio.to_thread(fetch, ref))
    finally:
        await storage.call(target_id, delete_ref, ref)


async def with_borrowed_head(
    storage: Storage,
    target_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    source_id: int,
    branch: str,
) -> _T:
    """Return the result of ``act``, which reads the commits of a branch where they are, beside those of the target.

    Nothing is written, nor a ref moved: what a merge makes is gone afterwards. Objects that stayed in the target without a ref
    could be named there by whoever may push to it, and need not be able to read the source. Arguments are those of
    `with_head`; for git see `borrowing`.

    Raises:
        RefNotFound: there is no such branch.
    """

    def act_on_both(target: pygit2.Repository) -> _T:
        if source_id == target_id:
            with scratch(target) as view:
                return act(view, get_branch(view, branch).oid)
        # Nobody can say in which of the two libgit2 hangs: git looks at the source first.
        with storage.watch.reading(source_id):
            tip = get_branch(storage.open(source_id), branch).oid
            with scratch(target) as both:
                both.odb.add_disk_alternate(str(storage.path(source_id) / "objects"))
                return act(both, tip)

    return await storage.call(target_id, act_on_both)


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
        keep_ref: full name of the ref that keeps the tip; empty for none.

    Raises:
        RefNotFound: there is no such branch.
    """
    tip = get_branch(source, branch).oid
    is_there = ref_target(repo, keep_ref) == tip if keep_ref else source is repo
    return tip if is_there else None


def fetch_from(target: Path, source: Path, source_ref: str, target_ref: str) -> str:
    """Fetch a ref of one repository, with its objects, into another and return its id. Blocks.

    Args:
        target: the bare repository that gets the objects; may be the same as `source`.
        source: the bare repository that has the ref, on the same storage.
        source_ref: full name.
        target_ref: full name, such as `refs/pull/7/head`; it is set whatever its value was.

    Raises:
        InvalidName: one of the names is not a full ref name.
        RefNotFound: the source has no such ref.
        GitFailed, GitTimedOut: the objects could not be fetched.
    """
    for name in (source_ref, target_ref):
        if not name.startswith("refs/") or not is_valid_ref_name(name):
            raise InvalidName(f"not a full ref name: {name!r}")
    if ref_target(pygit2.Repository(str(source)), source_ref) is None:
        raise RefNotFound("no such ref in the source")
    options = (
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--quiet",
    )
    with in_use(target):  # git fetches nothing that is there, although it may wait to be pruned
        run_git(
            GitArgs("fetch", options, (str(source), f"+{source_ref}:{target_ref}")),
            git_dir=target,
            environment=clean_environment(protocols=("file",)),
            time_limit=_FETCH_SECONDS,
        )
    fetched = ref_target(pygit2.Repository(str(target)), target_ref)
    if fetched is None:
        raise RefMoved("the ref was deleted meanwhile")
    return fetched
