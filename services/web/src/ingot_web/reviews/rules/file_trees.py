"""The changed files of a pull request by folder, for the list next to the changes."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingot_web.diffs.rules.parsing import Diff, anchor_of
from ingot_web.reviews.rules.conversations import Conversation


@dataclass(frozen=True)
class TreeFile:
    """A changed file. ``page`` is the number of the page of changes that shows it."""

    number: int
    path: str
    name: str
    status: str
    additions: int
    deletions: int
    page: int
    open_conversations: int
    view: str
    """"Viewed", "Changed since you viewed it", or empty; "Viewed before" for a file on another page."""

    @property
    def anchor(self) -> str:
        return anchor_of(self.path)


@dataclass
class FileTree:
    """The first files of a pull request by folder. ``omitted`` is the number of files that are not listed."""

    folders: dict[str, list[TreeFile]] = field(default_factory=dict)
    omitted: int = 0

    def number_of(self, path: str) -> int:
        """Return the number of a file; 0 if it is not listed."""
        files = (file for files in self.folders.values() for file in files)
        return next((file.number for file in files if file.path == path), 0)


def file_tree(
    listed: list[Any],
    total: int,
    size: int,
    conversations: Iterable[Conversation] = (),
    views: Mapping[str, str] | None = None,
    diff: Diff | None = None,
) -> FileTree:
    """Return the tree of ``listed``, which are changed files of the API.

    ``size`` is the number of files per page.
    """
    talks = Counter(one.path for one in conversations if not one.resolver and not one.is_outdated)
    shown = {file.path: file.view for file in diff.files if file.view} if diff else {}
    tree = FileTree(omitted=max(0, total - len(listed)))
    for number, row in enumerate(listed, 1):
        path = row["filename"]
        folder, _, name = path.rpartition("/")
        view = ""
        if (state := shown.get(path)) is not None:
            view = "Viewed" if state.is_same else "Changed since you viewed it" if state.is_outdated else ""
        elif hashlib.sha256(path.encode("utf-8", "replace")).hexdigest() in (views or {}):
            view = "Viewed before"
        file = TreeFile(
            number=number,
            path=path,
            name=name,
            status=row["status"],
            additions=row["additions"],
            deletions=row["deletions"],
            page=(number - 1) // size + 1,
            open_conversations=talks[path],
            view=view,
        )
        tree.folders.setdefault(folder, []).append(file)
    return tree
