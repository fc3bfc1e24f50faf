"""Pointers of LFS: small files that stand in git for large ones, whose bytes LFS stores.

The form is that of https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from pathlib import Path

import msgspec
import pygit2
from pygit2.enums import SortMode

from ingot_repos.git.command import GitArgs, clean_environment
from ingot_repos.git.commits import find_commit
from ingot_repos.git.errors import RepositoryDamaged
from ingot_repos.git.streaming import stream_git

LONGEST_POINTER = 1023
"""In bytes; a larger file is none."""
_TIME_LIMIT = 24 * 3600.0
_POINTER = re.compile(
    rb"version http(?:s://(?:git-lfs|hawser)\.github\.com/spec/v1|://git-media\.io/v/2)\n"
    rb"(?:ext-[0-9]-[^\n]+\n)*"
    rb"oid sha256:([0-9a-fA-F]{64})\n"
    rb"size ([0-9]{1,18})"
)


class Pointer(msgspec.Struct, frozen=True):
    """``oid`` is the SHA-256 of the large file, in hexadecimal digits."""

    oid: str
    size: int


class Arrivals(msgspec.Struct, frozen=True):
    """What a push has brought while git holds it back: the ids to which its refs are to move, and the folder of its objects.

    ``time_limit``: seconds for looking at it.
    """

    tips: Sequence[str]
    objects: Path
    time_limit: float

    def environment(self, path: Path) -> dict[str, str]:
        """For git to see these objects beside those of the repository (git(1))."""
        return {
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(path / "objects"),
        }


def read_pointer(data: bytes) -> Pointer | None:
    """The pointer that a file is; None for any other file. White space counts no more than for git-lfs itself."""
    if len(data) > LONGEST_POINTER:
        return None
    match = _POINTER.fullmatch(b"\n".join(line.strip() for line in data.splitlines() if line.strip()))
    return None if match is None else Pointer(match[1].decode().lower(), int(match[2]))


def pointers_between(repo: pygit2.Repository, base: str, head: str, *, most_commits: int) -> set[str]:
    """The oids of all pointers that commits of ``head`` add which ``base`` has not; an empty ``base`` has none.

    Of a longer history only the newest ``most_commits`` commits are looked at.
    """
    walker = repo.walk(find_commit(repo, head).id, SortMode.TOPOLOGICAL)
    if base:
        walker.hide(find_commit(repo, base).id)
    oids: set[str] = set()
    looked_at: set[pygit2.Oid] = set()
    for _, commit in zip(range(most_commits), walker, strict=False):
        for blob in _new_blobs(repo, commit):
            if blob not in looked_at:
                looked_at.add(blob)
                if repo.odb.read_header(blob)[1] <= LONGEST_POINTER:
                    pointer = read_pointer(repo.odb.read(blob)[1])
                    oids |= {pointer.oid} if pointer is not None else set()
    return oids


async def history_pointers(
    path: Path, *, at_once: int, new_in: str = "", push: Arrivals | None = None
) -> AsyncGenerator[list[Pointer], None]:
    """All pointers in the history of all refs, at most ``at_once`` in a list; one may come again.

    With ``new_in``, such as ``refs/incoming/``, in that of the refs below it, without that of branches and tags; with ``push``
    in that of its tips. Neither in that of branches and tags, whose objects are here; those of pull requests may be in a fork alone. git looks for small files and their bytes flow by, so that memory does not
    grow with the history. Raises GitError.
    """
    tips: tuple[str, ...] = ("--all",)
    if new_in:
        tips = (f"--glob={new_in}*", "--not", "--branches", "--tags")
    elif push is not None:
        tips = ("--not", "--branches", "--tags", "--stdin")
    environment = clean_environment(push.environment(path) if push is not None else {})
    time_limit = _TIME_LIMIT if push is None else push.time_limit
    options = (
        "--objects",
        "--no-object-names",
        "--filter=object:type=blob",
        f"--filter=blob:limit={LONGEST_POINTER + 1}",
        "--filter-provided-objects",
        *tips,
    )
    small_files = stream_git(
        GitArgs("rev-list", options),
        git_dir=path,
        body=None if push is None else _lines(push.tips),
        environment=environment,
        time_limit=time_limit,
        ends_with_parent=push is None,
    )
    pointers: list[Pointer] = []
    async with contextlib.aclosing(small_files):
        contents = stream_git(
            GitArgs("cat-file", ("--batch", "--buffer")),
            git_dir=path,
            body=small_files,
            environment=environment,
            time_limit=time_limit,
            ends_with_parent=push is None,
        )
        async with contextlib.aclosing(contents):
            async for data in _files(contents):
                pointer = read_pointer(data)
                if pointer is not None:
                    pointers.append(pointer)
                if len(pointers) == at_once:
                    yield pointers
                    pointers = []
    if pointers:
        yield pointers


async def _lines(texts: Sequence[str]) -> AsyncIterator[bytes]:
    yield "".join(f"{text}\n" for text in texts).encode()


async def _files(contents: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The files that `git cat-file --batch` prints: `<oid> blob <size>`, the bytes, each with a line break."""
    unread = bytearray()
    async for chunk in contents:
        unread += chunk
        start = 0
        while (end := unread.find(b"\n", start)) >= 0:
            size = unread[start:end].rpartition(b" ")[2]
            if not size.isdigit():
                raise RepositoryDamaged("a file of the history is missing")
            following = end + int(size) + 2
            if following > len(unread):
                break
            yield bytes(unread[end + 1 : following - 1])
            start = following
        del unread[:start]
        await asyncio.sleep(0)  # git may be faster than this loop, and others want their turn


def _new_blobs(repo: pygit2.Repository, commit: pygit2.Commit) -> Iterator[pygit2.Oid]:
    """The files that differ from the first parent."""
    if commit.parents:
        diff = commit.parents[0].tree.diff_to_tree(commit.tree)
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    for delta in diff.deltas:
        if delta.new_file.id in repo:  # neither deleted nor a submodule
            yield delta.new_file.id
