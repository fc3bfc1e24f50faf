"""What merging a head into a base would change: commits, changed files, and the texts of diff and patches.

Texts and file statistics come from git and not from libgit2, which would hold the interpreter lock for their time.
"""

import os
import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

import pygit2

from ingot_repos.git.command import MIB, GitArgs, git_async, run_git
from ingot_repos.git.commits import Clip, CommitInfo, describe, find_commit, walk
from ingot_repos.git.errors import GitTimedOut, InvalidName, OutputTooLarge
from ingot_repos.git.heads import borrowing
from ingot_repos.git.merge import merge_base, mergeable
from ingot_repos.git.refs import ZERO_OID, get_branch, is_object_id

# The id of the empty tree (gitglossary(7)); git resolves it without an object.
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
_LONGEST_PATHS = 65_536
"""Bytes of the arguments of one process; of longer ones git gives all files (execve(2) takes 128 KiB in each)."""
_STAT_SECONDS = 20.0
_STAT_BYTES = 8 * MIB

Whitespace = Literal["show-all", "ignore-all", "ignore-change", "ignore-eol"]
"""Which changes of white space count as none."""
_IGNORING: dict[Whitespace, tuple[str, ...]] = {
    "show-all": (),
    "ignore-all": ("--ignore-all-space",),
    "ignore-change": ("--ignore-space-change",),
    "ignore-eol": ("--ignore-space-at-eol",),
}
_ESCAPES = {
    bytes([code]): b"\\" + bytes([sign])
    for code, sign in zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True)
}
"""Of bytes that git writes by a letter in a quoted path."""
_QUOTED = re.compile(rb"[^ !#-\[\]-~]")
FileStatus = Literal["added", "deleted", "modified", "renamed", "copied", "type-changed"]
_STATUS: dict[str, FileStatus] = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "type-changed",
}


def whitespace_of(text: str) -> Whitespace:
    """What a query asks for; all changes are shown where that is unclear."""
    return next((one for one in _IGNORING if one == text), "show-all")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a diff; `additions` and `deletions` count lines and are None for binary files."""

    path: str
    old_path: str | None
    status: FileStatus
    additions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing a head with a base; commits by their full ids.

    Args:
        base: the commit of the base.
        head: the commit of the head.
        merge_base: the best common ancestor; None if the histories have no common commit.
        ahead: how many commits head has and base has not.
        clean: whether they merge without conflicts.
    """

    base: str
    head: str
    merge_base: str | None
    ahead: int
    clean: bool


def compare(repo: pygit2.Repository, base: str, head: str, *, ignore_whitespace: bool = False) -> Comparison:
    """Compare two commits (full ids) of one repository. Blocks; costs grow with the changes on both sides.

    ``ignore_whitespace`` is that of the merge (see ``merge``).

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    ancestor = merge_base(repo, base, head)
    ahead = repo.ahead_behind(head, base)[0] if ancestor != head else 0
    clean = ancestor in (base, head) or mergeable(repo, base, head, ignore_whitespace=ignore_whitespace).clean
    return Comparison(base, head, ancestor, ahead, clean)


def compare_with_branch(
    repo: pygit2.Repository, head: str, *, base_branch: str, ignore_whitespace: bool = False
) -> Comparison:
    """`compare` with a branch (short name) as the base. Also raises RefNotFound."""
    base = get_branch(repo, base_branch).oid
    return compare(repo, base, head, ignore_whitespace=ignore_whitespace)


def history(
    repo: pygit2.Repository, base: str, head: str, *, offset: int, limit: int, clip: Clip
) -> tuple[list[CommitInfo], int]:
    """A page of the commits that head has and base (empty: no commits) has not, newest first, clipped, and their number.

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    tip = find_commit(repo, head).id
    ahead = repo.ahead_behind(tip, find_commit(repo, base).id)[0] if base else None
    total = sum(1 for _ in repo.walk(tip)) if ahead is None else ahead
    commits = islice(walk(repo, head, hide=base or ZERO_OID, limit=offset + limit), offset, None)
    return [clip(describe(commit)) for commit in commits], total


