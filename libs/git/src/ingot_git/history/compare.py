"""The changes of merging a head into a base: commits, changed files, diffs and patches.

Texts and file statistics come from git, because libgit2 would hold the interpreter lock.
"""

import os
import re
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, overload

import pygit2

from ingot_git.history.commits import Clip, CommitInfo, describe, find_commit
from ingot_git.history.heads import alternate_environment
from ingot_git.history.objects import tip_to_hide
from ingot_git.history.reachability import merge_base, only_in, outside
from ingot_git.history.trivial_merges import is_trivial, line_between
from ingot_git.process.command import MIB, GitArgs, git_async, run_git
from ingot_git.process.cpu_time import READ
from ingot_git.process.errors import GitFailed, GitTimedOut, InvalidName, OutputTooLarge, UnwritableDate
from ingot_git.process.quoted_paths import quoted
from ingot_git.refs.refs import get_branch, is_object_id
from ingot_git.refs.trees import EMPTY_TREE

_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
_LONGEST_PATHS = 65_536
"""Bytes of the path arguments of one process; beyond it git returns all files (execve(2))."""
_UNWRITABLE_DATE = re.compile(r"\bTimestamp (?:before Unix epoch|too large)")
_STAT_SECONDS = 20.0
_STAT_BYTES = 8 * MIB

Whitespace = Literal["show-all", "ignore-all", "ignore-change", "ignore-eol"]
"""The changes of whitespace that are ignored."""
_IGNORING: dict[Whitespace, tuple[str, ...]] = {
    "show-all": (),
    "ignore-all": ("--ignore-all-space",),
    "ignore-change": ("--ignore-space-change",),
    "ignore-eol": ("--ignore-space-at-eol",),
}
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
    """Return the option with this name; "show-all" if it is unknown."""
    return next((one for one in _IGNORING if one == text), "show-all")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a diff. `additions` and `deletions` count lines; None for binary files."""

    path: str
    old_path: str | None
    status: FileStatus
    additions: int | None
    deletions: int | None


class ChangedFiles(Sequence[ChangedFile]):
    """The files of a diff in git's order. A file is parsed when it is read, because a page needs few of them.

    ``names`` has the status letter of git, the old path of a rename, and the path. ``counts`` has the added
    and deleted lines by path.
    """

    def __init__(self, names: list[tuple[str, str | None, str]], counts: dict[str, tuple[str, str]]) -> None:
        self._names, self._counts = names, counts

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> ChangedFile: ...

    @overload
    def __getitem__(self, index: slice) -> list[ChangedFile]: ...

    def __getitem__(self, index: int | slice) -> ChangedFile | list[ChangedFile]:
        if isinstance(index, slice):
            return [self._file(*names) for names in self._names[index]]
        return self._file(*self._names[index])

    def _file(self, letter: str, old: str | None, name: str) -> ChangedFile:
        added, deleted = self._counts[name]
        return ChangedFile(name, old, _STATUS.get(letter, "modified"), _count(added), _count(deleted))

    def position(self, path: str) -> int:
        """Return the position of the file with this path; the number of files if the path is missing."""
        return next((at for at, names in enumerate(self._names) if names[2] == path), len(self._names))

    @property
    def bytes_of_paths(self) -> int:
        return sum(len(names[2]) for names in self._names)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a head with a base; commits are full ids.

    Args:
        base: the commit of the base.
        head: the commit of the head.
        merge_base: the best common ancestor; None if the histories share no commit.
        ahead: number of commits in head that are not in base.
        clean: True if the commits merge without conflicts. None if only git can decide, see
            `merge.mergeable_heads`.
    """

    base: str
    head: str
    merge_base: str | None
    ahead: int
    clean: bool | None


def compare(repo: pygit2.Repository, base: str, head: str) -> Comparison:
    """Compare two commits (full ids) of one repository. Blocks; costs grow with the changes on both sides.

    Raises:
        ObjectNotFound: one of the ids is not a commit of this repository.
    """
    ancestor = merge_base(repo, base, head)
    line = None if ancestor is None else line_between(ancestor, find_commit(repo, head))
    ahead = len(only_in(repo, head, [base]) if line is None else line)
    clean = True if ancestor in (base, head) or is_trivial(repo, base, head, ancestor) else None
    return Comparison(base, head, ancestor, ahead, clean)


