"""Pages of a wiki: Markdown files of the root folder of a branch or commit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pygit2

from ingot_git.history.commits import Clip, CommitInfo, describe, find_commit
from ingot_git.history.history import HistoryFilter, HistoryPage, history_page
from ingot_git.history.last_changes import last_changes
from ingot_git.history.named_refs import named_ref
from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.trees import Entry, entry_at, list_folder
from ingot_git.storage.read_cache import ReadCache

MOST_ENTRIES = 10_000
"""Limit of entries of the root folder."""
MOST_SEARCHED = 32 * 1024 * 1024
"""Limit of bytes that a search reads. Pages beyond it are found by their names only."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the root folder, the latest commit that changed it, and the number of such commits."""

    name: str
    oid: str
    data: bytes
    latest: CommitInfo
    commits: int


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a list. ``latest`` is None if its latest commit is beyond the limits of the search."""

    name: str
    latest: CommitInfo | None


def read_file(
    repo: pygit2.Repository, branch: str, names: Sequence[str], cache: ReadCache, clip: Clip
) -> PageFile | None:
    """Return the first existing file of ``names``, or None. Raises RefNotFound."""
    commit = named_ref(repo, branch).commit
    entry = _find(repo, commit, names)
    if entry is None:
        return None
    history = _history(repo, commit, entry.name, cache, clip, 0, 1)
    data = bytes(repo.odb.read(entry.oid)[1])
    latest = history.commits[0] if history.commits else describe(find_commit(repo, commit))
    return PageFile(entry.name, entry.oid, data, latest, history.total)


def read_texts(repo: pygit2.Repository, branch: str, names: Sequence[str]) -> list[bytes]:
    """Return the content of each file, empty for a missing one. Raises RefNotFound."""
    commit = named_ref(repo, branch).commit
    entries = (_find(repo, commit, [name]) for name in names)
    return [bytes(repo.odb.read(entry.oid)[1]) if entry is not None else b"" for entry in entries]


def file_history(
    repo: pygit2.Repository,
    branch: str,
    names: Sequence[str],
    cache: ReadCache,
    clip: Clip,
    offset: int,
    limit: int,
) -> HistoryPage | None:
    """Return a page of the history of the first existing file of ``names``, or None. Raises RefNotFound."""
    commit = named_ref(repo, branch).commit
    entry = _find(repo, commit, names)
    return None if entry is None else _history(repo, commit, entry.name, cache, clip, offset, limit)


def list_files(
    repo: pygit2.Repository,
    branch: str,
    is_listed: Callable[[str], bool],
    matches: Callable[[str, bytes], bool] | None,
    cache: ReadCache,
    clip: Clip,
    offset: int,
    limit: int,
) -> tuple[list[ListedFile], int]:
    """Return a page of the files of the root folder, and the number of all selected files.

    ``is_listed`` selects files by name, ``matches`` by name and content. Raises RefNotFound, OutputTooLarge.
    """
    commit = named_ref(repo, branch).commit
    tree = str(find_commit(repo, commit).tree_id)
    files = [entry for entry in list_folder(repo, tree, "", most=MOST_ENTRIES) if entry.kind == "file"]
    files = [entry for entry in files if is_listed(entry.name)]
    if matches is not None:
        files = _matching(repo, files, matches)
    part = files[offset : offset + limit]
    changes = last_changes(repo, commit, "", [entry.name for entry in part], cache.last_changes)
    return [ListedFile(one.name, _latest(repo, changes.get(one.name), clip)) for one in part], len(files)


def _matching(
    repo: pygit2.Repository, files: Sequence[Entry], matches: Callable[[str, bytes], bool]
) -> list[Entry]:
    matching, left = [], MOST_SEARCHED
    for entry in files:
        size = repo.odb.read_header(entry.oid)[1]
        left -= size
        if matches(entry.name, bytes(repo.odb.read(entry.oid)[1]) if left >= 0 else b""):
            matching.append(entry)
    return matching


def _latest(repo: pygit2.Repository, oid: str | None, clip: Clip) -> CommitInfo | None:
    return clip(describe(find_commit(repo, oid))) if oid else None


def _find(repo: pygit2.Repository, commit: str, names: Sequence[str]) -> Entry | None:
    tree = str(find_commit(repo, commit).tree_id)
    for name in names:
        try:
            entry = entry_at(repo, tree, name)
        except ObjectNotFound:
            continue
        if entry.kind == "file":
            return entry
    return None


def _history(
    repo: pygit2.Repository, commit: str, name: str, cache: ReadCache, clip: Clip, offset: int, limit: int
) -> HistoryPage:
    return history_page(
        repo, commit, HistoryFilter(name), offset=offset, limit=limit, totals=cache.totals, clip=clip
    )
