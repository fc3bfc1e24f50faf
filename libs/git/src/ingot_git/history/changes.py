"""Lists the files that commits change, and stops when a budget is used up.

Trees are compared folder by folder. So memory is bounded for a commit with a million files. It is also
bounded for a commit whose few objects describe billions of paths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pygit2

from ingot_git.history.commits import Clip, CommitInfo, describe, find_commit
from ingot_git.refs.trees import split_entry, written_entries

LONGEST_PATH = 4096
"""Bytes. No file system allows a longer path."""
_SMALLEST_ENTRY = 24
_MOST_FOLDERS = 6
"""Folders that are kept for the next comparison."""
_KIND, _FOLDER, _FILE, _EXECUTABLE = 0o170000, 0o040000, 0o100000, 0o100

_Entries = frozenset[bytes]
"""The entries of a folder as they are written in the tree."""


class ReadBudget:
    """Limits for reading any number of commits.

    Args:
        size: returns the number of bytes that a text has in an event.
        texts: maximum bytes of texts and paths.
        paths: maximum bytes of paths; callers may reset it between commits.
        entries: maximum number of folder entries that are read.
    """

    def __init__(self, size: Callable[[str], int], *, texts: int, paths: int, entries: int) -> None:
        self._size, self._texts = size, texts
        self.paths, self.entries = paths, entries

    @property
    def is_spent(self) -> bool:
        return self._texts <= 0 or self.entries <= 0

    def count_commit(self, info: CommitInfo) -> None:
        """Subtract the texts of a commit from the budget."""
        people = (info.author, info.committer)
        self._texts -= sum(self._size(text) for who in people for text in (who.name, who.email))
        self._texts -= self._size(info.message)

    def count_path(self, path: str) -> bool:
        """Subtract a path from the budget. Return False, without a subtraction, if the path does not fit."""
        size = self._size(path)
        if size > self.paths:
            return False
        self.paths -= size
        self._texts -= size
        return True


class FolderReader:
    """Reads the entries of folders. The last few are kept: a parent is compared with its own parent next."""

    def __init__(self, repo: pygit2.Repository) -> None:
        self._repo = repo
        self._folders: dict[pygit2.Oid, _Entries] = {}

    def entries(self, oid: pygit2.Oid | None, budget: ReadBudget) -> _Entries | None:
        """Return the entries of a folder; None if the budget is used up, or the folder is missing."""
        if oid is None:
            return frozenset()
        entries = self._folders.get(oid)
        if entries is None:
            try:
                size = self._repo.odb.read_header(oid)[1]
            except KeyError:
                return None
            if size > budget.entries * _SMALLEST_ENTRY:
                budget.entries = 0
                return None
            entries = written_entries(self._repo, oid)
            if len(self._folders) == _MOST_FOLDERS:
                del self._folders[next(iter(self._folders))]
            self._folders[oid] = entries
        budget.entries -= max(1, len(entries))
        return entries


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit with the files that differ from its first parent. A rename is a removal and an addition.

    `omitted` counts the files beyond the budget. It is a lower bound if a tree was not read completely.
    """

    commit: CommitInfo
    added: tuple[str, ...]
    modified: tuple[str, ...]
    removed: tuple[str, ...]
    omitted: int


def changes_of(
    repo: pygit2.Repository, oids: Sequence[str], budget: ReadBudget, clip: Clip
) -> list[CommitChanges]:
    """Return commits (full ids), clipped, with their changed files; fewer commits if the budget is used up.

    Only one commit with complete texts is in memory at a time. Raises ObjectNotFound.
    """
    commits: list[CommitChanges] = []
    folders = FolderReader(repo)
    for oid in oids:
        if budget.is_spent:
            break
        commit = find_commit(repo, oid)
        info = clip(describe(commit))
        budget.count_commit(info)
        commits.append(_with_changes(repo, commit, info, _TreeComparison(folders, budget)))
    return commits


def changed_paths(
    repo: pygit2.Repository, before: pygit2.Oid | None, after: pygit2.Oid, budget: ReadBudget
) -> list[str] | None:
    """Return the files that differ between two trees; None for ``before`` means the empty tree.

    Return None if there are more paths or folder entries than ``budget`` allows.
    """
    comparison = _TreeComparison(FolderReader(repo), budget)
    comparison.run(before, after)
    return None if comparison.omitted else [*comparison.added, *comparison.modified, *comparison.removed]


