"""How many bytes of which programming language a commit has, by the names of its files.

The table beside this module comes from github-linguist; languages of data and prose do not count, nor do files that
other projects wrote or a machine made.
"""

import json
from functools import cache
from pathlib import Path

import pygit2

from ingot_repos.git.commits import find_commit
from ingot_repos.git.errors import ObjectNotFound, RefNotFound
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.trees import Entry, blob_sizes, list_tree

MOST_ENTRIES = 100_000
MOST_FILES = 20_000
"""Files whose size is read; of a larger repository the first ones speak for all."""
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
    languages = cache_.get(tree)
    if languages is None:
        languages = _count(repo, tree)
        cache_.put(tree, languages)
    return languages


def main_language(repo: pygit2.Repository, branch: str) -> str:
    """The language of most bytes at the newest commit of a branch; empty without any."""
    try:
        tree = str(find_commit(repo, named_ref(repo, branch).commit).tree_id)
    except (RefNotFound, ObjectNotFound):
        return ""
    return next(iter(_count(repo, tree)), "")


def language_of(path: str) -> str:
    """The language of a file by its name; empty if it has none that counts."""
    *folders, name = path.split("/")
    if not _FOREIGN.isdisjoint(folder.lower() for folder in folders) or name.lower().endswith(_GENERATED):
        return ""
    extensions, names = _table()
    if name in names:
        return names[name]
    parts = name.lower().split(".")
    candidates = ("." + ".".join(parts[start:]) for start in range(1, len(parts)))
    return next((extensions[candidate] for candidate in candidates if candidate in extensions), "")


def _count(repo: pygit2.Repository, tree: str) -> dict[str, int]:
    files: list[tuple[str, Entry]] = []
    for entry in list_tree(repo, tree, recursive=True, most=MOST_ENTRIES).entries:
        if entry.kind == "file" and (language := language_of(entry.path)):
            files.append((language, entry))
        if len(files) >= MOST_FILES:
            break
    sizes = blob_sizes(repo, (entry for _, entry in files))
    totals: dict[str, int] = {}
    for language, entry in files:
        totals[language] = totals.get(language, 0) + sizes[entry.oid]
    return dict(sorted(((name, size) for name, size in totals.items() if size), key=lambda pair: -pair[1]))


@cache
def _table() -> tuple[dict[str, str], dict[str, str]]:
    """Language by extension in lower case, and by whole name."""
    data = json.loads(Path(__file__).with_name("languages.json").read_text())
    return data["extensions"], data["names"]
