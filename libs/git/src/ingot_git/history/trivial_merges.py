"""Merges trees without a git process if no path was changed on both sides.

In this case all rules of git-merge(1) give the same tree: each path comes from the side that changed it. A
rename matters only if the other side changed its old path, its new path, or a removed folder. Such a path was
changed on both sides.

git merges all other trees. A test compares all small merges with git.
"""

import re
from dataclasses import dataclass
from threading import Lock

import pygit2
from cachetools import LRUCache
from pygit2.enums import ObjectType

from ingot_git.history.commits import find_commit
from ingot_git.process.disk import writing
from ingot_git.refs.trees import EMPTY_TREE, ENTRY

_PLAIN_TREE = re.compile(rb"(?:(?:100644|100755|120000|160000|40000) [^\0/]+\0.{20})*+", re.DOTALL)
"""git replaces other modes, such as 100664 of old histories, in trees that it writes."""
_RAW_EMPTY_TREE = bytes.fromhex(EMPTY_TREE)
_FOLDER = b"40000"
_MOST_BYTES = 1024 * 1024
"""Limit for all trees that are read: reading them holds the interpreter lock."""
_LONGEST_LINE = 1000
_DEEPEST = 100

Entry = tuple[bytes, bytes]
"""Mode and id."""


@dataclass(frozen=True, slots=True)
class PlannedTree:
    """A tree that is not written yet. Its values are entries, or merged subfolders."""

    entries: dict[bytes, "Entry | PlannedTree"]

    def write(self, repo: pygit2.Repository) -> str:
        """Write the tree with its merged folders. Return its id."""
        lines: list[tuple[bytes, bytes]] = []
        for name, one in self.entries.items():
            mode, oid = (_FOLDER, bytes.fromhex(one.write(repo))) if isinstance(one, PlannedTree) else one
            if oid.hex() != EMPTY_TREE:
                key = name + b"/" if mode == _FOLDER else name
                lines.append((key, b"%b %b\0%b" % (mode, name, oid)))
        with writing():
            return str(repo.odb.write(ObjectType.TREE, b"".join(line for _, line in sorted(lines))))


class _NotTrivial(Exception):
    """Only git can merge these trees."""


def plan_tree_merge(repo: pygit2.Repository, base: str, ours: str, theirs: str) -> PlannedTree | None:
    """Return the merge of two trees (full ids) with the ancestor ``base``; None if git must merge."""
    try:
        return _Merge(repo).merge(base, ours, theirs)
    except _NotTrivial:
        return None


def plan_merge(
    repo: pygit2.Repository, ours: pygit2.Commit, theirs: pygit2.Commit, ancestor: str | None
) -> PlannedTree | None:
    """Return the merge of two commits; None if git must merge. ``ancestor`` is one of their merge bases."""
    if ancestor is None or (line_between(ancestor, theirs) is None and line_between(ancestor, ours) is None):
        return None
    base = find_commit(repo, ancestor).tree_id
    return plan_tree_merge(repo, str(base), str(ours.tree_id), str(theirs.tree_id))


def line_between(ancestor: str, tip: pygit2.Commit) -> list[pygit2.Commit] | None:
    """Return the commits from ``tip`` to a merge base, latest first, without the merge base.

    Return None if a commit has several parents or none, or if the commits are too many. Otherwise the list
    has all commits of the tip that the merge base lacks. There is no other merge base: a commit in the list
    would be nearer.
    """
    line: list[pygit2.Commit] = []
    commit = tip
    while str(commit.id) != ancestor:
        if len(commit.parent_ids) != 1 or len(line) == _LONGEST_LINE:
            return None
        line.append(commit)
        commit = commit.parents[0]
    return line


class _Merge:
    """A merge of trees that reads a bounded number of bytes."""

    def __init__(self, repo: pygit2.Repository) -> None:
        self._repo, self._unread = repo, _MOST_BYTES

    def merge(self, base: str, ours: str, theirs: str, depth: int = 0) -> PlannedTree:
        """Merge three trees. Raises _NotTrivial."""
        if depth > _DEEPEST:
            raise _NotTrivial
        before, left, right = self._read(base), self._read(ours), self._read(theirs)
        merged: dict[bytes, Entry | PlannedTree] = dict(left)
        for name in {name for name, _ in right.items() ^ before.items()}:
            old, mine, new = before.get(name), left.get(name), right.get(name)
            if mine == old:
                if new is None:
                    merged.pop(name, None)
                else:
                    merged[name] = new
            elif old and mine and new and old[0] == mine[0] == new[0] == _FOLDER and mine != new:
                merged[name] = self.merge(old[1].hex(), mine[1].hex(), new[1].hex(), depth + 1)
            else:
                raise _NotTrivial
        return PlannedTree(merged)

    def _read(self, oid: str) -> dict[bytes, Entry]:
        """Return the entries of a tree by name.

        Raises _NotTrivial for a tree that git would not write, or if too many bytes were read.
        """
        if oid == EMPTY_TREE:
            return {}
        with _LOCK:
            parsed = _CACHE.get(oid)
        if parsed is None:
            data = read_tree(self._repo, oid)
            if len(data) > self._unread:
                raise _NotTrivial
            parsed = _parse(data)
            if parsed.size <= _LARGEST_CACHED:
                with _LOCK:
                    _CACHE[oid] = parsed
        self._unread -= parsed.size
        if self._unread < 0 or parsed.entries is None:
            raise _NotTrivial
        return parsed.entries


@dataclass(frozen=True, slots=True)
class _ParsedTree:
    """The size of a tree in bytes, and its entries by name.

    The entries are None for a tree that git would not write.
    """

    size: int
    entries: dict[bytes, Entry] | None


_LARGEST_CACHED = 16 * 1024
_CACHE: LRUCache[str, _ParsedTree] = LRUCache(32)
"""Caches trees: many heads are merged with one base in sequence."""
_LOCK = Lock()


def _parse(data: bytes) -> _ParsedTree:
    listed = ENTRY.findall(data)
    entries = {name: (mode, oid) for mode, name, oid in listed}
    is_plain = len(entries) == len(listed) and _PLAIN_TREE.fullmatch(data) and _RAW_EMPTY_TREE not in data
    return _ParsedTree(len(data), entries if is_plain else None)


def read_entries(repo: pygit2.Repository, oid: str) -> dict[bytes, Entry]:
    """Return the entries of any tree by name."""
    return {name: (mode, oid) for mode, name, oid in ENTRY.findall(read_tree(repo, oid))}


def read_tree(repo: pygit2.Repository, oid: str) -> bytes:
    """Return the bytes of a tree object."""
    return b"" if oid == EMPTY_TREE else repo.read(oid)[1]


def is_trivial(repo: pygit2.Repository, base: str, head: str, ancestor: str | None) -> bool:
    """True if two commits (full ids) merge cleanly without git; ``ancestor`` is their merge base.

    Raises ObjectNotFound.
    """
    ours, theirs = find_commit(repo, base), find_commit(repo, head)
    return plan_merge(repo, ours, theirs, ancestor) is not None
