"""Finds the last commit that changed each entry of a folder, in one walk.

Like `git log -1 -- <path>`, the walk follows a parent with the same entry. It follows all parents only if no
parent has the entry. Results are cached by commit, so after a push only new commits are read.
"""

import heapq
from collections.abc import Collection

import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.history.path_commits import path_commits
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.trees import FOLDER, entry_at, mode_of, split_entry, written_entries
from ingot_git.storage.read_cache import SharedCache

MOST_COMMITS = 5_000
MOST_ENTRIES = 200_000
_NOT_FOUND = ""
"""Cached for a name whose last change the walk did not find."""

_Entries = frozenset[bytes]


def last_changes(
    repo: pygit2.Repository,
    commit: str,
    folder: str,
    names: Collection[str],
    cache: SharedCache[dict[str, str]],
) -> dict[str, str]:
    """Return the id of the last commit that changed each entry of a folder, by name.

    The search starts at ``commit`` (full id). Names whose last change is beyond the limits of the walk are
    skipped. If ``names`` has only one name, git searches for it beyond these limits.
    """
    remembered = cache.get((commit, folder)) or {}
    is_single = len(names) == 1
    missing = [name for name in names if name not in remembered or (is_single and not remembered[name])]
    if missing:
        walk = _Walk(repo, folder, cache)
        walk.run(commit, missing)
        remembered = remembered | walk.result
        if is_single and not remembered.get(missing[0]):
            path = f"{folder}/{missing[0]}" if folder else missing[0]
            latest = path_commits(repo, [commit], path, most=1)
            remembered |= {missing[0]: latest[0][1]} if latest else {}
        remembered = dict.fromkeys(missing, _NOT_FOUND) | remembered
        cache.put((commit, folder), remembered, size=len(remembered) + 1)
    return {name: remembered[name] for name in names if remembered[name]}


class _Walk:
    """A walk over a history, latest commit first."""

    def __init__(self, repo: pygit2.Repository, folder: str, cache: SharedCache[dict[str, str]]) -> None:
        self._repo, self._folder, self._cache = repo, folder, cache
        self.result: dict[str, str] = {}
        self._pending: dict[str, set[bytes]] = {}
        self._order: list[tuple[int, int, str]] = []
        self._folders: dict[str, tuple[str, _Entries]] = {}
        self._entries_left = MOST_ENTRIES

    def run(self, start: str, names: Collection[str]) -> None:
        tip = find_commit(self._repo, start)
        self._push(tip, {name.encode() for name in names} & set(map(_name, self._entries(tip)[1])))
        for _ in range(MOST_COMMITS):
            if not self._order or self._entries_left <= 0:
                return
            oid = heapq.heappop(self._order)[2]
            names_here = self._pending.pop(oid)
            earlier = self._cache.get((oid, self._folder)) if oid != start else None
            if earlier is not None:
                hits = {name for name in names_here if earlier.get(name.decode())}
                self.result |= {name.decode(): earlier[name.decode()] for name in hits}
                names_here -= hits
            if names_here:
                self._visit(find_commit(self._repo, oid), names_here)

    def _visit(self, commit: pygit2.Commit, names: set[bytes]) -> None:
        own_id, own = self._entries(commit)
        for parent_id in commit.parent_ids:
            parent: object = self._repo.get(parent_id)
            if not isinstance(parent, pygit2.Commit):
                continue  # a shallow history ends here
            folder_id, entries = self._entries(parent)
            same = set(names) if folder_id == own_id else names - _changed_names(own, entries)
            if same:
                self._push(parent, same)
                names = names - same
        self.result |= {name.decode(): str(commit.id) for name in names}

    def _push(self, commit: pygit2.Commit, names: set[bytes]) -> None:
        oid = str(commit.id)
        if oid in self._pending:
            self._pending[oid] |= names
        else:
            self._pending[oid] = set(names)
            heapq.heappush(self._order, (-commit.commit_time, len(self._order), oid))

    def _entries(self, commit: pygit2.Commit) -> tuple[str, _Entries]:
        """Return id and entries of the folder at a commit; empty if the folder does not exist."""
        tree = str(commit.tree_id)
        if self._folder:
            try:
                entry = entry_at(self._repo, tree, self._folder)
            except ObjectNotFound:
                return "", frozenset()
            if entry.mode != FOLDER:
                return "", frozenset()
            tree = entry.oid
        if tree not in self._folders:
            if len(self._folders) > 2:
                self._folders.pop(next(iter(self._folders)))
            entries = written_entries(self._repo, tree)
            self._entries_left -= len(entries)
            self._folders[tree] = (tree, entries)
        return self._folders[tree]


def _name(entry: bytes) -> bytes:
    return split_entry(entry)[1]


def _changed_names(entries: _Entries, before: _Entries) -> set[bytes]:
    """Return the names of entries that are missing or different in ``before``."""
    earlier = {name: (mode_of(mode), oid) for mode, name, oid in map(split_entry, before - entries)}
    changed = map(split_entry, entries - before)
    return {name for mode, name, oid in changed if earlier.get(name) != (mode_of(mode), oid)}
