"""Merges with git-merge-tree(1), for many heads in one process: the tree, or the paths in conflict.

git reads ``.gitattributes`` from a work tree, for example ``-merge`` and ``merge=union``. A bare repository
has none. So git gets a folder with the attributes of our side, like in a checkout, and no other files.
Attributes can name merge drivers, but none is configured.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pygit2
from cachetools import TTLCache
from pygit2.enums import ObjectType

from ingot_git.history.commits import find_commit
from ingot_git.history.trivial_merges import read_entries, read_tree
from ingot_git.process.command import MIB, GitArgs, run_git
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.disk import writing
from ingot_git.process.errors import (
    GitFailed,
    GitTooExpensive,
    MergeConflict,
    MergeTooExpensive,
    OutputTooLarge,
)
from ingot_git.refs.trees import DEEPEST, EMPTY_TREE
from ingot_git.storage.scratch import ScratchRepository

_ATTRIBUTES = b".gitattributes"
_FOLDER, _FILES = b"40000", (b"100644", b"100755")
_LARGEST_ATTRIBUTES = 100 * MIB
"""git ignores larger files (gitattributes(5))."""
_LONGEST_NAME, _LONGEST_PATH = 255, 3000
"""Bytes. No checkout has folders with longer names or paths (pathname(7))."""
_SECONDS = 60.0
CPU_SECONDS, JOB_CPU_SECONDS = 0.8, 10.0
"""The limits of all git processes of one merge, or of all steps of one rebase: in a request, and in a job."""
MEMORY = 1024 * MIB
"""Bytes that git may allocate for a merge."""
_OUT_OF_MEMORY = "fatal: Out of memory"
TEST_CPU_SECONDS = 0.3
"""CPU seconds of a test merge. Any user can cause test merges by a pull request, so they get less time."""
_MOST_FOLDERS = 20_000
"""Differing folders of one head in which attributes are looked up: some 0.2 s of CPU time."""
_MOST_ATTRIBUTES, _ATTRIBUTES_BYTES = 1_000, 16 * MIB
"""Limits of the attribute files that are written for one merge. All of them may be one object."""
_TRIAL = (("core.fsync", "none"), ("core.looseCompression", "0"), ("core.createObject", "rename"))
"""Configuration for a test merge, whose objects are discarded."""
_ABORTED = (-signal.SIGABRT, -signal.SIGSEGV)
"""git hit a bug of its own, or folders are nested too deeply for its stack."""
_CONFLICT = 1
"""The exit code of git-merge(1) for a conflict."""
_CLEAN = b"1"
"""The status of a merge without conflicts in the output of ``--stdin``."""
MARKER = 101
"""Characters of a conflict marker in `merge_with_conflicts`, so few texts have such a line."""
_WHO = "merge <merge@localhost> 0 +0000"
_TOO_EXPENSIVE: TTLCache[tuple[str, str, bool, float], bool] = TTLCache(10_000, 3600.0)
"""Merges that exceeded a limit: they are not tried again for an hour."""
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class MergedTree:
    """The id of a merged tree, or None and the known paths in conflict."""

    tree: str | None
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A version of a file in conflict: its mode and blob id."""

    mode: bytes
    oid: str


@dataclass(frozen=True, slots=True)
class ConflictedTree:
    """A merged tree, whose files in conflict have conflict markers, and the versions of these files.

    ``stages`` has the versions by path and number: 1 for the ancestor, 2 for ours, 3 for theirs. It is empty
    for a clean merge, and for a conflict in no file: git may be unable to decide where to move a new file.
    """

    is_clean: bool
    tree: str
    stages: dict[bytes, dict[int, Stage]]


Result = MergedTree | GitFailed | MergeTooExpensive
"""The result of a merge, or its error."""


