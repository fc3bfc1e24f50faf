"""Conflicts of a merge as texts to choose from, and the merge commit with the chosen texts.

Only conflicts in text files, and files that one side deleted, can be resolved with this module. Everything
else, such as renames on both sides, binary files and submodules, must be merged in a clone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pygit2

from ingot_git.changes.file_changes import TreeEdit
from ingot_git.changes.tree_merges import (
    CPU_SECONDS,
    MARKER,
    ConflictedTree,
    MergedTree,
    Stage,
    merge_heads,
    merge_with_conflicts,
)
from ingot_git.history.commits import Person, find_commit
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.disk import writing
from ingot_git.process.errors import MergeConflict, ObjectNotFound, RefMoved
from ingot_git.refs.refs import ref_target
from ingot_git.refs.trees import entry_at
from ingot_git.storage.scratch import ScratchRepository, scratch, staged

MOST_FILES, MOST_CONFLICTS = 20, 80
FILE_BYTES, TOTAL_BYTES = 200_000, 400_000
"""Limits of a merge whose conflicts can be resolved here. The bytes are those of all versions of a file."""
MERGED_BYTES = 1_000_000
"""The limit of a file with conflict markers. An attribute can make markers of any size."""
_BASE, _OURS, _THEIRS = 1, 2, 3
_FILES = (b"100644", b"100755")
_NAMES = {b"<": "ours", b"|": "base", b"=": "theirs"}


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a merged text. A conflict has three versions of its lines. Other parts have only ``text``."""

    text: str = ""
    is_conflict: bool = False
    base: str = ""
    ours: str = ""
    theirs: str = ""


@dataclass(frozen=True, slots=True)
class ConflictedFile:
    """A file in conflict. ``deleted`` is the side that deleted the file, ours or theirs; empty if none did.

    ``obstacle`` is the reason why the file cannot be resolved here, or empty. A file with an obstacle has no
    parts.
    """

    path: str
    parts: tuple[Part, ...] = ()
    deleted: str = ""
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The files in conflict of a merge of ``base`` into ``head`` (full ids); no files if the merge is clean.

    ``obstacle`` is the reason why the conflicts cannot be resolved here, or empty. With an obstacle ``files``
    may be incomplete.
    """

    head: str
    base: str
    files: tuple[ConflictedFile, ...] = ()
    obstacle: str = ""


def find_conflicts(
    repo: pygit2.Repository,
    base: str,
    *,
    head_ref: str,
    expected_head: str,
    ignore_whitespace: bool = False,
) -> Conflicts:
    """Return the conflicts of a merge of ``base`` (full id) into ``head_ref``. Blocks; moves no ref.

    With ``ignore_whitespace`` there are no conflicts if the merge is clean with this option (see `merge`).

    Raises:
        RefMoved: the head ref has another id.
        MergeTooExpensive: git needs too much CPU time.
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    _require(repo, base, head_ref, expected_head, base)
    budget = CpuBudget(CPU_SECONDS)
    with scratch(repo) as view:
        merged = merge_with_conflicts(view, expected_head, base, budget)
        if not merged.is_clean and ignore_whitespace:
            (result,) = merge_heads(
                view, expected_head, [base], ignore_whitespace=True, keep=True, budget=budget
            )
            if isinstance(result, MergedTree) and result.tree is not None:
                return Conflicts(expected_head, base)
        return _described(view, merged, expected_head, base)


def resolve_conflicts(
    repo: pygit2.Repository,
    base: str,
    *,
    head_ref: str,
    expected_head: str,
    expected_base: str,
    texts: Mapping[str, str | None],
    message: str,
    who: Person,
    signer: Signer | None = None,
) -> str:
    """Create the merge commit of ``base`` (full id) into ``head_ref``. Return its id. Blocks; moves no ref.

    Args:
        repo: the bare repository.
        base: the tip of the base branch.
        head_ref: full ref name.
        expected_head: full id that the ref must have.
        expected_base: full id that ``base`` must be.
        texts: the text of every file in conflict by its path; None deletes the file.
        message: the message of the commit.
        who: author and committer.
        signer: signs the commit.

    Raises:
        RefMoved: a branch has another id.
        MergeConflict: ``texts`` has other files than the conflict, or a file cannot be resolved here.
            The subclass MergeTooExpensive: git needs too much CPU time.
        ObjectNotFound: one of the ids is not a commit of this repository.
        UnsafeObject: a push may not contain one of the files.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    _require(repo, base, head_ref, expected_head, expected_base)
    with staged(repo) as view:
        merged = merge_with_conflicts(view, expected_head, base, CpuBudget(CPU_SECONDS))
        if not texts or {path.encode() for path in texts} != merged.stages.keys():
            raise MergeConflict(reason="the form lacks a file in conflict, or has another one")
        trees = _trees(view, expected_head, base)
        if any(_obstacle_of(view, trees, path, stages) for path, stages in merged.stages.items()):
            raise MergeConflict(reason="the conflict is not in texts alone; merge in a clone")
        edit = TreeEdit(view, merged.tree)
        for path, text in texts.items():
            edit.replace(path, None if text is None else _entry(view, merged.tree, path, text))
        commit = create_commit(
            view,
            author=who,
            committer=who,
            message=message,
            tree=edit.write(),
            parents=[expected_head, base],
            signer=signer,
        )
        view.keep(commit)
        return commit


def _require(
    repo: pygit2.Repository, base: str, head_ref: str, expected_head: str, expected_base: str
) -> None:
    """Raise RefMoved for an id that is not expected, ObjectNotFound for an id that is not a commit."""
    if ref_target(repo, head_ref) != expected_head or base != expected_base:
        raise RefMoved("a branch has moved")
    find_commit(repo, expected_head)
    find_commit(repo, base)


@writing()
def _entry(view: ScratchRepository, tree: str, path: str, text: str) -> tuple[int, str]:
    """Return the mode and the blob id of a resolved file. The mode is the file's mode in ``tree``."""
    return entry_at(view, tree, path).mode, str(view.create_blob(text.encode()))


