"""The changes of a push: compares the refs with the refs before the push, and reads new commits."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from ingot_git.history.changes import CommitChanges, ReadBudget, changes_of
from ingot_git.history.commits import Clip
from ingot_git.history.reachability import HistoryPart, contains, length_of, only_in, parts_only_in
from ingot_git.process.errors import GitFailed, GitTimedOut, ObjectNotFound, OutputTooLarge
from ingot_git.refs.refs import (
    BRANCHES,
    TAGS,
    ZERO_OID,
    RefChange,
    diff_refs,
    is_empty,
    ref_target,
)

_FEW = 8
"""Up to this number of branches, each is walked separately."""
_SECONDS = 60.0
"""Time after which the remaining refs of a push are reported without their commits."""
_UNREADABLE = (ObjectNotFound, GitFailed, GitTimedOut, OutputTooLarge)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits for reading a push, which may have any size.

    Args:
        size: returns the number of bytes that a text has in an event.
        clip: shortens the texts of a commit.
        commits: maximum number of commits per ref.
        paths: maximum bytes of paths per ref.
        texts: maximum bytes of texts and paths of all refs together.
        entries: maximum number of folder entries read for all refs together.
    """

    size: Callable[[str], int]
    clip: Clip
    commits: int
    paths: int
    texts: int
    entries: int


@dataclass(frozen=True, slots=True)
class MovedRef:
    """One ref that moved. Commits are latest first, up to the limits; `total` counts all of them.

    If a push has too many refs and commits to count, `total` counts the commits that were read. `forced` is
    True if commits were removed from the ref, or if there was no time to check this. `head` is the commit at
    the ref. It is None if it is the first of `commits`, or if it was not read.
    """

    change: RefChange
    commits: tuple[CommitChanges, ...] = ()
    total: int = 0
    forced: bool = False
    head: CommitChanges | None = None

    @property
    def all_commits(self) -> tuple[CommitChanges, ...]:
        """All commits of the ref that were read, including `head`."""
        return self.commits if self.head is None else (*self.commits, self.head)


@dataclass(frozen=True, slots=True)
class PushChanges:
    """The refs that moved. ``empty`` is True if the repository now has no branch and no tag."""

    moved: tuple[MovedRef, ...]
    empty: bool

    def in_order(self, main: str) -> list[MovedRef]:
        """Return the refs sorted: branches before tags, then forced updates first, then ``main`` last.

        ``main`` is a full ref name. A push may move the head of a pull request and the branch that it is
        merged into. The head must be processed before the check if the branch contains it. Forced updates
        come first: a branch that moved forward still contains its earlier commits.
        """

        def place(one: MovedRef) -> tuple[bool, bool, bool]:
            return one.change.name.startswith(TAGS), not one.forced, one.change.name == main

        return sorted(self.moved, key=place)


def read_push_changes(
    repo: pygit2.Repository, old_refs: Mapping[str, str], names: Sequence[str], main: str, limits: ReadLimits
) -> PushChanges:
    """Return the differences between the refs `names` and `old_refs`.

    Args:
        repo: the bare repository.
        old_refs: object ids by full name of the refs that existed before.
        names: full names of the refs to compare.
        main: short name of the default branch; its commits are not commits of a new branch.
        limits: limits for reading commits.
    """
    name_set = set(names)
    new_refs = {name: oid for name in names if (oid := ref_target(repo, name)) is not None}
    before = {name: oid for name, oid in old_refs.items() if name in name_set}
    reader = _MovedRefs(repo, main, limits)
    return PushChanges(
        reader.read(diff_refs(before, new_refs)),
        empty=not new_refs and is_empty(repo),
    )


def read_commit_changes(repo: pygit2.Repository, oid: str, limits: ReadLimits) -> CommitChanges:
    """Return one commit (full id) with its changed files, within the limits of a push.

    Raises ObjectNotFound.
    """
    budget = ReadBudget(limits.size, texts=limits.texts, paths=limits.paths, entries=limits.entries)
    return changes_of(repo, [oid], budget, limits.clip)[0]