def merge_heads(
    view: ScratchRepository,
    ours: str,
    heads: Sequence[str],
    *,
    ignore_whitespace: bool,
    keep: bool,
    cpu_seconds: float = CPU_SECONDS,
    budget: CpuBudget | None = None,
) -> list[Result]:
    """Merge each of the heads into ``ours`` (full ids of commits). Blocks; runs git.

    Return a result or an error for each head. A merge that is too expensive is cached for an hour, and fails
    immediately in this time.

    Args:
        view: gets the objects.
        ours: the commit whose attributes are used.
        heads: the commits to merge, independent of each other.
        ignore_whitespace: see `merge`.
        keep: the objects may be published, so they must be flushed to disk.
        cpu_seconds: the limit of each head; `TEST_CPU_SECONDS` unless the objects are kept.
        budget: CPU time that one head shares with other merges; by default each head has its own.

    Raises:
        GitTimedOut: git takes too long.
    """
    config, limit = ((), cpu_seconds) if keep else (_TRIAL, TEST_CPU_SECONDS)
    limit = limit if budget is None else budget.seconds
    untried = [head for head in heads if not was_too_expensive(ours, head, ignore_whitespace, limit)]
    results: dict[str, Result] = {}
    if len(untried) > 1:
        # All in one process within the limit of one head; else each head has its own.
        with contextlib.suppress(GitTooExpensive), _checked_out(view, ours, untried) as work_tree:
            merged = _merge(view, ours, untried, work_tree, config, CpuBudget(limit))
            results = dict(zip(untried, merged, strict=True))
    for head in dict.fromkeys(untried):
        result = results.get(head)
        if result is None or (ignore_whitespace and isinstance(result, MergedTree) and result.tree is None):
            results[head] = _merge_one(
                view, ours, head, result, config, budget or CpuBudget(limit), ignore_whitespace
            )
            if isinstance(results[head], MergeTooExpensive):
                note_too_expensive(ours, head, ignore_whitespace, limit)
    return [results.get(head) or MergeTooExpensive() for head in heads]


def was_too_expensive(ours: str, head: str, ignore_whitespace: bool, cpu_seconds: float) -> bool:
    """True if a merge or rebase of these commits exceeded this CPU time limit within the last hour."""
    with _LOCK:
        return (ours, head, ignore_whitespace, cpu_seconds) in _TOO_EXPENSIVE


def note_too_expensive(ours: str, head: str, ignore_whitespace: bool, cpu_seconds: float) -> None:
    """Record that a merge or rebase exceeded this CPU time limit."""
    with _LOCK:
        _TOO_EXPENSIVE[ours, head, ignore_whitespace, cpu_seconds] = True


def merge_with_ancestor(
    view: ScratchRepository, base: str, ours: str, theirs: str, budget: CpuBudget, *, ignore_whitespace: bool
) -> Result:
    """Merge two trees with the common ancestor tree ``base`` (full ids). Blocks; runs git.

    git-merge-tree(1) before 2.40 lacks the option ``--merge-base``. So temporary commits are created, whose
    only merge base has the tree ``base``.

    Raises:
        GitTimedOut: git takes too long.
    """
    root = _commit(view, base)
    ours, theirs = _commit(view, ours, root), _commit(view, theirs, root)
    (result,) = merge_heads(
        view, ours, [theirs], ignore_whitespace=ignore_whitespace, keep=True, budget=budget
    )
    return result


def merge_change(
    view: ScratchRepository,
    change: pygit2.Commit,
    onto: pygit2.Commit,
    budget: CpuBudget,
    *,
    ignore_whitespace: bool,
) -> Result:
    """Merge the changes of a commit against its parent into the tree of ``onto``. Blocks; runs git.

    This is like `merge_with_ancestor` with the trees. But if the commit has one parent, the parent is the
    merge base, and only one temporary commit is written.
    """
    if len(change.parent_ids) != 1:
        trees = (EMPTY_TREE, str(onto.tree_id), str(change.tree_id))
        return merge_with_ancestor(view, *trees, budget, ignore_whitespace=ignore_whitespace)
    ours = _commit(view, str(onto.tree_id), str(change.parent_ids[0]))
    heads = [str(change.id)]
    (result,) = merge_heads(view, ours, heads, ignore_whitespace=ignore_whitespace, keep=True, budget=budget)
    return result