def compare_with_branch(repo: pygit2.Repository, head: str, *, base_branch: str) -> Comparison:
    """Compare a commit with a branch (short name), like `compare`. Also raises RefNotFound."""
    return compare(repo, get_branch(repo, base_branch).oid, head)


def history(
    repo: pygit2.Repository,
    base: str,
    head: str,
    *,
    offset: int,
    limit: int,
    clip: Clip,
    base_tip: str = "",
) -> tuple[list[CommitInfo], int]:
    """Return a page of the commits in head that are not in base, latest first, clipped, and their number.

    If ``base`` is empty, all commits in head are listed. ``base`` may be one of several merge bases. Commits
    of ``base_tip`` are skipped, too (see `tip_to_hide`).

    Raises:
        ObjectNotFound: one of the ids is not a commit of this repository.
    """
    oids = only_in(
        repo,
        head,
        [one for one in (base, base_tip and tip_to_hide(repo, base_tip, head)) if one],
        order="date",
    )
    return [clip(describe(find_commit(repo, oid))) for oid in oids[offset : offset + limit]], len(oids)


async def diff_text(
    path: Path,
    before: str,
    after: str,
    *,
    binary: bool = True,
    alternate: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> bytes:
    """Return the unified diff of two commits (git-diff(1)) in bytes of any encoding.

    Args:
        path: the bare repository.
        before: full id; for a pull request the merge base. Empty compares with the empty tree.
        after: full id.
        binary: include the changes of binary files, not only a note that they differ.
        alternate: another repository that has one of the commits.
        max_bytes: limit for the text.
        time_limit: seconds.

    Raises:
        InvalidName: an id is not a full id.
        OutputTooLarge, GitTimedOut: git exceeds `max_bytes`, `time_limit` or `READ`.
        GitFailed: a commit does not exist.
    """
    before = before or EMPTY_TREE
    _require_ids(before, after)
    with_binary = ("--binary",) if binary else ()
    args = GitArgs("diff", (*_PLAIN, "--patch", *with_binary, "--abbrev=7", "-M"), (before, after))
    return await _bounded_git(path, alternate, max_bytes, time_limit)(args)


async def diff_of_files(
    path: Path,
    before: str,
    after: str,
    *,
    offset: int,
    limit: int,
    whitespace: Whitespace = "show-all",
    alternate: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> tuple[bytes, int]:
    """Return a page of `diff_text`, by files in git's order, and the number of files that differ.

    The ids of files are full ids: they identify the contents of binary files, which are not shown. A file
    without visible changes for ``whitespace`` has only its first line. For other arguments and errors see
    `diff_text`.
    """
    before = before or EMPTY_TREE
    _require_ids(before, after)
    run = _bounded_git(path, alternate, max_bytes, time_limit)
    files = _paths(
        await run(GitArgs("diff-tree", ("-r", "-z", "--raw", "-M", "--abbrev=7", *_PLAIN), (before, after)))
    )
    part = files[offset : offset + limit]
    if not part:
        return b"", len(files)
    options = (*_PLAIN, "--patch", "--full-index", *_IGNORING[whitespace])

    async def sections(renames: str, shown: list[list[bytes]]) -> dict[bytes, bytes]:
        """Return git's output for these files by first line. It may contain other files, too."""
        paths = tuple(os.fsdecode(name) for names in shown for name in names)
        return _sections(await run(GitArgs("diff", (*options, renames), (before, after), paths)))

    if sum(len(name) for names in part for name in names) > _LONGEST_PATHS:
        by_head = await sections("-M", [])
    else:
        # For some paths git may pair other files as renames than for all paths: by rare names and the limit
        # of renames. A file with one name needs no pair, and a renamed file always has a section.
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
    """Return the sections of a diff by first line. Both sections of a file whose type changed are joined."""
    sections: dict[bytes, bytes] = {}
    for section in re.split(rb"^(?=diff --git )", text, flags=re.MULTILINE)[1:]:
        head = section.partition(b"\n")[0]
        sections[head] = sections.get(head, b"") + section
    return sections


def _head(names: list[bytes]) -> bytes:
    """Return the line that begins a file's section in a diff."""
    return b"diff --git " + quoted(b"a/" + names[0]) + b" " + quoted(b"b/" + names[-1])


def _paths(output: bytes) -> list[list[bytes]]:
    """Return the path of each file in the output of `--raw -z`; for a rename both paths."""
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
    also_hidden: str = "",
    alternate: Path | None = None,
    max_bytes: int = 32 * MIB,
    time_limit: float = 30.0,
) -> bytes:
    """Return the commits in `after` that are not in `before` as a mailbox, oldest first.

    See git-format-patch(1). Commits of ``also_hidden``, if not empty, are skipped, too. Changes of binary
    files are included. For other arguments and errors see `diff_text`.

    Raises:
        UnwritableDate: git-format-patch(1) refuses the date of a commit.
    """
    _require_ids(before or after, after)
    options = (*_PLAIN, "--stdout", "--binary", "--abbrev=7", "--no-signature", "--root")
    run = _bounded_git(path, alternate, max_bytes, time_limit)
    if not before and not also_hidden:
        return await _mailbox(run(GitArgs("format-patch", options, (after,))))
    hidden = [one for one in (before, also_hidden) if one]
    listed = (await run(GitArgs("rev-list", (), (after, *(f"^{one}" for one in hidden))))).decode().split()
    ahead = await outside(path, listed, hidden, environment=alternate_environment(alternate))
    revisions = "".join(f"{oid}\n" for oid in listed if oid in ahead)
    if not revisions:
        return b""
    return await _mailbox(
        run(GitArgs("format-patch", (*options, "--no-walk=unsorted", "--stdin")), stdin=revisions.encode())
    )


async def _mailbox(written: Awaitable[bytes]) -> bytes:
    """Return the output of git-format-patch(1). Raises UnwritableDate."""
    try:
        return await written
    except GitFailed as error:
        if _UNWRITABLE_DATE.search(error.stderr):
            raise UnwritableDate(error.stderr) from None
        raise


def _bounded_git(
    path: Path, alternate: Path | None, max_bytes: int, time_limit: float
) -> partial[Coroutine[Any, Any, bytes]]:
    """Return `git_async` with the limits of one text. It also reads the objects of ``alternate``."""
    return partial(
        git_async,
        git_dir=path,
        environment=alternate_environment(alternate),
        max_output=max_bytes,
        time_limit=time_limit,
        max_cpu=READ,
    )


def _require_ids(*ids: str) -> None:
    if not all(is_object_id(oid) for oid in ids):
        raise InvalidName("not a commit id")


def changed_files(
    path: Path, before: str, after: str, *, whitespace: Whitespace = "show-all"
) -> ChangedFiles | None:
    """Return the files that differ between two commits (full ids). Blocks.

    An empty ``before`` compares with the empty tree. Files in which only ignored whitespace differs are
    skipped. Return None if the difference is too large to count. Raises InvalidName, GitFailed.
    """
    before = before or EMPTY_TREE
    _require_ids(before, after)
    options = ("-r", "-z", "--raw", "--numstat", "-M", *_PLAIN, *_IGNORING[whitespace])
    args = GitArgs("diff-tree", options, (before, after))
    try:
        output = run_git(args, git_dir=path, max_output=_STAT_BYTES, time_limit=_STAT_SECONDS, max_cpu=READ)
    except (OutputTooLarge, GitTimedOut):
        return None
    return _parse_changes(output.decode("utf-8", "replace"))


def _parse_changes(output: str) -> ChangedFiles:
    """Parse `--raw --numstat -z` (git-diff-tree(1), "RAW OUTPUT FORMAT"): raw records, then counts.

    A rename has two paths in both parts. A file in which only ignored whitespace changed has no counts.
    """
    fields = iter(output.split("\0")[:-1])
    names: list[tuple[str, str | None, str]] = []
    counts: dict[str, tuple[str, str]] = {}
    for field in fields:
        if field[0] == ":":
            letter = field[field.rindex(" ") + 1]
            old = next(fields) if letter in "RC" else None
            names.append((letter, old, next(fields)))
        else:
            added, deleted, name = field.split("\t", 2)
            if not name:
                next(fields)
                name = next(fields)
            counts[name] = added, deleted
    return ChangedFiles([one for one in names if one[2] in counts], counts)


def _count(text: str) -> int | None:
    return None if text == "-" else int(text)