def _trees(view: ScratchRepository, *commits: str) -> list[str]:
    """Return the trees of commits (full ids)."""
    return [str(find_commit(view, commit).tree_id) for commit in commits]


def _obstacle_of(
    view: ScratchRepository, trees: Sequence[str], path: bytes, stages: Mapping[int, Stage]
) -> str:
    """Return the reason why a conflict cannot be resolved here; empty if it can be resolved.

    ``trees`` are the tree ids of both sides. git renames a file if one side has a folder of that name.
    """
    if not all(stage.mode in _FILES for stage in stages.values()):
        return "it is a link or a submodule on one side"
    name = path.decode("utf-8", "replace")
    if name.encode() != path:
        return "its name is not in UTF-8"
    is_moved = stages.keys() not in ({1, 2, 3}, {2, 3}, {1, 2}, {1, 3})
    if is_moved or not any(_has(view, tree, name) for tree in trees):
        return "it was moved, or a folder has its name"
    return ""


def _has(view: ScratchRepository, tree: str, path: str) -> bool:
    try:
        entry_at(view, tree, path)
    except ObjectNotFound:
        return False
    return True


@dataclass(slots=True)
class _Rest:
    """The unused part of the limits of one merge."""

    bytes: int = TOTAL_BYTES
    conflicts: int = MOST_CONFLICTS


def _described(view: ScratchRepository, merged: ConflictedTree, head: str, base: str) -> Conflicts:
    if not merged.stages and not merged.is_clean:
        return Conflicts(head, base, obstacle="git cannot tell where to move a file")
    if len(merged.stages) > MOST_FILES:
        names = tuple(
            ConflictedFile(path.decode("utf-8", "replace")) for path in sorted(merged.stages)[:MOST_FILES]
        )
        return Conflicts(head, base, names, f"more than {MOST_FILES} files conflict")
    rest, trees = _Rest(), _trees(view, head, base)
    files = tuple(
        ConflictedFile(path.decode("utf-8", "replace"), obstacle=obstacle)
        if (obstacle := _obstacle_of(view, trees, path, stages))
        else _file(view, merged.tree, path.decode(), stages, rest)
        for path, stages in sorted(merged.stages.items())
    )
    obstacles = [f"{file.path}: {file.obstacle}" for file in files if file.obstacle]
    return Conflicts(head, base, files, obstacles[0] if obstacles else "")


def _file(
    view: ScratchRepository, tree: str, name: str, stages: Mapping[int, Stage], rest: _Rest
) -> ConflictedFile:
    rest.bytes -= (size := sum(view.odb.read_header(one.oid)[1] for one in stages.values()))
    if size > FILE_BYTES or rest.bytes < 0:
        return ConflictedFile(name, obstacle="it is too large")
    contents = {number: view.read(stage.oid)[1] for number, stage in stages.items()}
    if not all(map(_is_text, contents.values())):
        return ConflictedFile(name, obstacle="it is not UTF-8 text")
    if _OURS not in contents or _THEIRS not in contents:
        deleted, side = ("ours", _THEIRS) if _OURS not in contents else ("theirs", _OURS)
        return ConflictedFile(name, (Part(contents[side].decode()),), deleted)
    merged = entry_at(view, tree, name).oid
    if view.odb.read_header(merged)[1] > MERGED_BYTES:
        return ConflictedFile(name, obstacle="its conflicts are too large")
    parts = _parts(view.read(merged)[1], contents)
    rest.conflicts -= sum(part.is_conflict for part in parts)
    if rest.conflicts < 0:
        return ConflictedFile(name, obstacle=f"there are more than {MOST_CONFLICTS} conflicts")
    return ConflictedFile(name, parts)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _parts(merged: bytes, contents: Mapping[int, bytes]) -> tuple[Part, ...]:
    """Return the parts of a merged text. Without conflict markers, the whole file is one conflict.

    A file has no markers if an attribute excludes it from merging, or if only modes conflict. Markers do not
    count if a version of the file contains such lines itself.
    """
    parts = _parsed(merged)
    if any(part.is_conflict for part in parts) and not any(map(_has_markers, contents.values())):
        return parts
    base, ours, theirs = (contents.get(number, b"").decode() for number in (_BASE, _OURS, _THEIRS))
    return (Part(is_conflict=True, base=base, ours=ours, theirs=theirs),)


def _is_marker(line: bytes) -> bool:
    first = line[:1]
    begins = first == b">" or first in _NAMES
    return begins and line[:MARKER] == first * MARKER and line[MARKER : MARKER + 1] != first


def _has_markers(content: bytes) -> bool:
    return any(map(_is_marker, content.split(b"\n")))


def _parsed(merged: bytes) -> tuple[Part, ...]:
    """Split a text at its conflict markers."""
    parts: list[Part] = []
    lines: list[bytes] = []
    sides: dict[str, bytes] = {}
    side = ""
    for line in merged.split(b"\n"):
        if not _is_marker(line):
            lines.append(line + b"\n")
            continue
        text, lines = b"".join(lines), []
        if line.startswith(b"<"):
            if text:
                parts.append(Part(text.decode()))
            sides = {}
        else:
            sides[side] = text
        side = _NAMES.get(line[:1], "")
        if not side:
            parts.append(Part(is_conflict=True, **{name: one.decode() for name, one in sides.items()}))
    if rest := b"".join(lines).removesuffix(b"\n"):
        parts.append(Part(rest.decode()))
    return tuple(parts)
