"""What a push really changed: refs on disk held against what was known of them, with the commits they brought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pygit2

from ingot_repos.git.commits import CommitChanges, CommitInfo, commit_info, commits_between, find_commit
from ingot_repos.git.errors import ObjectNotFound, RepositoryDamaged
from ingot_repos.git.refs import (
    BRANCHES,
    ZERO_OID,
    Branch,
    RefChange,
    diff_refs,
    get_branch,
    is_empty,
    list_branches,
    ref_target,
)


@dataclass(frozen=True, slots=True)
class MovedRef:
    """One ref that moved. Commits are newest first, as many as asked for; `total` counts all of them."""

    change: RefChange
    commits: tuple[CommitChanges, ...] = ()
    total: int = 0
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Pushed:
    moved: tuple[MovedRef, ...]
    empty: bool


def read_pushed(
    repo: pygit2.Repository, known: Mapping[str, str], names: Sequence[str], main: str, *, limit: int
) -> Pushed:
    """How the refs `names` differ from `known`.

    Args:
        repo: the bare repository.
        known: full ref name -> object id, those that existed.
        names: full ref names to look at.
        main: short name of the default branch; a new branch brings what that one has not.
        limit: most commits per ref.
    """
    held = {name: oid for name in names if (oid := ref_target(repo, name)) is not None}
    before = {name: oid for name, oid in known.items() if name in set(names)}
    return Pushed(
        tuple(_moved(repo, change, main, limit) for change in diff_refs(before, held)),
        empty=not held and is_empty(repo),
    )


def page_of_branches(
    repo: pygit2.Repository, offset: int, limit: int
) -> tuple[list[tuple[str, CommitInfo]], int]:
    """One page of the branches by name, each with the commit at its tip, and how many there are."""
    branches, total = list_branches(repo, offset=offset, limit=limit)
    return [(branch.name, tip(repo, branch)) for branch in branches], total


def branch_with_commit(repo: pygit2.Repository, name: str) -> CommitInfo:
    """The commit at the tip of a branch. Raises RefNotFound."""
    return tip(repo, get_branch(repo, name))


def tip(repo: pygit2.Repository, branch: Branch) -> CommitInfo:
    """The commit of a branch. Raises RepositoryDamaged when it is not there."""
    try:
        return commit_info(repo, branch.oid)
    except ObjectNotFound:
        raise RepositoryDamaged("a branch leads nowhere") from None


def _moved(repo: pygit2.Repository, change: RefChange, main: str, limit: int) -> MovedRef:
    if not change.name.startswith(BRANCHES) or change.after == ZERO_OID:
        return MovedRef(change)
    since = change.before
    if since == ZERO_OID and change.name != BRANCHES + main:
        since = ref_target(repo, BRANCHES + main) or ZERO_OID
    try:
        commits = tuple(commits_between(repo, since, change.after, limit))
    except ObjectNotFound:
        return MovedRef(change)
    return MovedRef(change, commits, _count(repo, since, change.after), _is_forced(repo, change))


def _count(repo: pygit2.Repository, since: str, after: str) -> int:
    walker = repo.walk(find_commit(repo, after).id)
    if isinstance(repo.get(since), pygit2.Commit):
        walker.hide(since)
    return sum(1 for _ in walker)


def _is_forced(repo: pygit2.Repository, change: RefChange) -> bool:
    if change.before == ZERO_OID:
        return False
    if not isinstance(repo.get(change.before), pygit2.Commit):
        return True
    return str(repo.merge_base(change.before, change.after)) != change.before
