"""Commits that are pushed to `refs/for/<branch>`: they are kept below `refs/scratch/`, which nobody can fetch."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pygit2

from ingot_repos.git.branches import is_fast_forward
from ingot_repos.git.commits import CommitInfo, commit_info, find_commit
from ingot_repos.git.errors import ObjectNotFound, RefMoved, RefNotFound
from ingot_repos.git.heads import MoveBlock
from ingot_repos.git.refs import BRANCHES, ZERO_OID, RefChange, ref_target, set_ref, update_refs
from ingot_repos.git.storage import Storage

FOR = "refs/for/"

_T = TypeVar("_T")


def split_target(repo: pygit2.Repository, target: str) -> tuple[str, str]:
    """Branch and topic of `<branch>` or `<branch>/<topic>`; empty if there is no such branch, or no topic."""
    parts = target.split("/")
    for length in range(len(parts), 0, -1):
        branch = "/".join(parts[:length])
        if ref_target(repo, BRANCHES + branch) is not None:
            return branch, "/".join(parts[length:])
    return "", ""


def current_tip(repo: pygit2.Repository, ref: str, base_branch: str) -> tuple[str, bool]:
    """What is kept at a ref, 40 zeros for nothing; and whether it may go: the base branch has it, or it is no commit."""
    tip, base = ref_target(repo, ref), ref_target(repo, BRANCHES + base_branch)
    if tip is None:
        return ZERO_OID, False
    try:
        find_commit(repo, tip)
    except ObjectNotFound:
        return tip, True
    return tip, base is not None and is_fast_forward(repo, tip, base)


def move_back(repo: pygit2.Repository, changes: Sequence[RefChange]) -> None:
    """Undo these changes where the ref still has what the change set."""
    for change in changes:
        with suppress(RefMoved):
            update_refs(Path(repo.path), [RefChange(change.name, change.after, change.before)])


def proposed_commit(repo: pygit2.Repository, oid: str, base_branch: str) -> CommitInfo | None:
    """The commit of a full id; None when the base branch has it, or it is no commit."""
    base = ref_target(repo, BRANCHES + base_branch)
    try:
        info = commit_info(repo, oid)
    except ObjectNotFound:
        return None
    return None if base is not None and is_fast_forward(repo, oid, base) else info


async def with_proposal(
    storage: Storage,
    repo_id: int,
    act: Callable[[pygit2.Repository, str], _T],
    *,
    ref: str,
    keep_ref: str,
    moving: MoveBlock,
) -> _T:
    """The result of ``act``, which gets the commit at ``ref``; ``keep_ref``, if not empty, is set to it (see `with_head`).

    Raises:
        RefNotFound: no commit is kept there.
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