def read_moved_refs(path: Path, old_refs: Mapping[str, str], names: Sequence[str]) -> PushChanges:
    """Return the moved refs without commits, for a repository at ``path`` with unreadable objects."""
    repo = pygit2.Repository(str(path))
    name_set = set(names)
    new_refs = {name: oid for name in names if (oid := ref_target(repo, name)) is not None}
    before = {name: oid for name, oid in old_refs.items() if name in name_set}
    moved = tuple(MovedRef(change) for change in diff_refs(before, new_refs))
    return PushChanges(moved, empty=not new_refs and is_empty(repo))


class _MovedRefs:
    """A reader of the refs of one push. Its time is bounded, and new branches share one walk."""

    def __init__(self, repo: pygit2.Repository, main: str, limits: ReadLimits) -> None:
        self._repo, self._main, self._limits = repo, BRANCHES + main, limits
        self._budget = ReadBudget(limits.size, texts=limits.texts, paths=limits.paths, entries=limits.entries)
        self._tip = ref_target(repo, self._main) or ZERO_OID
        self._parts: dict[tuple[str, str], HistoryPart] = {}
        self._ends = time.monotonic() + _SECONDS

    def read(self, changes: Sequence[RefChange]) -> tuple[MovedRef, ...]:
        by_base = defaultdict[str, set[str]](set)
        for change in changes:
            if _has_commits(change):
                by_base[self._base(change)].add(change.after)
        for base, tips in by_base.items():
            if len(tips) > _FEW:
                with contextlib.suppress(*_UNREADABLE):
                    parts = parts_only_in(self._repo, tips, self._hidden(base), most=self._limits.commits)
                    self._parts |= {(base, tip): part for tip, part in parts.items()}
        return tuple(self._read(change) for change in changes)

    def _read(self, change: RefChange) -> MovedRef:
        if change.after == ZERO_OID:
            return MovedRef(change)
        self._budget.paths = self._limits.paths
        try:
            if not _has_commits(change):
                return MovedRef(change, head=self._head(change))
            part = self._part(self._base(change), change.after)
            commits = changes_of(self._repo, part.first, self._budget, self._limits.clip)
            is_first = bool(commits) and commits[0].commit.oid == change.after
            head = None if is_first else self._head(change)
            return MovedRef(change, tuple(commits), part.total, self._is_forced(change), head)
        except _UNREADABLE:
            return MovedRef(change)

    def _head(self, change: RefChange) -> CommitChanges | None:
        """Return the commit of a ref; None if it has no commit, or if the limits are used up."""
        try:
            oid = str(self._repo[change.after].peel(pygit2.Commit).id)
        except (KeyError, pygit2.GitError):
            return None
        if self._is_late():
            return None
        return next(iter(changes_of(self._repo, [oid], self._budget, self._limits.clip)), None)

    def _base(self, change: RefChange) -> str:
        """Return the earlier tip of a ref; for a new branch the tip of the default branch."""
        is_new = change.before == ZERO_OID and change.name != self._main
        return self._tip if is_new else change.before

    def _hidden(self, base: str) -> list[str]:
        return [base] if isinstance(self._repo.get(base), pygit2.Commit) else []

    def _part(self, base: str, tip: str) -> HistoryPart:
        if (base, tip) not in self._parts:
            hidden = self._hidden(base)
            if self._is_late():
                first, total = [], 0
            elif hidden:
                every = only_in(self._repo, tip, hidden, order="date")
                first, total = every[: self._limits.commits], len(every)
            else:
                first = only_in(self._repo, tip, [], most=self._limits.commits)
                total = length_of(self._repo, tip)
            self._parts[base, tip] = HistoryPart(first, total)
        return self._parts[base, tip]

    def _is_forced(self, change: RefChange) -> bool:
        """True if commits were removed, or if there was no time to check this."""
        if change.before == ZERO_OID:
            return False
        if self._is_late() or not isinstance(self._repo.get(change.before), pygit2.Commit):
            return True
        return not contains(self._repo, change.after, change.before)

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends


def _has_commits(change: RefChange) -> bool:
    return change.name.startswith(BRANCHES) and change.after != ZERO_OID
