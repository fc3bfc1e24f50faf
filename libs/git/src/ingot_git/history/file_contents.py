"""Files and folders at a path of a commit: content, size, link target and last change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pygit2

from ingot_git.history.commits import Clip, describe, find_commit, whole
from ingot_git.history.last_changes import last_changes
from ingot_git.history.named_refs import ResolvedName, named_ref, split_named_path
from ingot_git.history.objects import Blob, read_blob
from ingot_git.history.submodules import module_urls
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.trees import FOLDER, LINK, SUBMODULE, Entry, blob_sizes, entry_at, list_folder
from ingot_git.storage.read_cache import ReadCache

MOST_ENTRIES = 10_000
"""Maximum number of entries of a listed folder."""
LONGEST_TARGET = 4096


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last commit that changed a path."""

    oid: str
    message: str
    author_date: datetime
    committer_date: datetime


@dataclass(frozen=True, slots=True)
class Content:
    """The item at one path. ``data`` is None if the item is not a file, was not requested, or is too large.

    ``target`` is the target of a link. ``module_url`` is the URL of a submodule, or None if it is unknown.
    """

    entry: Entry
    size: int
    data: bytes | None = None
    target: str | None = None
    module_url: str | None = None
    last_change: LastChange | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The entries of a folder, or a single item that is not a folder."""

    ref: ResolvedName
    is_folder: bool
    items: tuple[Content, ...]
    total: int = 1
    """Number of entries of the folder; ``items`` may be a part of them."""


def contents_at(
    repo: pygit2.Repository,
    name: str,
    path: str,
    cache: ReadCache,
    *,
    max_bytes: int,
    clip: Clip,
    with_changes: bool = True,
    part: slice | None = None,
) -> Contents:
    """Return the item at a path of a branch, tag or commit. Content is read up to ``max_bytes``.

    For a folder return all entries, or a ``part`` of them with folders first. The messages of their commits
    are clipped. Without ``with_changes`` the items have no last change.

    Raises:
        RefNotFound, ObjectNotFound: the ref or the path does not exist.
        OutputTooLarge: the folder has too many entries.
    """
    ref = named_ref(repo, name)
    root = str(find_commit(repo, ref.commit).tree_id)
    entry = entry_at(repo, root, path)
    if entry.mode == FOLDER:
        key = (ref.commit, path, with_changes, (part.start, part.stop) if part else None)
        remembered = cache.folders.get(key)
        if remembered is None:
            entries = list_folder(repo, entry.oid, path, most=MOST_ENTRIES)
            total = len(entries)
            if part is not None:
                entries = sorted(entries, key=_folders_first)[part]
            items = _contents(repo, ref.commit, root, path, entries, cache, 0, clip if with_changes else None)
            remembered = tuple(items), total
            cache.folders.put(key, remembered, size=sum(map(_size, items)) + 1)
        return Contents(ref, True, *remembered)
    folder = path.rpartition("/")[0]
    items = _contents(
        repo, ref.commit, root, folder, [entry], cache, max_bytes, whole if with_changes else None
    )
    return Contents(ref, False, tuple(items))


def _size(content: Content) -> int:
    """Return the weight of an entry in the cache, in units of about 200 bytes."""
    texts = (content.last_change.message if content.last_change else "", content.target or "")
    return 4 + sum(map(len, texts)) // 200


def _folders_first(entry: Entry) -> tuple[bool, str]:
    return entry.mode not in (FOLDER, SUBMODULE), entry.name.lower()


def files_at(
    repo: pygit2.Repository, name: str, paths: Sequence[str], cache: ReadCache, *, max_bytes: int, clip: Clip
) -> tuple[ResolvedName, list[Content | None]]:
    """Return the resolved name, and the file at each path; None for a missing file or a folder.

    The messages of commits are clipped. ``max_bytes`` limits the contents of all files together. Raises
    RefNotFound.
    """
    ref = named_ref(repo, name)
    root = str(find_commit(repo, ref.commit).tree_id)
    files: list[Content | None] = []
    left = max_bytes
    for path in paths:
        try:
            entry = entry_at(repo, root, path)
        except ObjectNotFound:
            files.append(None)
            continue
        if entry.mode == FOLDER:
            files.append(None)
            continue
        folder = path.rpartition("/")[0]
        content = _contents(repo, ref.commit, root, folder, [entry], cache, left, clip)[0]
        left -= len(content.data or b"")
        files.append(content)
    return ref, files


def blob_at(repo: pygit2.Repository, name: str, path: str, *, max_bytes: int) -> tuple[str, Blob]:
    """Return path and content of a file of a branch, tag or commit. Raises RefNotFound, ObjectNotFound."""
    return path, read_blob(repo, named_ref(repo, name).commit, path, max_bytes=max_bytes)


def file_at(repo: pygit2.Repository, text: str, *, max_bytes: int) -> tuple[str, Blob]:
    """Return path and content of the file at `<ref>/<path>` or `<path>` (see `split_named_path`).

    Raises RefNotFound, ObjectNotFound.
    """
    resolved, path = split_named_path(repo, text)
    return path, read_blob(repo, resolved.commit, path, max_bytes=max_bytes)


def read_change(repo: pygit2.Repository, oid: str, clip: Clip = whole) -> LastChange:
    """Return the commit with this full id, clipped. Raises ObjectNotFound."""
    info = clip(describe(find_commit(repo, oid)))
    return LastChange(info.oid, info.message, info.author.when, info.committer.when)


def _contents(
    repo: pygit2.Repository,
    commit: str,
    root: str,
    folder: str,
    entries: Sequence[Entry],
    cache: ReadCache,
    max_bytes: int,
    clip: Clip | None,
) -> list[Content]:
    """Return the entries of a folder, without their last changes if ``clip`` is None."""
    sizes = blob_sizes(repo, entries)
    has_modules = any(entry.mode == SUBMODULE for entry in entries)
    urls = module_urls(repo, root, cache.module_urls) if has_modules else {}
    changes: dict[str, LastChange] = {}
    if clip is not None:
        names = [entry.name for entry in entries]
        by_name = last_changes(repo, commit, folder, names, cache.last_changes)
        commits = {oid: read_change(repo, oid, clip) for oid in set(by_name.values())}
        changes = {name: commits[oid] for name, oid in by_name.items()}
    contents = []
    for entry in entries:
        size = sizes.get(entry.oid, 0)
        data = target = None
        if entry.mode == LINK and size <= LONGEST_TARGET:
            target = repo.odb.read(entry.oid)[1].decode("utf-8", "replace")
        elif entry.kind == "file" and max_bytes and size <= max_bytes:
            data = repo.odb.read(entry.oid)[1]
        last_change = changes.get(entry.name)
        contents.append(Content(entry, size, data, target, urls.get(entry.path), last_change))
    return contents
