"""LFS pointers: small files in git that represent large files in LFS.

Format: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from pathlib import Path

import msgspec
import pygit2

from ingot_git.history.commits import find_commit
from ingot_git.history.reachability import only_in
from ingot_git.process.command import GitArgs, clean_environment
from ingot_git.process.errors import RepositoryDamaged
from ingot_git.process.streaming import stream_git
from ingot_git.refs.trees import EMPTY_TREE, FOLDER, raw_entries

LONGEST_POINTER = 1023
"""Bytes; a larger file is no pointer."""
_TIME_LIMIT = 24 * 3600.0
_NOTHING = bytes.fromhex(EMPTY_TREE)
_POINTER = re.compile(
    rb"version http(?:s://(?:git-lfs|hawser)\.github\.com/spec/v1|://git-media\.io/v/2)\n"
    rb"(?:ext-[0-9]-[^\n]+\n)*"
    rb"oid sha256:([0-9a-fA-F]{64})\n"
    rb"size ([0-9]{1,18})"
)


class Pointer(msgspec.Struct, frozen=True):
    """A pointer. ``oid`` is the SHA-256 of the large file, in hexadecimal digits."""

    oid: str
    size: int


class Arrivals(msgspec.Struct, frozen=True):
    """A push in quarantine: the new ids of its refs, and the folder with its objects.

    ``time_limit`` is the limit in seconds for reading the push.
    """

    tips: Sequence[str]
    objects: Path
    time_limit: float

    def environment(self, path: Path) -> dict[str, str]:
        """Return the environment in which git reads the push and the repository at ``path`` (git(1))."""
        return {
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(path / "objects"),
        }


def read_pointer(data: bytes) -> Pointer | None:
    """Parse a pointer. Return None for any other file. Whitespace is ignored like in git-lfs."""
    if len(data) > LONGEST_POINTER:
        return None
    match = _POINTER.fullmatch(b"\n".join(line.strip() for line in data.splitlines() if line.strip()))
    return None if match is None else Pointer(match[1].decode().lower(), int(match[2]))


def pointers_between(repo: pygit2.Repository, base: str, head: str, *, most_commits: int) -> set[str]:
    """Return the oids of pointers that commits of ``head`` add to ``base``. ``base`` may be empty.

    In a longer history only the latest ``most_commits`` commits are read.
    """
    oids: set[str] = set()
    looked_at: set[str] = set()
    files = _NewFiles(repo)
    for oid in only_in(repo, head, [base] if base else [], most=most_commits):
        for blob in files.of(find_commit(repo, oid)):
            if blob not in looked_at and blob in repo:  # not a submodule
                looked_at.add(blob)
                if repo.odb.read_header(blob)[1] <= LONGEST_POINTER:
                    pointer = read_pointer(repo.odb.read(blob)[1])
                    oids |= {pointer.oid} if pointer is not None else set()
    return oids


async def history_pointers(
    path: Path, *, at_once: int, new_in: str = "", push: Arrivals | None = None
) -> AsyncGenerator[list[Pointer], None]:
    """Yield all pointers in the history of all refs, in lists of up to ``at_once``. Pointers may repeat.

    With ``new_in``, such as ``refs/incoming/``, only refs below this folder are read. With ``push``, only the
    tips of the push are read. In both cases branches and tags are excluded, because their objects are already
    stored. Objects of pull requests may be stored in a fork only, so they are included.

    git selects small files and streams their bytes, so memory does not grow with the history. Raises
    GitError.
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
    """Yield the files from `git cat-file --batch`: `<oid> blob <size>`, the bytes, each with a line break.

    Raises RepositoryDamaged.
    """
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
        await asyncio.sleep(0)  # git may be faster than this loop: let other tasks run


class _NewFiles:
    """Lists the files of commits that differ from the first parent. Each folder is read once.

    So a few objects that describe billions of files cost no more than other objects.
    """

    def __init__(self, repo: pygit2.Repository) -> None:
        self._repo, self._folders = repo, set[bytes]()

    def of(self, commit: pygit2.Commit) -> Iterator[str]:
        """Yield ids of new files, links and submodules. Folders that were read before are skipped."""
        before = str(commit.parents[0].tree_id) if commit.parents else EMPTY_TREE
        pending = [(bytes.fromhex(before), bytes.fromhex(str(commit.tree_id)))]
        while pending:
            old_tree, new_tree = pending.pop()
            if old_tree == new_tree or new_tree in self._folders:
                continue
            self._folders.add(new_tree)
            old = {(mode == FOLDER, name): id_ for mode, name, id_ in raw_entries(self._repo, old_tree)}
            for mode, name, id_ in raw_entries(self._repo, new_tree):
                if mode == FOLDER:
                    pending.append((old.get((True, name), _NOTHING), id_))
                elif old.get((False, name)) != id_:
                    yield id_.hex()
