"""Commits pushed to `refs/for/<branch>`; they are stored below `refs/scratch/`, which is not fetchable."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pygit2

from ingot_git.history.commits import CommitInfo, commit_info, find_commit
from ingot_git.history.heads import MoveBlock
from ingot_git.history.reachability import contains
from ingot_git.process.errors import ObjectNotFound, RefMoved, RefNotFound
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, ref_target, set_ref, update_refs
from ingot_git.storage.storage import Storage

FOR = "refs/for/"

_T = TypeVar("_T")


def split_target(repo: pygit2.Repository, target: str) -> tuple[str, str]:
    """Split `<branch>/<topic>` at an existing branch. Return branch and topic.

    Both are empty if no such branch exists. The topic is empty if none is named.
    """
    parts = target.split("/")
    for length in range(len(parts), 0, -1):
        branch = "/".join(parts[:length])
        if ref_target(repo, BRANCHES + branch) is not None:
            return branch, "/".join(parts[length:])
    return "", ""


def current_tip(repo: pygit2.Repository, ref: str, base_branch: str) -> tuple[str, bool]:
    """Return the object id at a ref, and True if it is obsolete. Return 40 zeros if the ref does not exist.

    The id is obsolete if the base branch contains it, or if it is not a commit.
    """
    tip, base = ref_target(repo, ref), ref_target(repo, BRANCHES + base_branch)
    if tip is None:
        return ZERO_OID, False
    try:
        find_commit(repo, tip)
    except ObjectNotFound:
        return tip, True
    return tip, base is not None and contains(repo, base, tip)


def move_back(repo: pygit2.Repository, changes: Sequence[RefChange]) -> None:
    """Undo these changes for refs that still have the new value."""
    for change in changes:
        with suppress(RefMoved):
            update_refs(Path(repo.path), [RefChange(change.name, change.after, change.before)])


def proposed_commit(repo: pygit2.Repository, oid: str, base_branch: str) -> CommitInfo | None:
    """Return the commit with this full id.

    Return None if it is not a commit, or if the base branch contains it.
    """
    base = ref_target(repo, BRANCHES + base_branch)
    try:
        info = commit_info(repo, oid)
    except ObjectNotFound:
        return None
    return None if base is not None and contains(repo, base, oid) else info


async def with_proposal(
    storage: Storage,
    repo_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    ref: str,
    keep_ref: str,
    moving: MoveBlock,
) -> _T:
    """Call ``act`` with the commit at ``ref`` and return its result.

    ``keep_ref``, if not empty, is set to the commit (see `with_head`). Raises RefNotFound if the ref has no
    commit.
    """

    def proposed(repo: pygit2.Repository) -> str:
        tip = ref_target(repo, ref) or ""
        try:
            find_commit(repo, tip)
        except ObjectNotFound:
            raise RefNotFound("no such proposal") from None
        return tip

    def act_there(repo: pygit2.Repository) -> _T | None:
        tip = proposed(repo)
        return None if keep_ref and ref_target(repo, keep_ref) != tip else act(repo, tip)

    def keep_and_act(repo: pygit2.Repository) -> _T:
        tip = proposed(repo)
        set_ref(repo, keep_ref, tip)
        return act(repo, tip)

    result = await storage.call(repo_id, act_there)
    if result is not None:
        return result
    async with moving():
        return await storage.call(repo_id, keep_and_act)
