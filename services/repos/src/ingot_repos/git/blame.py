"""Which commit each line of a file comes from, told by git(1), with bounded work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2

from ingot_repos.git.command import MIB, GitArgs, git_async
from ingot_repos.git.errors import ObjectNotFound, OutputTooLarge
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.objects import read_blob

LARGEST = 512 * 1024
MOST_LINES = 10_000
LONGEST_TEXT = 200
"""Characters of a title, a name or an address."""
_SECONDS = 6.0
_MEMORY = 512 * MIB


@dataclass(frozen=True, slots=True)
class BlamedCommit:
    """A commit that lines come from. ``path`` is the file in it; ``previous`` a commit in which they were not there yet."""

    sha: str
    title: str
    author_name: str
    author_email: str
    created: datetime
    path: str
    previous: str
    previous_path: str


@dataclass(frozen=True, slots=True)
class BlamedLines:
    """``count`` lines from the ``first`` one on, all of one commit."""

    first: int
    count: int
    sha: str


@dataclass(frozen=True, slots=True)
class Blame:
    """Every line of a file, from the first to the last, and each commit that is named."""

    lines: tuple[BlamedLines, ...]
    commits: tuple[BlamedCommit, ...]

    @property
    def weight(self) -> int:
        """How much memory it takes, in lines."""
        paths = sum(len(commit.path) + len(commit.previous_path) for commit in self.commits)
        return len(self.lines) + 4 * len(self.commits) + paths // 100


def file_to_blame(repo: pygit2.Repository, name: str, path: str) -> tuple[str, str]:
    """Ids of the commit that ``name`` means and of the file in it.

    Raises:
        RefNotFound, ObjectNotFound: there is no such file.
        OutputTooLarge: it is too large, has too many lines, or is no text.
    """
    commit = named_ref(repo, name).commit
    blob = read_blob(repo, commit, path, max_bytes=LARGEST)
    if blob.data is None:
        raise OutputTooLarge("the file is too large")
    if b"\0" in blob.data:
        raise OutputTooLarge("the file is no text")
    if blob.data.count(b"\n") > MOST_LINES:
        raise OutputTooLarge("the file has too many lines")
    return commit, blob.oid


async def blame(git_dir: Path, commit: str, path: str) -> Blame:
    """The lines of a file of a commit (full id). Raises ObjectNotFound, GitFailed and GitTimedOut."""
    if "\n" in path or "\r" in path:
        raise ObjectNotFound(path)
    output = await git_async(
        GitArgs("blame", ("--porcelain", "--encoding=UTF-8"), (commit, f"./{path}")),
        git_dir=git_dir,
        time_limit=_SECONDS,
        max_output=16 * MIB,
        max_memory=_MEMORY,
    )
    return parse(output.decode("utf-8", "replace"))


def parse(output: str) -> Blame:
    """Read what ``git blame --porcelain`` writes (git-blame(1))."""
    commits: dict[str, dict[str, str]] = {}
    runs: list[BlamedLines] = []
    sha = ""
    for line in output.split("\n"):
        key, _, value = line.partition(" ")
        if line.startswith("\t"):
            sha = ""
        elif sha:
            commits[sha][key] = value
        elif value:
            sha = key
            commits.setdefault(sha, {})
            last = runs[-1] if runs else None
            if last is not None and last.sha == sha:
                runs[-1] = BlamedLines(last.first, last.count + 1, sha)
            else:
                runs.append(BlamedLines(int(value.split(" ")[1]), 1, sha))
    return Blame(tuple(runs), tuple(_commit(sha, headers) for sha, headers in commits.items()))


def _commit(sha: str, headers: Mapping[str, str]) -> BlamedCommit:
    previous, _, previous_path = headers.get("previous", "").partition(" ")
    return BlamedCommit(
        sha,
        title=headers.get("summary", "")[:LONGEST_TEXT],
        author_name=headers.get("author", "")[:LONGEST_TEXT],
        author_email=headers.get("author-mail", "").strip("<>")[:LONGEST_TEXT],
        created=_moment(headers.get("author-time", "")),
        path=headers.get("filename", ""),
        previous=previous,
        previous_path=previous_path,
    )


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
