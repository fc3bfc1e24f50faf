"""Reads trees: the entries of a folder at a commit, and of all folders below it, as raw objects.

Pushers choose the bytes of names. The API shows bytes that are not UTF-8 as replacement characters. A path in
a request is text, so such an entry is listed but cannot be requested.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec
import pygit2

from ingot_git.process.errors import ObjectNotFound, OutputTooLarge

EntryKind = Literal["file", "dir", "symlink", "submodule"]

DEEPEST = 256
"""The limit for nested folders. Deeper paths do not exist."""
FOLDER, LINK, SUBMODULE = 0o040000, 0o120000, 0o160000
_EXECUTABLE = 0o100
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git resolves this id without an object (gitglossary(7))."""
IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Code points that HFS+ ignores in file names."""
ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
"""Mode, name and id of an entry in their raw form."""
_WHOLE_ENTRY = re.compile(rb"[0-7]+ [^\0]+\0.{20}", re.DOTALL)
_SMALLEST_ENTRY = 24
_KINDS: dict[int, EntryKind] = {FOLDER: "dir", LINK: "symlink", SUBMODULE: "submodule"}


class Entry(msgspec.Struct, frozen=True):
    """One entry of a tree. ``mode`` is one of git's five modes.

    ``path`` starts at the root of the read tree.
    """

    mode: int
    name: str
    path: str
    oid: str

    @property
    def kind(self) -> EntryKind:
        return _KINDS.get(self.mode, "file")


class TreeEntries(msgspec.Struct, frozen=True):
    """Entries of a tree. ``complete`` is False if the limit was reached."""

    oid: str
    entries: list[Entry]
    complete: bool


def split_path(path: str) -> list[str]:
    """Return the segments of a path; empty for the root. Raises ObjectNotFound for an invalid path."""
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
    """Return the entry at a path of a tree (full id); the tree itself for "". Raises ObjectNotFound."""
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
    """Yield mode, name and id of each entry of a tree (full id) in git's order.

    A missing tree has no entries.
    """
    oid = pygit2.Oid(raw=tree) if isinstance(tree, bytes) else tree
    with contextlib.suppress(KeyError):
        for mode, name, id_ in ENTRY.findall(repo.odb.read(oid)[1]):
            yield mode_of(mode), name, id_


def written_entries(repo: pygit2.Repository, tree: str | pygit2.Oid) -> frozenset[bytes]:
    """Return the entries of a tree (full id) as they are written; see `split_entry`.

    Sets are compared much faster than single names. A missing tree has no entries.
    """
    try:
        return frozenset(_WHOLE_ENTRY.findall(repo.odb.read(tree)[1]))
    except KeyError:
        return frozenset()


def split_entry(entry: bytes) -> tuple[bytes, bytes, bytes]:
    """Return mode, name and id of an entry, as they are written; see `mode_of`."""
    mode, _, rest = entry.partition(b" ")
    return mode, rest[:-21], rest[-20:]


def list_folder(repo: pygit2.Repository, tree: str, folder: str, *, most: int) -> list[Entry]:
    """Return the entries of a tree (full id). ``folder`` is the path of the tree; entry paths begin with it.

    Raises OutputTooLarge if there are clearly more than ``most`` entries.
    """
    if not fits(repo, tree, most):
        raise OutputTooLarge("the folder has too many entries")
    return list(_entries(repo, tree, f"{folder}/" if folder else ""))


def list_tree(repo: pygit2.Repository, tree: str, *, recursive: bool, most: int) -> TreeEntries:
    """Return the entries of a tree (full id) in git's order. With ``recursive``, include all subfolders.

    At most ``most`` entries are returned.
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
    """Return the sizes in bytes of the blobs among the entries, by id. Only headers are read."""
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
    """True if a folder has at most about ``most`` entries, estimated from its size in bytes."""
    try:
        return repo.odb.read_header(tree)[1] <= max(most, 0) * 4 * _SMALLEST_ENTRY
    except KeyError:
        return True


def normal_mode(mode: int) -> int:
    """Return one of git's five modes. Trees in old histories also contain other permissions."""
    kind = mode & 0o170000
    if kind in _KINDS:
        return kind
    return 0o100755 if mode & _EXECUTABLE else 0o100644


@lru_cache(64)
def mode_of(mode: bytes) -> int:
    """Return one of git's five modes for a raw mode in octal digits."""
    return normal_mode(int(mode, 8) & 0o177777)


def _entries(repo: pygit2.Repository, tree: str, prefix: str) -> Iterator[Entry]:
    for mode, name, oid in raw_entries(repo, tree):
        text = name.decode("utf-8", "replace")
        yield Entry(mode, text, prefix + text, oid.hex())
