"""Bringing the head of a pull request into the repository that it is proposed for."""

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pygit2

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.errors import InvalidName, RefMoved, RefNotFound
from ingot_repos.git.refs import BRANCHES, forget_ref, get_branch, is_valid_ref_name, put_ref, ref_target
from ingot_repos.git.storage import Storage

_T = TypeVar("_T")

_FETCH_SECONDS = 600.0


async def with_head(
    storage: Storage,
    target_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    source_id: int,
    branch: str,
    kept: str,
) -> _T:
    """What ``act`` makes of a repository and the tip of a branch, once the commits of that are there.

    If they are there already, all of it is one call in one thread and starts no git.

    Args:
        storage: what holds both.
        target_id: the repository that receives.
        act: gets the repository and the id of the tip; answers plain values, and never None.
        source_id: the repository that has the branch; may be the same.
        branch: short name.
        kept: full name of the ref that keeps the tip from now on; empty for none.

    Raises:
        RefNotFound: there is no such branch.
        GitFailed, GitTimedOut: the commits could not be brought over.
    """

    def here(repo: pygit2.Repository) -> _T | None:
        source = repo if source_id == target_id else storage.open(source_id)
        tip = head_here(repo, source, branch, kept)
        return None if tip is None else act(repo, tip)

    done = await storage.call(target_id, here)
    if done is not None:
        return done
    ref = kept or f"refs/scratch/{secrets.token_hex(8)}"
    source, target = storage.path(source_id), storage.path(target_id)
    try:
        tip = await asyncio.to_thread(fetch_from, target, source, BRANCHES + branch, ref)
        return await storage.call(target_id, act, tip)
    finally:
        if not kept:
            await storage.call(target_id, forget_ref, ref)


def head_here(repo: pygit2.Repository, source: pygit2.Repository, branch: str, kept: str) -> str | None:
    """The tip of a branch of ``source``, when all its history is in ``repo``; None when it has to be fetched.

    Args:
        repo: the bare repository that receives.
        source: the one that has the branch; may be the same object.
        branch: short name.
        kept: full name of the ref that keeps the tip from now on; empty for none.

    Raises:
        RefNotFound: there is no such branch.
    """
    tip = get_branch(source, branch).oid
    if source is not repo:
        return tip if kept and ref_target(repo, kept) == tip else None
    if kept:
        put_ref(repo, kept, tip)
    return tip


def fetch_from(target: Path, source: Path, source_ref: str, target_ref: str) -> str:
    """Bring a ref of one repository, with its objects, into another; returns its id. Blocks.

    Args:
        target: the bare repository that receives; may be the same as `source`.
        source: the bare repository on this storage that gives.
        source_ref: full name.
        target_ref: full name, moved without regard to what it held, such as `refs/pull/7/head`.

    Raises:
        InvalidName: one of the names is not a full ref name.
        RefNotFound: the source has no such ref.
        GitFailed, GitTimedOut: the objects could not be brought over.
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
    run_git(
        GitArgs("fetch", options, (str(source), f"+{source_ref}:{target_ref}")),
        git_dir=target,
        environment=clean_environment(protocols=("file",)),
        time_limit=_FETCH_SECONDS,
    )
    fetched = ref_target(pygit2.Repository(str(target)), target_ref)
    if fetched is None:
        raise RefMoved("the ref was taken away meanwhile")
    return fetched
