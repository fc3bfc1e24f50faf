"""Which files commits change against their first parent, and how many lines; read by git, remembered by commit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ingot_repos.git.command import MIB, GitArgs, git_async
from ingot_repos.git.commits import CommitInfo
from ingot_repos.git.errors import GitFailed, GitTimedOut, OutputTooLarge
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.refs import is_object_id

MOST_FILES = 1_000
"""Files of one commit that are listed; its lines are counted in all of them."""
_SECONDS = 20.0
_STATUS: dict[str, Literal["added", "removed"]] = {"A": "added", "D": "removed"}


class AffectedFile(msgspec.Struct, frozen=True):
    """A rename is a removal and an addition."""

    filename: str
    status: Literal["added", "removed", "modified"]


class CommitFiles(msgspec.Struct, frozen=True):
    """The files that a commit changes. Lines are not counted in binary files."""

    files: tuple[AffectedFile, ...] = ()
    additions: int = 0
    deletions: int = 0


async def files_of(
    path: Path, commits: Sequence[CommitInfo], cache: SharedCache[CommitFiles]
) -> dict[str, CommitFiles]:
    """The files of each commit, by its id; a commit is left out if they are too many to be read."""
    files = {info.oid: cached for info in commits if (cached := cache.get(info.oid)) is not None}
    unread = [info for info in commits if info.oid not in files]
    if not unread:
        return files
    lines = (" ".join((info.oid, *info.parents[:1])) for info in unread)
    options = (
        "--stdin", "-z", "-r", "--raw", "--numstat", "--root", "--no-renames", "--no-ext-diff", "--no-textconv",
    )  # fmt: skip
    try:
        output = await git_async(
            GitArgs("diff-tree", options),
            git_dir=path,
            stdin="".join(f"{line}\n" for line in lines).encode(),
            time_limit=_SECONDS,
            max_output=16 * MIB,
        )
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return files
    read = {info.oid: CommitFiles() for info in unread} | _parse(output.decode("utf-8", "replace"))
    for oid, changes in read.items():
        cache.put(oid, changes, size=len(changes.files) + 1)
    return files | read


def _parse(output: str) -> dict[str, CommitFiles]:
    """Read `--raw --numstat -z` (git-diff-tree(1)): of each commit its id, raw records, then counts."""
    changes: dict[str, CommitFiles] = {}
    files: list[AffectedFile] = []
    oid, additions, deletions = "", 0, 0
    fields = iter(output.split("\0")[:-1])
    for field in fields:
        if field.startswith(":"):
            name = next(fields)
            if len(files) < MOST_FILES:
                files.append(AffectedFile(name, _STATUS.get(field.rsplit(" ", 1)[1][0], "modified")))
        elif is_object_id(field):
            if oid:
                changes[oid] = CommitFiles(tuple(files), additions, deletions)
            oid, files, additions, deletions = field, [], 0, 0
        else:
            added, removed, _ = field.split("\t", 2)
            additions += int(added) if added != "-" else 0
            deletions += int(removed) if removed != "-" else 0
    if oid:
        changes[oid] = CommitFiles(tuple(files), additions, deletions)
    return changes
