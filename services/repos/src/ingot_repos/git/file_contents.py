"""A path of a commit with what clients want to know of it: content, size, target of a link, last change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pygit2

from ingot_repos.git.commits import Clip, describe, find_commit, whole
from ingot_repos.git.errors import ObjectNotFound
from ingot_repos.git.last_changes import last_changes
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.objects import Blob, read_blob
from ingot_repos.git.read_cache import ReadCache
from ingot_repos.git.refs import ResolvedName
from ingot_repos.git.trees import FOLDER, LINK, SUBMODULE, Entry, blob_sizes, entry_at, list_folder

MOST_ENTRIES = 10_000
"""Entries of a folder that are listed."""
LONGEST_TARGET = 4096
_MODULES_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class LastChange:
    """The commit that changed a path last."""

    oid: str
    message: str
    author_date: datetime
    committer_date: datetime


@dataclass(frozen=True, slots=True)
class Content:
    """One path. ``data`` is None for what is no file, was not asked for, or is too large.

    ``target`` is that of a link, ``module_url`` that of a submodule, if it is written down.
    """

    entry: Entry
    size: int
    data: bytes | None = None
    target: str | None = None
    module_url: str | None = None
    last_change: LastChange | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What is at a path: the entries of a folder, or the one thing that is no folder."""

    ref: ResolvedName
    is_folder: bool
    items: tuple[Content, ...]
    total: int = 1
    """How many entries the folder has; ``items`` may be a part of them."""


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
    """What is at a path of a branch, tag or commit; the content of a file up to ``max_bytes``.

    Of a folder all entries, or a ``part`` of them, for which folders come first; their commits are clipped.

    Raises:
        RefNotFound, ObjectNotFound: there is nothing.
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
    """What an entry counts in the cache, whose entries are about 200 bytes."""
    texts = (content.last_change.message if content.last_change else "", content.target or "")
    return 4 + sum(map(len, texts)) // 200


def _folders_first(entry: Entry) -> tuple[bool, str]:
    return entry.mode not in (FOLDER, SUBMODULE), entry.name.lower()


def files_at(
    repo: pygit2.Repository, name: str, paths: Sequence[str], cache: ReadCache, *, max_bytes: int, clip: Clip
) -> tuple[ResolvedName, list[Content | None]]:
    """The file at each path, None where there is none; contents up to ``max_bytes`` in all, commits clipped. Raises RefNotFound."""
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
    """Path and content of a file of a branch, tag or commit. Raises RefNotFound, ObjectNotFound."""
    return path, read_blob(repo, named_ref(repo, name).commit, path, max_bytes=max_bytes)


def read_change(repo: pygit2.Repository, oid: str, clip: Clip = whole) -> LastChange:
    """The commit with this full id, clipped. Raises ObjectNotFound."""
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
    """``clip`` is None for entries without their last changes."""
    sizes = blob_sizes(repo, entries)
    has_modules = any(entry.mode == SUBMODULE for entry in entries)
    urls = module_urls(repo, root) if has_modules else {}
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


def module_urls(repo: pygit2.Repository, root: str) -> dict[str, str]:
    """Path to URL of each submodule, as `.gitmodules` of a tree (full id) says. A broken file says less."""
    try:
        entry = entry_at(repo, root, ".gitmodules")
    except ObjectNotFound:
        return {}
    if entry.kind != "file" or repo.odb.read_header(entry.oid)[1] > _MODULES_BYTES:
        return {}
    urls: dict[str, str] = {}
    path = url = ""
    for raw_line in repo.odb.read(entry.oid)[1].decode("utf-8", "replace").splitlines():
        line = raw_line.strip()
        if line.startswith("["):
            path = url = ""
        key, separator, value = line.partition("=")
        if separator and key.strip().lower() == "path":
            path = value.strip().strip('"')
        elif separator and key.strip().lower() == "url":
            url = value.strip().strip('"')
        if path and url:
            urls[path] = url
    return urls