def merge_with_conflicts(
    view: ScratchRepository, ours: str, theirs: str, budget: CpuBudget
) -> ConflictedTree:
    """Merge a head into ``ours`` (full ids of commits), also if files conflict. Blocks; runs git.

    Conflicts in the files of the tree have markers of ``MARKER`` characters, and the lines of the ancestor
    (``zdiff3``). A file whose attributes set another size has markers of that size.

    Raises:
        MergeTooExpensive: git needs more than the budget, or prints too much. This is cached for an hour.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    if was_too_expensive(ours, theirs, False, budget.seconds):
        raise MergeTooExpensive
    options = ("--write-tree", "--stdin", "-z", "--no-messages", "--allow-unrelated-histories")
    try:
        with _checked_out(view, ours, [theirs]) as work_tree, view.temporary_folder() as folder:
            attributes = folder / "attributes"
            attributes.write_text(f"* conflict-marker-size={MARKER}\n")
            config = (("core.attributesFile", str(attributes)), ("merge.conflictStyle", "zdiff3"))
            output = _run_git(
                GitArgs("merge-tree", options, work_tree=work_tree),
                Path(view.path),
                view.environment(config),
                budget,
                stdin=f"{ours} {theirs}\n".encode(),
            )
    except (GitTooExpensive, OutputTooLarge):
        note_too_expensive(ours, theirs, False, budget.seconds)
        raise MergeTooExpensive from None
    status, tree, *fields = output.split(b"\0")
    stages: dict[bytes, dict[int, Stage]] = {}
    for field in filter(None, fields):
        version, _, path = field.partition(b"\t")
        mode, oid, number = version.split(b" ")
        stages.setdefault(path, {})[int(number)] = Stage(mode, oid.decode("ascii"))
    return ConflictedTree(status == _CLEAN, tree.decode("ascii"), stages)


def clean_tree(result: Result) -> str:
    """Return the tree of a clean merge. Raises MergeConflict, or the error in ``result``."""
    if not isinstance(result, MergedTree):
        raise result
    if result.tree is None:
        raise MergeConflict(result.conflicts)
    return result.tree


def _merge_one(
    view: ScratchRepository,
    ours: str,
    head: str,
    result: Result | None,
    config: Sequence[tuple[str, str]],
    budget: CpuBudget,
    ignore_whitespace: bool,
) -> Result:
    """Merge one head within the budget.

    ``result`` is None, or the conflict of a merge that must be tried again with ``ignore_whitespace``.
    """
    try:
        if result is None:
            with _checked_out(view, ours, [head]) as work_tree:
                (result,) = _merge(view, ours, [head], work_tree, config, budget)
        if ignore_whitespace and isinstance(result, MergedTree) and result.tree is None:
            return _merge_ignoring_whitespace(view, ours, head, result, config, budget)
    except GitTooExpensive:
        return MergeTooExpensive()
    return result


def _merge(
    view: ScratchRepository,
    ours: str,
    heads: Sequence[str],
    work_tree: Path | None,
    config: Sequence[tuple[str, str]],
    budget: CpuBudget,
) -> list[Result]:
    """Merge all heads in one process. If git fails or prints too much, merge each half of them separately.

    For a single head, return the error. If git aborted or printed too much, return a conflict without paths.
    """
    options = ("--write-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
    try:
        output = _run_git(
            GitArgs("merge-tree", options, work_tree=work_tree),
            Path(view.path),
            view.environment(config),
            budget,
            stdin="".join(f"{ours} {head}\n" for head in heads).encode(),
        )
    except (GitFailed, OutputTooLarge) as error:
        if len(heads) > 1:
            half = len(heads) // 2
            parts = (heads[:half], heads[half:])
            return [
                result for part in parts for result in _merge(view, ours, part, work_tree, config, budget)
            ]
        # A clean merge prints only a tree. If git aborts, users have to merge.
        if isinstance(error, OutputTooLarge) or error.exit_code in _ABORTED:
            return [MergedTree(None)]
        return [error]
    return list(_results(output))


def _run_git(
    args: GitArgs,
    git_dir: Path,
    environment: Mapping[str, str],
    budget: CpuBudget,
    stdin: bytes | None = None,
) -> bytes:
    """Run git within the limits of a merge and return its stdout.

    Raises GitTooExpensive if git needs too much CPU time or memory.
    """
    try:
        return run_git(
            args,
            git_dir=git_dir,
            stdin=stdin,
            environment=environment,
            time_limit=_SECONDS,
            max_memory=MEMORY,
            max_cpu=budget,
        )
    except GitFailed as error:
        if _OUT_OF_MEMORY in error.stderr:
            raise GitTooExpensive from None
        raise


def _results(output: bytes) -> Iterator[MergedTree]:
    """Parse the output of ``-z --name-only``: a status, a tree, paths in conflict and an empty field each."""
    fields = iter(output.split(b"\0")[:-1])
    for status in fields:
        tree = next(fields).decode("ascii")
        paths = {path.decode("utf-8", "replace") for path in iter(lambda: next(fields), b"")}
        yield MergedTree(tree) if status == _CLEAN else MergedTree(None, tuple(sorted(paths)))


def _merge_ignoring_whitespace(
    view: ScratchRepository,
    ours: str,
    head: str,
    conflict: MergedTree,
    config: Sequence[tuple[str, str]],
    budget: CpuBudget,
) -> Result:
    """Merge with git-merge(1) and ``-Xignore-space-change``. Return ``conflict`` if it conflicts, too.

    git-merge-tree(1) lacks this option. git-merge(1) needs an index of all files, and a work tree with only
    the files that the merge changes.
    """
    with view.temporary_folder() as folder:
        work, git_dir = folder / "work", folder / "repository"
        work.mkdir()
        (git_dir / "refs").mkdir(parents=True)
        (git_dir / "HEAD").write_text(f"{ours}\n")
        (git_dir / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
        _write_attributes(view, work, _attributes(view, ours, [head]))
        who = {f"GIT_{role}_{key}": "merge" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        run = partial(_run_git, git_dir=git_dir, environment=view.environment(config, **who), budget=budget)
        options = (
            "--no-commit", "--no-ff", "--quiet", "--allow-unrelated-histories",
            "--strategy=ort", "--strategy-option=ignore-space-change",
        )  # fmt: skip
        try:
            run(GitArgs("read-tree", (), (ours,)))
            run(GitArgs("merge", options, (head,), work_tree=work))
            return MergedTree(run(GitArgs("write-tree")).decode("ascii").strip())
        except GitFailed as error:
            return conflict if error.exit_code == _CONFLICT else error


@contextmanager
def _checked_out(view: ScratchRepository, ours: str, heads: Sequence[str]) -> Iterator[Path | None]:
    """Yield a work tree with the attributes that may apply to files changed on both sides.

    Yield None if there are no such attributes. A file counts as changed if it differs in a head. A file that
    our side does not have counts as changed, too.
    """
    attributes = _attributes(view, ours, heads)
    if not attributes:
        yield None
        return
    with view.temporary_folder() as work:
        _write_attributes(view, work, attributes)
        yield work


def _write_attributes(view: ScratchRepository, work: Path, attributes: dict[bytes, bytes]) -> None:
    """Write attribute files into a work tree; skip a file that is too large.

    Raises GitTooExpensive if the files are too many, too deep, or too large together.
    """
    sizes = {path: view.odb.read_header(oid.hex())[1] for path, oid in attributes.items()}
    read = {path: oid for path, oid in attributes.items() if sizes[path] <= _LARGEST_ATTRIBUTES}
    if (
        len(read) > _MOST_ATTRIBUTES
        or sum(sizes[path] for path in read) > _ATTRIBUTES_BYTES
        or any(path.count(b"/") > DEEPEST for path in read)
    ):
        raise GitTooExpensive
    for path, oid in read.items():
        file = work / path.decode("utf-8", "surrogateescape")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(view.read(oid.hex())[1])


def _attributes(repo: pygit2.Repository, ours: str, heads: Sequence[str]) -> dict[bytes, bytes]:
    """Return the ids of the attribute files of ours by path.

    Only folders that differ from the tree of a head are read. Raises GitTooExpensive if too many folders
    differ.
    """
    folders = cache(partial(_Folder.read, repo))
    attributes: dict[bytes, bytes] = {}
    root, trees = (
        str(find_commit(repo, ours).tree_id),
        {str(find_commit(repo, head).tree_id) for head in heads},
    )
    waiting: list[tuple[bytes, str, str | None]] = [(b"", root, tree) for tree in trees if tree != root]
    visited = 0
    while waiting:
        visited += 1
        if visited > _MOST_FOLDERS:
            raise GitTooExpensive
        path, ours_id, theirs_id = waiting.pop()
        folder = folders(ours_id)
        if folder.attributes is not None:
            attributes[path + _ATTRIBUTES] = folder.attributes
        theirs = b"" if theirs_id is None else read_tree(repo, theirs_id)
        for name, oid in folder.folders:
            key = _FOLDER + b" " + name + b"\0"
            deeper = path + name + b"/"
            if len(deeper) <= _LONGEST_PATH and key + oid not in theirs:
                start = theirs.find(key) + len(key)
                other = theirs[start : start + len(oid)].hex() if key in theirs else None
                waiting.append((deeper, oid.hex(), other))
    return attributes


@dataclass(frozen=True, slots=True)
class _Folder:
    """The attributes and the folders in a tree."""

    attributes: bytes | None
    folders: list[tuple[bytes, bytes]]

    @classmethod
    def read(cls, repo: pygit2.Repository, oid: str) -> "_Folder":
        entries = read_entries(repo, oid)
        mode, attributes = entries.get(_ATTRIBUTES, (b"", b""))
        folders = [
            (name, oid) for name, (mode, oid) in entries.items() if mode == _FOLDER and _is_plain(name)
        ]
        return cls(attributes if mode in _FILES else None, folders)


def _is_plain(name: bytes) -> bool:
    """True if a folder of a work tree can have this name."""
    return name not in (b".", b"..", b".git") and b"/" not in name and len(name) <= _LONGEST_NAME


def _commit(view: ScratchRepository, tree: str, *parents: str) -> str:
    """Write a temporary commit and return its id."""
    lines = [
        f"tree {tree}",
        *(f"parent {parent}" for parent in parents),
        f"author {_WHO}",
        f"committer {_WHO}",
    ]
    with writing():
        return str(view.odb.write(ObjectType.COMMIT, "\n".join((*lines, "", "")).encode()))
