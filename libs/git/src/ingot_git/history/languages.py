"""Counts the bytes of programming languages in a commit by file names.

The table in languages.json comes from github-linguist. Languages of data and prose do not count. Third-party
and generated files do not count either.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.process.errors import ObjectNotFound, RefNotFound
from ingot_git.refs.refs import get_branch
from ingot_git.refs.trees import DEEPEST, blob_sizes, list_tree
from ingot_git.storage.read_cache import SharedCache

MOST_ENTRIES = 100_000
MOST_FILES = 20_000
"""Files whose size is read; in a larger repository the first files represent all."""
MOST_BYTES = 2**53 - 1
"""The largest integer for all clients. A tree can be in many folders, so totals may exceed any disk."""
_FOREIGN = frozenset(
    (
        "node_modules",
        "bower_components",
        "vendor",
        "third_party",
        "third-party",
        "dist",
        "testdata",
        "fixtures",
    )
)
_GENERATED = (".min.js", ".min.css", ".pb.go", "_pb2.py", ".designer.cs", "-lock.json", ".bundle.js")


def languages_of(repo: pygit2.Repository, branch: str, cache_: SharedCache[dict[str, int]]) -> dict[str, int]:
    """Return bytes by language, the largest first, in the latest commit of a branch. Raises RefNotFound."""
    commit = get_branch(repo, branch).oid
    tree = str(find_commit(repo, commit).tree_id)
    return _Count(repo, cache_).of(tree)


def main_language(repo: pygit2.Repository, branch: str, cache_: SharedCache[dict[str, int]]) -> str:
    """Return the language with most bytes in the latest commit of a branch; empty if there is none."""
    try:
        tree = str(find_commit(repo, get_branch(repo, branch).oid).tree_id)
    except (RefNotFound, ObjectNotFound):
        return ""
    return next(iter(_Count(repo, cache_).of(tree)), "")


def language_of(name: str) -> str:
    """Return the language of a file by its name; empty if no counted language matches."""
    if name.lower().endswith(_GENERATED):
        return ""
    extensions, names = _table()
    if name in names:
        return names[name]
    parts = name.lower().split(".")
    candidates = ("." + ".".join(parts[start:]) for start in range(1, len(parts)))
    return next((extensions[candidate] for candidate in candidates if candidate in extensions), "")


class _Count:
    """Counts bytes by language. Folders are cached by tree id, so a push costs only changed folders."""

    def __init__(self, repo: pygit2.Repository, cache_: SharedCache[dict[str, int]]) -> None:
        self._repo, self._cache = repo, cache_
        self._entries_left, self._files_left = MOST_ENTRIES, MOST_FILES
        self._is_complete = True

    def of(self, tree: str, depth: int = 0) -> dict[str, int]:
        """Return bytes by language in a tree, the largest first."""
        remembered = self._cache.get(tree)
        if remembered is not None:
            return remembered
        was_complete, self._is_complete = self._is_complete, depth < DEEPEST
        totals: Counter[str] = Counter()
        listed = list_tree(
            self._repo, tree, recursive=False, most=self._entries_left if depth < DEEPEST else 0
        )
        self._entries_left -= len(listed.entries)
        files = [
            (language, entry)
            for entry in listed.entries
            if entry.kind == "file" and (language := language_of(entry.name))
        ]
        counted = files[: self._files_left]
        self._files_left -= len(counted)
        self._is_complete &= listed.complete and len(counted) == len(files)
        sizes = blob_sizes(self._repo, (entry for _, entry in counted))
        for language, entry in counted:
            totals[language] += sizes[entry.oid]
        for entry in listed.entries:
            if entry.kind == "dir" and entry.name.lower() not in _FOREIGN:
                totals.update(self.of(entry.oid, depth + 1))
        languages = {name: min(size, MOST_BYTES) for name, size in totals.most_common() if size}
        if self._is_complete or not depth:
            self._cache.put(tree, languages, size=1 + len(languages))
        self._is_complete &= was_complete
        return languages


@cache
def _table() -> tuple[dict[str, str], dict[str, str]]:
    """Return languages by extension in lower case, and by complete name."""
    data = json.loads(Path(__file__).with_name("languages.json").read_text())
    return data["extensions"], data["names"]