def changed_entries(repo: pygit2.Repository, info: CommitInfo, most: int, folders: FolderReader) -> int:
    """Return the number of folder entries that a comparison of a commit with its first parent reads.

    Counting stops at ``most``. ``folders`` is shared by the commits of a list.
    """
    before, after = None, find_commit(repo, info.oid).tree_id
    if info.parents:
        parent: object = repo.get(info.parents[0])
        before = parent.tree_id if isinstance(parent, pygit2.Commit) else None
    budget = ReadBudget(len, texts=1, paths=0, entries=most)
    _TreeComparison(folders, budget).run(before, after)
    return most - budget.entries


def _with_changes(
    repo: pygit2.Repository, commit: pygit2.Commit, info: CommitInfo, comparison: "_TreeComparison"
) -> CommitChanges:
    before = None
    if commit.parent_ids:
        parent: object = repo.get(commit.parent_ids[0])
        if not isinstance(parent, pygit2.Commit):
            # A shallow push may omit the parent; then no files are listed.
            return CommitChanges(info, (), (), (), 0)
        before = parent.tree_id
    comparison.run(before, commit.tree_id)
    return CommitChanges(
        commit=info,
        added=tuple(sorted(comparison.added)),
        modified=tuple(sorted(comparison.modified)),
        removed=tuple(sorted(comparison.removed)),
        omitted=comparison.omitted,
    )


class _TreeComparison:
    """The files that differ between two trees."""

    def __init__(self, folders: FolderReader, budget: ReadBudget) -> None:
        self._folders, self._budget = folders, budget
        self.added: list[str] = []
        self.modified: list[str] = []
        self.removed: list[str] = []
        self.omitted = 0
        # Folders to compare, each with the path of its parent. Paths are joined only when their folder is
        # compared. So their memory grows with the depth of the trees, not with the number of folders. None:
        # the path is too long to be listed.
        self._pending: list[tuple[bytes | None, bytes, pygit2.Oid | None, pygit2.Oid | None]] = []

    def run(self, before: pygit2.Oid | None, after: pygit2.Oid) -> None:
        self._pending.append((b"", b"", before, after))
        while self._pending:
            parent, name, old, new = self._pending.pop()
            old_entries = self._folders.entries(old, self._budget)
            new_entries = self._folders.entries(new, self._budget)
            if old_entries is None or new_entries is None:
                self.omitted += 1
                if self._budget.entries <= 0:
                    self.omitted += len(self._pending)
                    return
                continue
            self._compare(_join(parent, name), old_entries, new_entries)

    def _compare(self, folder: bytes | None, old: _Entries, new: _Entries) -> None:
        old_entries, new_entries = _by_name(old - new), _by_name(new - old)
        folders = []
        for name in sorted({name for name, _ in old_entries.items() ^ new_entries.items()}):
            old_mode, old_id = old_entries.get(name, (0, b""))
            new_mode, new_id = new_entries.get(name, (0, b""))
            if name.endswith(b"/"):
                folders.append((folder, name, _oid(old_id), _oid(new_id)))
            elif old_mode & _KIND == new_mode & _KIND:
                self._add(self.modified, folder, name)
            else:
                if old_mode:
                    self._add(self.removed, folder, name)
                if new_mode:
                    self._add(self.added, folder, name)
        self._pending.extend(reversed(folders))

    def _add(self, paths: list[str], folder: bytes | None, name: bytes) -> None:
        # A text has at least the size of its bytes. So most of a million paths are never joined.
        if folder is not None and len(folder) + len(name) <= min(self._budget.paths, LONGEST_PATH):
            path = (folder + name).decode("utf-8", "replace")
            if self._budget.count_path(path):
                paths.append(path)
                return
        self.omitted += 1


def _by_name(entries: _Entries) -> dict[bytes, tuple[int, bytes]]:
    """Return mode and id of each entry by name, without permissions. Names of folders end with a slash."""
    by_name: dict[bytes, tuple[int, bytes]] = {}
    for octal, name, oid in map(split_entry, entries):
        mode = int(octal, 8)
        if mode & _KIND == _FOLDER:
            by_name[name + b"/"] = (_FOLDER, oid)
        elif mode & _KIND == _FILE:  # old histories also contain other permissions
            by_name[name] = (_FILE | mode & _EXECUTABLE, oid)
        else:
            by_name[name] = (mode, oid)
    return by_name


def _join(folder: bytes | None, name: bytes) -> bytes | None:
    if folder is None or len(folder) + len(name) > LONGEST_PATH:
        return None
    return folder + name


def _oid(raw: bytes) -> pygit2.Oid | None:
    return pygit2.Oid(raw=raw) if raw else None
