"""Objects by id as plain values: type, size and content; also refs and notes."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

import pygit2
from pygit2.enums import ObjectType

from ingot_git.history.named_refs import named_root
from ingot_git.history.objects import VISIBLE_REFS
from ingot_git.process.configuration import HIDDEN_REFS
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.refs import each_ref, is_object_id
from ingot_git.refs.trees import (
    FOLDER,
    SUBMODULE,
    Entry,
    TreeEntries,
    blob_sizes,
    entry_at,
    list_tree,
)
from ingot_git.storage.read_cache import ReadCache

MOST_ENTRIES = 100_000
"""Maximum number of entries of a tree and its folders that are read."""
MOST_WORDS = 10
"""Maximum number of search words; further ones are ignored."""
NOTES = "refs/notes/commits"
_KINDS = {
    int(ObjectType.COMMIT): "commit",
    int(ObjectType.TREE): "tree",
    int(ObjectType.BLOB): "blob",
    int(ObjectType.TAG): "tag",
}


@dataclass(frozen=True, slots=True)
class ObjectHeader:
    """An object. ``kind`` is commit, tree, blob or tag; ``size`` is in bytes."""

    oid: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class TreePage:
    """A page of tree entries. ``sizes`` has the sizes in bytes of the blobs on this page, by id.

    ``complete`` is False if the tree has too many entries: then ``total`` does not count all of them.
    """

    entries: Sequence[Entry]
    sizes: dict[str, int]
    total: int
    complete: bool


def object_header(repo: pygit2.Repository, oid: str) -> ObjectHeader:
    """Return type and size of the object with this id (full). Raises ObjectNotFound."""
    try:
        kind, size = repo.odb.read_header(oid) if is_object_id(oid) else (0, 0)
    except KeyError:
        raise ObjectNotFound("no such object") from None
    if int(kind) not in _KINDS:
        raise ObjectNotFound("no such object")
    return ObjectHeader(oid, _KINDS[int(kind)], size)


def read_data(repo: pygit2.Repository, oid: str) -> bytes:
    """Return the content of the object with this id (full). The object must exist and be small."""
    return repo.odb.read(oid)[1]


def named_tree(repo: pygit2.Repository, name: str) -> tuple[str, str]:
    """Resolve `<ref>` or `<ref>:<path>` to a tree. Return the id to show, and the id of the tree.

    The id to show is the id of the commit, unless a path is given. Raises RefNotFound, ObjectNotFound.
    """
    ref, separator, path = name.partition(":")
    shown, root = named_root(repo, ref)
    entry = entry_at(repo, root, path.strip("/"))
    if entry.mode != FOLDER:
        raise ObjectNotFound("not a folder")
    return (entry.oid if separator else shown), entry.oid


def tree_page(
    repo: pygit2.Repository, tree: str, cache: ReadCache, *, recursive: bool, offset: int, limit: int
) -> TreePage:
    """Return a page of the entries of a tree (full id). With ``recursive``, include all subfolders."""
    listing = _listing(repo, tree, cache, recursive=recursive)
    entries = listing.entries[offset : offset + limit]
    key = (tree, recursive, offset, limit)
    sizes = cache.blob_sizes.get(key)
    if sizes is None:
        sizes = blob_sizes(repo, entries)
        cache.blob_sizes.put(key, sizes, size=len(sizes) + 1)
    return TreePage(entries, sizes, len(listing.entries), listing.complete)


def page_of_files_named(
    repo: pygit2.Repository, tree: str, cache: ReadCache, text: str, *, offset: int, limit: int
) -> TreePage:
    """Return a page of the files of a tree (full id) whose paths contain all words of ``text``.

    If no path contains them, return files whose paths contain the characters of ``text`` in their order. Case
    is ignored. Files with matching names come first, and short paths before long ones.
    """
    listing, files, paths = _files(repo, tree, cache)
    words = list(dict.fromkeys(text.lower().split()))[:MOST_WORDS]
    indexes: Sequence[int] = range(len(paths))
    for word in words:
        indexes = [index for index in indexes if word in paths[index]]
    if not indexes:
        letters = [re.escape(letter) for letter in "".join(text.lower().split())]
        # Each letter at its first place after the one before: the expression never goes back.
        in_order = re.compile("".join(f"[^{letter}]*{letter}" for letter in letters), re.DOTALL)
        indexes = [index for index, path in enumerate(paths) if in_order.match(path)]

    def rank(index: int) -> tuple[bool, int, str]:
        name = paths[index].rpartition("/")[2]
        return any(word not in name for word in words), len(paths[index]), paths[index]

    entries = [files[index] for index in nsmallest(offset + limit, indexes, key=rank)[offset:]]
    return TreePage(entries, blob_sizes(repo, entries), len(indexes), listing.complete)


def list_files(repo: pygit2.Repository, tree: str, cache: ReadCache) -> tuple[list[Entry], bool]:
    """Return the files of a tree (full id) and all its subfolders, and False if the list is incomplete."""
    listing, files, _ = _files(repo, tree, cache)
    return files, listing.complete


def _files(
    repo: pygit2.Repository, tree: str, cache: ReadCache
) -> tuple[TreeEntries, list[Entry], list[str]]:
    """Return all entries of a tree and its subfolders, the files, and the paths of files in lower case."""
    key = (tree, "files")
    remembered: tuple[TreeEntries, list[Entry], list[str]] | None = cache.listings.get(key)
    if remembered is None:
        listing = _listing(repo, tree, cache, recursive=True)
        files = [entry for entry in listing.entries if entry.mode not in (FOLDER, SUBMODULE)]
        remembered = listing, files, [entry.path.lower() for entry in files]
        cache.listings.put(key, remembered, size=len(files) + 1)
    return remembered


def _listing(repo: pygit2.Repository, tree: str, cache: ReadCache, *, recursive: bool) -> TreeEntries:
    listing = cache.listings.get((tree, recursive))
    if listing is None:
        listing = list_tree(repo, tree, recursive=recursive, most=MOST_ENTRIES)
        cache.listings.put((tree, recursive), listing, size=len(listing.entries) + 1)
    return listing


def page_of_refs(
    repo: pygit2.Repository, prefix: str, *, offset: int, limit: int
) -> tuple[list[tuple[str, ObjectHeader]], int]:
    """Return a page of visible refs with a prefix, by name, each with its object, and the number of refs."""
    page, total = [], 0
    for name, oid in each_ref(repo, *VISIBLE_REFS):
        if not name.startswith(prefix) or name.startswith(HIDDEN_REFS):
            continue
        total += 1
        if offset < total <= offset + limit:
            with contextlib.suppress(ObjectNotFound):  # a damaged ref
                page.append((name, object_header(repo, oid)))
    return page, total


def note_of(repo: pygit2.Repository, commit: str) -> str:
    """Return the note of a commit (full id). Raises ObjectNotFound."""
    try:
        note = repo.lookup_note(commit, NOTES)
    except (KeyError, pygit2.GitError):
        raise ObjectNotFound("there is no note") from None
    return note.message