async def diff_text(
    path: Path,
    before: str,
    after: str,
    *,
    binary: bool = True,
    lender: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> bytes:
    """The unified diff of two commits (git-diff(1)); its bytes have any encoding.

    Args:
        path: the bare repository.
        before: full id; for a pull request the merge base, empty if there is none.
        after: full id.
        binary: with the changes of binary files; else it says only that they differ.
        lender: the repository that has one of the commits, if that is another one.
        max_bytes: of the text.
        time_limit: seconds.

    Raises:
        InvalidName: not full ids.
        OutputTooLarge, GitTimedOut: it exceeds `max_bytes` or `time_limit`.
        GitFailed: one of them does not exist.
    """
    before = before or _EMPTY_TREE
    _require_ids(before, after)
    with_binary = ("--binary",) if binary else ()
    args = GitArgs("diff", (*_PLAIN, "--patch", *with_binary, "--abbrev=7", "-M"), (before, after))
    return await git_async(
        args, git_dir=path, environment=borrowing(lender), max_output=max_bytes, time_limit=time_limit
    )


async def diff_of_files(
    path: Path,
    before: str,
    after: str,
    *,
    offset: int,
    limit: int,
    whitespace: Whitespace = "show-all",
    lender: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> tuple[bytes, int]:
    """The part of `diff_text` about some of the files that differ, in the order of git; and how many differ.

    The ids of files are whole, so of binary ones, of which it says only that they differ, the contents are named. And of a file of which nothing is shown for ``whitespace`` there is the
    first line. Other arguments and errors are those of `diff_text`.
    """
    before = before or _EMPTY_TREE
    _require_ids(before, after)
    environment = borrowing(lender)
    run = partial(
        git_async, git_dir=path, environment=environment, max_output=max_bytes, time_limit=time_limit
    )
    files = _paths(
        await run(GitArgs("diff-tree", ("-r", "-z", "--raw", "-M", "--abbrev=7", *_PLAIN), (before, after)))
    )
    part = files[offset : offset + limit]
    if not part:
        return b"", len(files)
    options = (*_PLAIN, "--patch", "--full-index", *_IGNORING[whitespace])

    async def sections(renames: str, shown: list[list[bytes]]) -> dict[bytes, bytes]:
        """By its first line what git shows of each of these files; it may be more than these."""
        paths = tuple(os.fsdecode(name) for names in shown for name in names)
        return _sections(await run(GitArgs("diff", (*options, renames), (before, after), paths)))

    if sum(len(name) for names in part for name in names) > _LONGEST_PATHS:
        by_head = await sections("-M", [])
    else:
        # Of some paths git may pair others than of all (a name that is rare among them; the limit of renames). A file that
        # has one name needs no pair, and what was renamed always has a section.
        unpaired = [names for names in part if len(names) == 1]
        pairs = [names for names in part if len(names) > 1]
        by_head = await sections("--no-renames", unpaired) if unpaired else {}
        renamed = await sections("-M", pairs) if pairs else {}
        if not renamed.keys() >= set(map(_head, pairs)):
            renamed = await sections("-M", [])
        by_head.update((head, renamed[head]) for head in map(_head, pairs) if head in renamed)
    text = b"".join(by_head.get(head, head + b"\n") for head in map(_head, part))
    if len(text) > max_bytes:
        raise OutputTooLarge("the diff is too large")
    return text, len(files)


def _sections(text: bytes) -> dict[bytes, bytes]:
    """The parts of a diff by their first lines; a file has two where its type changed."""
    sections: dict[bytes, bytes] = {}
    for section in re.split(rb"^(?=diff --git )", text, flags=re.MULTILINE)[1:]:
        head = section.partition(b"\n")[0]
        sections[head] = sections.get(head, b"") + section
    return sections


def _head(names: list[bytes]) -> bytes:
    """The first line about a file in a diff."""
    return b"diff --git " + _quoted(b"a/" + names[0]) + b" " + _quoted(b"b/" + names[-1])


def _quoted(path: bytes) -> bytes:
    """As git writes it: with what is no plain character in octal (core.quotePath in git-config(1))."""
    text = _QUOTED.sub(lambda match: _ESCAPES.get(match[0]) or b"\\%03o" % match[0][0], path)
    return path if text == path else b'"' + text + b'"'


def _paths(output: bytes) -> list[list[bytes]]:
    """The path of each file in what `--raw -z` writes; of a file with another name before, both."""
    fields = iter(output.split(b"\0")[:-1])
    return [
        list(islice(fields, 2 if record.rpartition(b" ")[2].startswith((b"R", b"C")) else 1))
        for record in fields
    ]


async def patch_text(
    path: Path,
    before: str,
    after: str,
    *,
    lender: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> bytes:
    """The commits that `after` has and `before` has not as a mailbox (git-format-patch(1)), oldest first.

    It has the changes of binary files. Other arguments and errors are those of `diff_text`.
    """
    _require_ids(before or after, after)
    root = () if before else ("--root",)
    options = (*_PLAIN, "--stdout", "--binary", "--abbrev=7", "--no-signature", *root)
    args = GitArgs("format-patch", options, (after, f"^{before}") if before else (after,))
    return await git_async(
        args, git_dir=path, environment=borrowing(lender), max_output=max_bytes, time_limit=time_limit
    )


def _require_ids(*ids: str) -> None:
    if not all(is_object_id(oid) for oid in ids):
        raise InvalidName("not a commit id")


def changed_files(
    path: Path, before: str, after: str, *, whitespace: Whitespace = "show-all"
) -> tuple[ChangedFile, ...] | None:
    """The files that differ between two commits (full ids; an empty ``before`` is no commit). Blocks; runs git.

    Where white space is ignored, files that differ in nothing else are left out. None if the difference is too large to
    be counted.
    """
    before = before or _EMPTY_TREE
    _require_ids(before, after)
    options = ("-r", "-z", "--raw", "--numstat", "-M", *_PLAIN, *_IGNORING[whitespace])
    args = GitArgs("diff-tree", options, (before, after))
    try:
        output = run_git(args, git_dir=path, max_output=_STAT_BYTES, time_limit=_STAT_SECONDS)
    except (OutputTooLarge, GitTimedOut):
        return None
    return _parse_changes(output.decode("utf-8", "replace"))


def _parse_changes(output: str) -> tuple[ChangedFile, ...]:
    """Read `--raw --numstat -z` (git-diff-tree(1), "RAW OUTPUT FORMAT"): all raw records, then all counts.

    A rename has two paths in either. A file in which only white space changed, and that is ignored, has no counts.
    """
    fields = iter(output.split("\0")[:-1])
    names: list[tuple[FileStatus, str | None, str]] = []
    counts: dict[str, tuple[int | None, int | None]] = {}
    for field in fields:
        if field.startswith(":"):
            letter = field.rsplit(" ", 1)[1][0]
            old = next(fields) if letter in "RC" else None
            names.append((_STATUS.get(letter, "modified"), old, next(fields)))
        else:
            added, deleted, name = field.split("\t", 2)
            if not name:
                next(fields)
                name = next(fields)
            counts[name] = _count(added), _count(deleted)
    return tuple(
        ChangedFile(name, old, status, *counts[name]) for status, old, name in names if name in counts
    )


def _count(text: str) -> int | None:
    return None if text == "-" else int(text)
