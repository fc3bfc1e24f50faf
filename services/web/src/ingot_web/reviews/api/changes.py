"""Changes of a pull request for a page. Rejects a request for changes that are no longer current.

A request names the changes by the head commit, the base branch and the merge base (``TARGET``).
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

from ingot_chassis.errors import Conflict
from ingot_web.diffs.api.changes import FILES, read_diff
from ingot_web.diffs.rules.generated_files import folding
from ingot_web.diffs.rules.parsing import Diff
from ingot_web.repositories.api.frames import RepositoryFrame

TARGET = ("commit_id", "base_branch", "merge_base")
READS = 3
"""Number of attempts to read a pull request and its first page of changes in the same state."""
AGAIN = "Look at the changes as they are now, then send your review again"


class PullChanges(NamedTuple):
    """A pull request and a part of its changes. If the changes have moved, ``problem`` is the error."""

    pull: Any
    changes: Diff | None
    pages: Mapping[str, Any]
    problem: Conflict | None = None


def changes_shown(pull: Any) -> dict[str, str]:
    """Return the target of the changes on a page, by the field names of forms and the API."""
    return {
        "commit_id": pull["head"]["sha"],
        "base_branch": pull["base"]["ref"],
        "merge_base": pull.get("merge_base") or "",
    }


async def read_pull_changes(frame: RepositoryFrame, index: int) -> PullChanges:
    """Return a pull request and the requested part of its changes, for the target in the query.

    A request for a part of an open page must name the target. Forms on the page do that.
    """
    query, pages = frame.request.query_params, frame.request.pages_of(0)
    named = {name: query[name] for name in TARGET if query.get(name)}
    path = frame.api("pulls", f"{index}.diff")
    for _ in range(READS):
        pull = await frame.forge.get("issues", frame.api("pulls", index))
        present = changes_shown(pull)
        if (frame.request.wants_part and "commit_id" not in named) or any(
            present[name] != named[name] for name in named
        ):
            return PullChanges(pull, None, pages, Conflict(moved_words(named, present)))
        folds = folding(await _attributes(frame, present["commit_id"]))
        try:
            part = await read_diff(frame, "issues", path, size=FILES, limit="files", folds=folds, **present)
        except Conflict:
            continue
        return PullChanges(pull, *part)
    return PullChanges(pull, None, pages, Conflict("The changes moved while this page was made"))


async def _attributes(frame: RepositoryFrame, commit: str) -> str:
    """Return the text of ``.gitattributes`` in a commit; empty if the file is missing."""
    path = frame.api("contents-ext", ".gitattributes")
    listed = await frame.forge.get_if_there("repos", path, ref=commit, includes="file_content")
    file = listed.get("file_contents") if isinstance(listed, dict) else None
    if not file or file["type"] != "file" or not file.get("content"):
        return ""
    return b64decode(file["content"]).decode("utf-8", "replace")


def moved_words(shown: Mapping[str, str], present: Mapping[str, str]) -> str:
    """Return a sentence about the difference between the shown and the current target of a pull request."""
    commit, base = shown.get("commit_id", ""), shown.get("base_branch", present["base_branch"])
    if not commit:
        return "The page does not say of which commit its changes are"
    if commit != present["commit_id"]:
        return f"The head was {commit[:10]} and is now {present['commit_id'][:10]}"
    if base != present["base_branch"]:
        return f"It went into {base} and goes now into {present['base_branch']}"
    return "The base branch has moved, and other changes are left"
