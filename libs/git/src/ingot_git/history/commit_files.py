"""Files and line counts that commits change against their first parent; cached by commit."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import pygit2

from ingot_git.history.changes import FolderReader, changed_entries
from ingot_git.history.commits import CommitInfo
from ingot_git.process.command import MIB, GitArgs, git_async
from ingot_git.process.cpu_time import READ
from ingot_git.process.errors import GitFailed, GitTimedOut, GitTooExpensive, OutputTooLarge
from ingot_git.refs.refs import is_object_id
from ingot_git.storage.read_cache import SharedCache
from ingot_git.storage.storage import Storage

MOST_FILES = 1_000
"""Maximum number of files listed per commit. Lines are counted in all files."""
MOST_ENTRIES = 100_000
"""Maximum number of folder entries that are checked before git may read the files of a commit."""
_MOST_ENTRIES_OF_ALL = 4 * MOST_ENTRIES
_SECONDS = 20.0
_STATUS: dict[str, Literal["added", "removed"]] = {"A": "added", "D": "removed"}


class AffectedFile(msgspec.Struct, frozen=True):
    """A changed file. A rename is a removal and an addition."""

    filename: str
    status: Literal["added", "removed", "modified"]


class CommitFiles(msgspec.Struct, frozen=True):
    """The files that a commit changes. The line counts exclude binary files.

    ``whole`` is False if there are too many files to read.
    """

    files: tuple[AffectedFile, ...] = ()
    additions: int = 0
    deletions: int = 0
    whole: bool = True


async def files_of(
    storage: Storage, repository_id: int, commits: Sequence[CommitInfo], cache: SharedCache[CommitFiles]
) -> dict[str, CommitFiles]:
    """Return the files of each commit by its id. Commits with too many files are skipped.

    Commits that git could not read within the limits are skipped, too.
    """
    files = {info.oid: cached for info in commits if (cached := cache.get(info.oid)) is not None}
    unread = [info for info in commits if info.oid not in files]
    if unread:
        files |= await _read(storage, repository_id, unread, cache)
    return {oid: changes for oid, changes in files.items() if changes.whole}


def readable(
    repo: pygit2.Repository, commits: Sequence[CommitInfo]
) -> tuple[list[CommitInfo], list[CommitInfo]]:
    """Return the commits that git can read quickly, and commits with too many files.

    Commits in neither list were not checked. A few trees can describe billions of files, and git reads all of
    them.
    """
    few, many = [], []
    entries, folders = _MOST_ENTRIES_OF_ALL, FolderReader(repo)
    for info in commits:
        if entries <= 0:
            break
        most = min(entries, MOST_ENTRIES)
        read = changed_entries(repo, info, most, folders)
        entries -= read
        if read < most:
            few.append(info)
        elif most == MOST_ENTRIES:
            many.append(info)
    return few, many


async def _read(
    storage: Storage, repository_id: int, commits: Sequence[CommitInfo], cache: SharedCache[CommitFiles]
) -> dict[str, CommitFiles]:
    unread, many = await storage.call(repository_id, readable, commits)
    for info in many:
        cache.put(info.oid, CommitFiles(whole=False))
    if not unread:
        return {}
    lines = (" ".join((info.oid, *info.parents[:1])) for info in unread)
    options = (
        "--stdin", "-z", "-r", "--raw", "--numstat", "--root",
        "--no-renames", "--no-ext-diff", "--no-textconv",
    )  # fmt: skip
    try:
        output = await git_async(
            GitArgs("diff-tree", options),
            git_dir=storage.path(repository_id),
            stdin="".join(f"{line}\n" for line in lines).encode(),
            time_limit=_SECONDS,
            max_output=16 * MIB,
            max_cpu=READ,
        )
    except GitTooExpensive:
        if len(unread) == 1:  # with several commits, the expensive one is unknown
            cache.put(unread[0].oid, CommitFiles(whole=False))
        return {}
    except (GitFailed, GitTimedOut, OutputTooLarge):
        return {}
    read = {info.oid: CommitFiles() for info in unread} | _parse(output.decode("utf-8", "replace"))
    for oid, changes in read.items():
        cache.put(oid, changes, size=len(changes.files) + 1)
    return read


def _parse(output: str) -> dict[str, CommitFiles]:
    """Parse `--raw --numstat -z` (git-diff-tree(1)): per commit its id, raw records, then counts."""
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
