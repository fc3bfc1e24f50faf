"""How many bytes of which programming language a commit has, by the names of its files.

The table beside this module comes from github-linguist; languages of data and prose do not count, nor do files that
other projects wrote or a machine made.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pygit2

from ingot_repos.git.commits import find_commit
from ingot_repos.git.errors import ObjectNotFound, RefNotFound
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.trees import DEEPEST, blob_sizes, list_tree

MOST_ENTRIES = 100_000
MOST_FILES = 20_000
"""Files whose size is read; of a larger repository the first ones speak for all."""
MOST_BYTES = 2**53 - 1
"""What each client can read. One tree may stand in many folders, so a small repository may have more than any disk."""
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
    """Language to bytes, the largest first, at the newest commit of a branch. Raises RefNotFound."""
    commit = named_ref(repo, branch).commit
    tree = str(find_commit(repo, commit).tree_id)
    return _Count(repo, cache_).of(tree)


def main_language(repo: pygit2.Repository, branch: str, cache_: SharedCache[dict[str, int]]) -> str:
    """The language of most bytes at the newest commit of a branch; empty without any."""
    try:
        tree = str(find_commit(repo, named_ref(repo, branch).commit).tree_id)
    except (RefNotFound, ObjectNotFound):
        return ""
    return next(iter(_Count(repo, cache_).of(tree)), "")


def language_of(name: str) -> str:
    """The language of a file by its name; empty if it has none that counts."""
    if name.lower().endswith(_GENERATED):
        return ""
    extensions, names = _table()
    if name in names:
        return names[name]
    parts = name.lower().split(".")
    candidates = ("." + ".".join(parts[start:]) for start in range(1, len(parts)))
    return next((extensions[candidate] for candidate in candidates if candidate in extensions), "")


class _Count:
    """One count of a tree. What a folder has is remembered by its tree, so after a push only those that changed are read."""

    def __init__(self, repo: pygit2.Repository, cache_: SharedCache[dict[str, int]]) -> None:
        self._repo, self._cache = repo, cache_
        self._entries_left, self._files_left = MOST_ENTRIES, MOST_FILES
        self._is_complete = True

    def of(self, tree: str, depth: int = 0) -> dict[str, int]:
        """Language to bytes, the largest first."""
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
    """Language by extension in lower case, and by whole name."""
    data = json.loads(Path(__file__).with_name("languages.json").read_text())
    return data["extensions"], data["names"]
