"""Finds the commit of each line of a file with git-blame(1), with bounded work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2

from ingot_git.history.named_refs import named_ref
from ingot_git.history.objects import read_blob
from ingot_git.process.command import MIB, GitArgs, git_async
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.process.errors import OutputTooLarge
from ingot_git.process.quoted_paths import unquoted

LARGEST = 512 * 1024
MOST_LINES = 10_000
LONGEST_TEXT = 200
"""Characters of a title, a name or an address."""
_SECONDS = 6.0
_MEMORY = 512 * MIB
MAX_CPU = CpuLimit(0.6)


@dataclass(frozen=True, slots=True)
class BlamedCommit:
    """A commit that some lines of a file come from.

    ``path`` is the path of the file in this commit. ``previous`` is an earlier commit without these lines,
    where the file has the path ``previous_path``. Both are empty if there is no such commit.
    """

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
    """``count`` consecutive lines of one commit, starting with line ``first``."""

    first: int
    count: int
    sha: str


@dataclass(frozen=True, slots=True)
class Blame:
    """All lines of a file in order, and all their commits."""

    lines: tuple[BlamedLines, ...]
    commits: tuple[BlamedCommit, ...]

    @property
    def weight(self) -> int:
        """Return the approximate memory use of the blame, in units of one line."""
        paths = sum(len(commit.path) + len(commit.previous_path) for commit in self.commits)
        return len(self.lines) + 4 * len(self.commits) + paths // 100


def file_to_blame(repo: pygit2.Repository, name: str, path: str) -> tuple[str, str]:
    """Return the ids of the commit that ``name`` refers to, and of the file in it.

    Raises:
        RefNotFound, ObjectNotFound: the ref or the file does not exist.
        OutputTooLarge: the file is too large, has too many lines, or is binary.
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
    """Return the lines of a file of a commit (full id). Raises GitFailed and GitTimedOut."""
    output = await git_async(
        GitArgs("blame", ("--porcelain", "--encoding=UTF-8"), (commit,), (path,)),
        git_dir=git_dir,
        time_limit=_SECONDS,
        max_output=16 * MIB,
        max_memory=_MEMORY,
        max_cpu=MAX_CPU,
    )
    return parse(output)


def parse(output: bytes) -> Blame:
    """Parse the output of ``git blame --porcelain`` (git-blame(1)), which quotes file names as in C."""
    commits: dict[str, dict[str, bytes]] = {}
    runs: list[BlamedLines] = []
    sha = ""
    for line in output.split(b"\n"):
        key, _, value = line.partition(b" ")
        if line.startswith(b"\t"):
            sha = ""
        elif sha:
            commits[sha][key.decode("ascii", "replace")] = value
        elif value:
            sha = key.decode("ascii", "replace")
            commits.setdefault(sha, {})
            last = runs[-1] if runs else None
            if last is not None and last.sha == sha:
                runs[-1] = BlamedLines(last.first, last.count + 1, sha)
            else:
                runs.append(BlamedLines(int(value.split(b" ")[1]), 1, sha))
    return Blame(tuple(runs), tuple(_commit(sha, headers) for sha, headers in commits.items()))


def _commit(sha: str, headers: Mapping[str, bytes]) -> BlamedCommit:
    previous, _, previous_path = headers.get("previous", b"").partition(b" ")
    texts = {key: value.decode("utf-8", "replace") for key, value in headers.items()}
    return BlamedCommit(
        sha,
        title=texts.get("summary", "")[:LONGEST_TEXT],
        author_name=texts.get("author", "")[:LONGEST_TEXT],
        author_email=texts.get("author-mail", "").removeprefix("<").removesuffix(">")[:LONGEST_TEXT],
        created=_moment(texts.get("author-time", "")),
        path=unquoted(headers.get("filename", b"")).decode("utf-8", "replace"),
        previous=previous.decode("ascii", "replace"),
        previous_path=unquoted(previous_path).decode("utf-8", "replace"),
    )


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
