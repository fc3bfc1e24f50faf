"""Trees: the entries of a folder at a commit, and of everything below it, read as raw objects.

Names are bytes that a pusher chose. They are shown as text with marks for what is no UTF-8; a path in a request is
text, so such an entry is listed but cannot be named.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec
import pygit2

from ingot_repos.git.errors import ObjectNotFound, OutputTooLarge

EntryKind = Literal["file", "dir", "symlink", "submodule"]

DEEPEST = 256
"""Folders inside folders. A path that is deeper does not exist."""
FOLDER, LINK, SUBMODULE = 0o040000, 0o120000, 0o160000
_EXECUTABLE = 0o100
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_SMALLEST_ENTRY = 24
_KINDS: dict[int, EntryKind] = {FOLDER: "dir", LINK: "symlink", SUBMODULE: "submodule"}


class Entry(msgspec.Struct, frozen=True):
    """One entry of a tree. ``mode`` is one of git's five, ``path`` begins at the root of the tree that was read."""

    mode: int
    name: str
    path: str
    oid: str

    @property
    def kind(self) -> EntryKind:
        return _KINDS.get(self.mode, "file")


class TreeEntries(msgspec.Struct, frozen=True):
    """Entries of a tree; ``complete`` is False when there are more than may be read."""

    oid: str
    entries: list[Entry]
    complete: bool


def split_path(path: str) -> list[str]:
    """The segments of a path; none for the root. Raises ObjectNotFound for what no tree can hold."""
    if not path:
        return []
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ObjectNotFound("no such path") from None
    segments = path.split("/")
    if len(segments) > DEEPEST or any(part in ("", ".", "..") or "\0" in part for part in segments):
        raise ObjectNotFound("no such path")
    return segments


def entry_at(repo: pygit2.Repository, root: str, path: str) -> Entry:
    """The entry at a path of a tree (full id); the tree itself for the empty path. Raises ObjectNotFound."""
    mode, oid, name = FOLDER, root, ""
    for name in split_path(path):
        tree: object = repo.get(oid) if mode == FOLDER else None
        if not isinstance(tree, pygit2.Tree):
            raise ObjectNotFound("no such path")
        try:
            entry = tree[name]
        except KeyError:
            raise ObjectNotFound("no such path") from None
        mode, oid = normal_mode(entry.filemode), str(entry.id)
    return Entry(mode, name, path, oid)


def raw_entries(repo: pygit2.Repository, tree: str | bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Mode, name and id of each entry of a tree (full id), in git's order; nothing if it is missing."""
    oid = pygit2.Oid(raw=tree) if isinstance(tree, bytes) else tree
    try:
        data = repo.odb.read(oid)[1]
    except KeyError:
        return
    for mode, name, id_ in _ENTRY.findall(data):
        yield _written_mode(mode), name, id_


def list_folder(repo: pygit2.Repository, tree: str, folder: str, *, most: int) -> list[Entry]:
    """The entries of a tree (full id) that is at the path ``folder``. Raises OutputTooLarge for more than ``most``."""
    if not fits(repo, tree, most):
        raise OutputTooLarge("the folder has too many entries")
    return list(_entries(repo, tree, f"{folder}/" if folder else ""))


def list_tree(repo: pygit2.Repository, tree: str, *, recursive: bool, most: int) -> TreeEntries:
    """The entries of a tree (full id), with ``recursive`` of all folders below it too, in git's order.

    Reading stops after ``most`` entries.
    """
    if not fits(repo, tree, most):
        return TreeEntries(tree, [], complete=False)
    entries: list[Entry] = []
    complete = True
    pending = [_entries(repo, tree, "")]
    while pending:
        entry = next(pending[-1], None)
        if entry is None:
            pending.pop()
        elif len(entries) >= most:
            return TreeEntries(tree, entries, complete=False)
        else:
            entries.append(entry)
            if recursive and entry.mode == FOLDER:
                if len(pending) < DEEPEST and fits(repo, entry.oid, most - len(entries)):
                    pending.append(_entries(repo, entry.oid, f"{entry.path}/"))
                else:
                    complete = False
    return TreeEntries(tree, entries, complete)


def blob_sizes(repo: pygit2.Repository, entries: Iterable[Entry]) -> dict[str, int]:
    """Bytes of the blobs among the entries, by id; only their headers are read."""
    sizes: dict[str, int] = {}
    read_header = repo.odb.read_header
    for entry in entries:
        if entry.mode not in (FOLDER, SUBMODULE) and entry.oid not in sizes:
            try:
                sizes[entry.oid] = read_header(entry.oid)[1]
            except KeyError:
                sizes[entry.oid] = 0
    return sizes


def fits(repo: pygit2.Repository, tree: str, most: int) -> bool:
    """Whether a folder has about ``most`` entries at most, by its size: a long name counts like several entries."""
    try:
        return repo.odb.read_header(tree)[1] <= max(most, 0) * 4 * _SMALLEST_ENTRY
    except KeyError:
        return True


def normal_mode(mode: int) -> int:
    """One of git's five modes: old histories have other permissions as well."""
    kind = mode & 0o170000
    if kind in _KINDS:
        return kind
    return 0o100755 if mode & _EXECUTABLE else 0o100644


@lru_cache(64)
def _written_mode(mode: bytes) -> int:
    return normal_mode(int(mode, 8) & 0o177777)


def _entries(repo: pygit2.Repository, tree: str, prefix: str) -> Iterator[Entry]:
    for mode, name, oid in raw_entries(repo, tree):
        text = name.decode("utf-8", "replace")
        yield Entry(mode, text, prefix + text, oid.hex())
