"""The changes of a push: compares the refs on disk with those before the push and reads the new commits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from ingot_repos.git.changes import CommitChanges, ReadBudget, commits_between
from ingot_repos.git.commits import Clip, find_commit
from ingot_repos.git.errors import ObjectNotFound
from ingot_repos.git.refs import (
    BRANCHES,
    TAGS,
    ZERO_OID,
    RefChange,
    diff_refs,
    is_empty,
    ref_target,
)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much is read of a push, which may have any size.

    Args:
        size: bytes that a text takes in its event.
        clip: cuts the texts of a commit.
        commits: most commits of one ref.
        paths: most bytes of the paths of one ref.
        texts: most bytes of texts and paths of all refs together.
        entries: most entries of folders that are read for all refs together.
    """

    size: Callable[[str], int]
    clip: Clip
    commits: int
    paths: int
    texts: int
    entries: int


@dataclass(frozen=True, slots=True)
class MovedRef:
    """One ref that moved. Commits are newest first, as many as the limits allow; `total` counts all of them."""

    change: RefChange
    commits: tuple[CommitChanges, ...] = ()
    total: int = 0
    forced: bool = False


@dataclass(frozen=True, slots=True)
class PushChanges:
    """The refs that moved; ``empty``: the repository has no branch and no tag now."""

    moved: tuple[MovedRef, ...]
    empty: bool

    def in_order(self, main: str) -> list[MovedRef]:
        """Branches before tags; first those that were forced, and ``main``, a full ref name, as the last of each.

        Whether a branch got a pull request depends on where the same push moved the head of that. One that went on has the
        commits from before as well.
        """

        def place(one: MovedRef) -> tuple[bool, bool, bool]:
            return one.change.name.startswith(TAGS), not one.forced, one.change.name == main

        return sorted(self.moved, key=place)


def read_push_changes(
    repo: pygit2.Repository, old_refs: Mapping[str, str], names: Sequence[str], main: str, limits: ReadLimits
) -> PushChanges:
    """How the refs `names` differ from `old_refs`.

    Args:
        repo: the bare repository.
        old_refs: full ref name -> object id of the refs that existed before.
        names: full names of the refs to compare.
        main: short name of the default branch; the commits of a new branch are those that it does not have.
        limits: of what is read of commits.
    """
    name_set = set(names)
    new_refs = {name: oid for name in names if (oid := ref_target(repo, name)) is not None}
    before = {name: oid for name, oid in old_refs.items() if name in name_set}
    reader = _MovedRefs(repo, main, limits)
    return PushChanges(
        tuple(reader.read(change) for change in diff_refs(before, new_refs)),
        empty=not new_refs and is_empty(repo),
    )


def read_moved_refs(path: Path, old_refs: Mapping[str, str], names: Sequence[str]) -> PushChanges:
    """The same without commits, for the repository at ``path`` whose objects cannot be read."""
    repo = pygit2.Repository(str(path))
    name_set = set(names)
    new_refs = {name: oid for name in names if (oid := ref_target(repo, name)) is not None}
    before = {name: oid for name, oid in old_refs.items() if name in name_set}
    moved = tuple(MovedRef(change) for change in diff_refs(before, new_refs))
    return PushChanges(moved, empty=not new_refs and is_empty(repo))


class _MovedRefs:
    """Reads the refs of one push. Many of them may be at the same commit, so a history is counted once."""

    def __init__(self, repo: pygit2.Repository, main: str, limits: ReadLimits) -> None:
        self._repo, self._main, self._limits = repo, BRANCHES + main, limits
        self._budget = ReadBudget(limits.size, texts=limits.texts, paths=limits.paths, entries=limits.entries)
        self._tip = ref_target(repo, self._main) or ZERO_OID
        self._totals: dict[tuple[str, str], int] = {}

    def read(self, change: RefChange) -> MovedRef:
        if not change.name.startswith(BRANCHES) or change.after == ZERO_OID:
            return MovedRef(change)
        since = change.before
        if since == ZERO_OID and change.name != self._main:
            since = self._tip
        try:
            total = self._total(since, change.after)
            commits = self._commits(since, change.after) if total else ()
        except ObjectNotFound:
            return MovedRef(change)
        return MovedRef(change, commits, total, _is_forced(self._repo, change))

    def _total(self, since: str, after: str) -> int:
        key = since, after
        if key not in self._totals:
            self._totals[key] = _count(self._repo, since, after)
        return self._totals[key]

    def _commits(self, since: str, after: str) -> tuple[CommitChanges, ...]:
        self._budget.paths = self._limits.paths
        limits = self._limits
        return tuple(commits_between(self._repo, since, after, limits.commits, self._budget, limits.clip))


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
