"""Pointers of LFS: small files that stand in git for large ones, whose bytes LFS stores.

The form is that of https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
"""

import re
from collections.abc import Iterator

import msgspec
import pygit2
from pygit2.enums import SortMode

from ingot_repos.git.commits import find_commit

LONGEST_POINTER = 1023
"""In bytes; a larger file is none."""
_POINTER = re.compile(
    rb"version https://(?:git-lfs\.github\.com/spec|hawser\.github\.com/spec)/v1\n"
    rb"(?:ext-[0-9]-[^\n]+\n)*"
    rb"oid sha256:([0-9a-f]{64})\n"
    rb"size ([0-9]{1,18})\n?"
)


class Pointer(msgspec.Struct, frozen=True):
    """``oid`` is the SHA-256 of the large file, in hexadecimal digits."""

    oid: str
    size: int


def read_pointer(data: bytes) -> Pointer | None:
    """The pointer that a file is; None for any other file."""
    match = _POINTER.fullmatch(data) if len(data) <= LONGEST_POINTER else None
    return None if match is None else Pointer(match[1].decode(), int(match[2]))


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


def _new_blobs(repo: pygit2.Repository, commit: pygit2.Commit) -> Iterator[pygit2.Oid]:
    """The files that differ from the first parent."""
    if commit.parents:
        diff = commit.parents[0].tree.diff_to_tree(commit.tree)
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    for delta in diff.deltas:
        if delta.new_file.id in repo:  # neither deleted nor a submodule
            yield delta.new_file.id
