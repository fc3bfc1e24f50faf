"""Tests if a blob or tree, named by its id, is in the history of a visible ref.

A repository has more objects than its visible history (see `objects.is_reachable`), and only visible objects
are shown. Most ids are in the latest tree of the default branch. So this tree is searched first, in this
process. Then git searches all other objects.
"""

import contextlib
from collections.abc import Collection
from pathlib import Path

import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.process.bodies import replayed
from ingot_git.process.command import GitArgs
from ingot_git.process.errors import RefNotFound
from ingot_git.process.streaming import stream_git
from ingot_git.refs.refs import get_branch
from ingot_git.refs.trees import FOLDER, fits, raw_entries
from ingot_git.storage.read_cache import SharedCache

MOST_ENTRIES = 100_000
_SECONDS = 20.0
_REFS = ("--branches", "--tags", "--glob=refs/pull", "--glob=refs/notes")


def is_in_newest_tree(
    repo: pygit2.Repository, branch: str, oid: str, cache: SharedCache[frozenset[bytes]]
) -> bool:
    """True if the blob or tree was found in the latest tree of a branch.

    Only the first ``MOST_ENTRIES`` entries of the tree are searched. False if the branch does not exist.
    """
    return not outside_newest_tree(repo, branch, {oid}, cache)


def outside_newest_tree(
    repo: pygit2.Repository, branch: str, oids: Collection[str], cache: SharedCache[frozenset[bytes]]
) -> set[str]:
    """Return the objects that were not found in the latest tree of a branch.

    Only the first ``MOST_ENTRIES`` entries of the tree are searched. If the branch does not exist, return all
    objects.
    """
    try:
        root = str(find_commit(repo, get_branch(repo, branch).oid).tree_id)
    except RefNotFound:
        return set(oids)
    objects = cache.get(root)
    if objects is None:
        objects = _objects_of(repo, root)
        cache.put(root, objects, size=len(objects))
    return {oid for oid in oids if bytes.fromhex(oid) not in objects}


async def is_in_history(path: Path, oid: str, *, max_memory: int | None = None) -> bool:
    """True if the history of a visible ref has the object (full id). Raises GitFailed, GitTimedOut.

    ``max_memory``: see `spawn`.
    """
    return not await missing_from_history(path, {oid}, max_memory=max_memory)


async def missing_from_history(
    path: Path, oids: Collection[str], *, tips: Collection[str] | None = None, max_memory: int | None = None
) -> set[str]:
    """Return the objects (full ids) that no history of ``tips`` has. Raises GitFailed, GitTimedOut.

    ``tips`` is None for all visible refs. ``max_memory``: see `spawn`.
    """
    # Without a bitmap, list new objects first.
    options = ("--objects", "--no-object-names", "--use-bitmap-index", "--in-commit-order")
    missing, rest = {oid.encode() for oid in oids}, b""
    async with contextlib.aclosing(
        stream_git(
            GitArgs("rev-list", (*options, *(_REFS if tips is None else ("--stdin",)))),
            git_dir=path,
            body=None if tips is None else replayed("\n".join(tips).encode()),
            time_limit=_SECONDS,
            max_memory=max_memory,
        )
    ) as stream:
        async for chunk in stream:
            lines = (rest + chunk).split(b"\n")
            missing.difference_update(lines)
            if not missing:
                break
            rest = lines[-1]
    return {oid.decode() for oid in missing}


def _objects_of(repo: pygit2.Repository, root: str) -> frozenset[bytes]:
    objects = {bytes.fromhex(root)}
    pending = [root]
    read = 0
    while pending and read < MOST_ENTRIES:
        tree = pending.pop()
        if not fits(repo, tree, MOST_ENTRIES - read):
            continue
        for mode, _, oid in raw_entries(repo, tree):
            read += 1
            if mode == FOLDER and oid not in objects:
                pending.append(oid.hex())
            objects.add(oid)
    return frozenset(objects)
