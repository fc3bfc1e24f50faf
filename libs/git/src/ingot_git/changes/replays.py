"""Replays commits on another commit (git-rebase(1), git-cherry-pick(1)), and reverts them (git-revert(1))."""

from collections import Counter, defaultdict
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from ingot_git.changes import tree_merges
from ingot_git.history.commits import Person, describe, find_commit
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.history.reachability import only_in
from ingot_git.history.trivial_merges import Entry, line_between, plan_tree_merge, read_entries
from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.errors import GitTooExpensive, MergeTooExpensive
from ingot_git.refs.trees import DEEPEST, EMPTY_TREE, FOLDER
from ingot_git.storage.scratch import ScratchRepository

_IN_BOTH = "="
_MOST_COMPARED = 200
_LARGEST_COMPARED = 64 * 1024
_MOST_BYTES = 64 * 1024 * 1024


def replay(
    view: ScratchRepository,
    base: str,
    head: str,
    ancestor: str | None,
    *,
    committer: Person,
    ignore_whitespace: bool,
    signer: Signer | None = None,
    cpu_seconds: float = tree_merges.CPU_SECONDS,
) -> str:
    """Replay the commits of ``head`` that ``base`` lacks on ``base`` (full ids). Return the new tip.

    Blocks; may run git. A commit whose changes are already in the base is dropped, but an empty commit is
    kept. Merge commits are skipped, because the commits that they merge are replayed. ``ancestor`` is a merge
    base. Signatures are not copied, because they would not fit the new commits. ``signer`` signs each new
    commit.

    Raises:
        MergeConflict: a commit cannot be replayed.
        MergeTooExpensive: all commits together take more than ``cpu_seconds``.
        GitFailed, GitTimedOut: git could not merge the commits.
        SigningFailed: a commit cannot be signed.
    """
    key = (base, head, ignore_whitespace, cpu_seconds)
    if tree_merges.was_too_expensive(*key):
        raise MergeTooExpensive
    try:
        return _replay(
            view, base, head, ancestor, CpuBudget(cpu_seconds), committer, signer, ignore_whitespace
        )
    except (GitTooExpensive, MergeTooExpensive):
        tree_merges.note_too_expensive(*key)
        raise MergeTooExpensive from None


def _replay(
    view: ScratchRepository,
    base: str,
    head: str,
    ancestor: str | None,
    budget: CpuBudget,
    committer: Person,
    signer: Signer | None,
    ignore_whitespace: bool,
) -> str:
    """Replay the commits and return the new tip. Raises the errors of `replay`, and GitTooExpensive."""
    tip = find_commit(view, base)
    for original in _commits_to_replay(view, tip, find_commit(view, head), ancestor, budget):
        budget.require()
        before = _tree_before(original)
        planned = plan_tree_merge(view, before, str(tip.tree_id), str(original.tree_id))
        if planned is not None:
            tree = planned.write(view)
        else:
            result = tree_merges.merge_change(
                view, original, tip, budget, ignore_whitespace=ignore_whitespace
            )
            tree = tree_merges.clean_tree(result)
        if tree == str(tip.tree_id) and str(original.tree_id) != before:
            continue
        # describe() reads any encoding; the copy is UTF-8.
        info = describe(original)
        new = create_commit(
            view,
            author=info.author,
            committer=committer,
            message=info.message,
            tree=tree,
            parents=[tip.id],
            signer=signer,
            budget=budget,
        )
        tip = find_commit(view, new)
    return str(tip.id)


def merged_tree(view: ScratchRepository, base: str, ours: str, theirs: str) -> str:
    """Merge two trees with the common ancestor ``base`` (full ids). Return the id of the tree.

    Blocks; may run git.

    Raises:
        MergeConflict: the trees conflict.
        GitFailed, GitTimedOut: git could not merge the trees.
    """
    planned = plan_tree_merge(view, base, ours, theirs)
    if planned is not None:
        return planned.write(view)
    budget = CpuBudget(tree_merges.CPU_SECONDS)
    result = tree_merges.merge_with_ancestor(view, base, ours, theirs, budget, ignore_whitespace=False)
    return tree_merges.clean_tree(result)


def _commits_to_replay(
    view: ScratchRepository,
    base: pygit2.Commit,
    head: pygit2.Commit,
    ancestor: str | None,
    budget: CpuBudget,
) -> list[pygit2.Commit]:
    """Return the commits to replay, oldest first.

    Commits whose changes the base has are skipped, like in git-rebase(1). Raises GitTooExpensive.
    """
    line = None if ancestor is None else line_between(ancestor, head)
    if line is not None and ancestor is not None and not _may_have_same(view, base, ancestor, line, budget):
        return line[::-1]
    ids = str(base.id), str(head.id)
    of_base, of_head = set(only_in(view, ids[0], ids[1:])), set(only_in(view, ids[1], ids[:1]))
    listed = _marked(view, base, head, [], budget)
    if wrong := [oid for oid in listed if oid not in of_base and oid not in of_head]:
        # Dates run backwards: git took commits of both histories for commits of one.
        listed = _marked(view, base, head, wrong, budget)
    commits = [(find_commit(view, oid), mark) for oid, mark in listed.items() if oid in of_head]
    return [commit for commit, mark in commits if mark != _IN_BOTH or _is_empty(commit)]


def _is_empty(commit: pygit2.Commit) -> bool:
    return _tree_before(commit) == str(commit.tree_id)


def _tree_before(commit: pygit2.Commit) -> str:
    return str(commit.parents[0].tree_id) if commit.parents else EMPTY_TREE


def _marked(
    view: ScratchRepository, base: pygit2.Commit, head: pygit2.Commit, hidden: list[str], budget: CpuBudget
) -> dict[str, str]:
    """Return the ids of commits that only one history has, oldest first, with git's marks.

    Commits with the same changes in both histories have the mark `_IN_BOTH`, also if they change nothing.
    ``hidden`` has ids of commits that both histories have. Merges are skipped. Raises GitTooExpensive.
    """
    options = ("--left-right", "--cherry-mark", "--no-merges", "--topo-order", "--reverse", "--stdin")
    revisions = [f"{base.id}...{head.id}", *(f"^{oid}" for oid in hidden)]
    output = run_git(
        GitArgs("rev-list", options),
        git_dir=Path(view.path),
        stdin="".join(f"{revision}\n" for revision in revisions).encode(),
        environment=view.environment(),
        max_output=_MOST_BYTES,
        max_memory=tree_merges.MEMORY,
        max_cpu=budget,
    )
    return {line[1:]: line[:1] for line in output.decode("ascii").splitlines()}


def _may_have_same(
    view: ScratchRepository,
    base: pygit2.Commit,
    ancestor: str,
    line: list[pygit2.Commit],
    budget: CpuBudget,
) -> bool:
    """True if a commit of the base may have the same changes as a commit in ``line``.

    Raises GitTooExpensive.
    """
    oids = only_in(view, str(base.id), [ancestor], most=_MOST_COMPARED + 1)
    if len(oids) > _MOST_COMPARED:
        return True
    theirs = [find_commit(view, oid) for oid in oids]
    lines: dict[str, list[Counter[bytes] | None]] = defaultdict(list)
    for commit in line:
        budget.require()
        path = _first_change(view, commit)
        if path is None:
            return True
        lines[path].append(_changed_lines(view, commit, path))
    for other in theirs:
        if not other.parents:
            return True
        for path, own in lines.items() if len(other.parents) == 1 else ():
            budget.require()
            if _entry(other.parents[0], path) != _entry(other, path):
                changed = _changed_lines(view, other, path)
                if changed is None or None in own or changed in own:
                    return True
    return False


def _changed_lines(view: ScratchRepository, commit: pygit2.Commit, path: str) -> Counter[bytes] | None:
    """Return the lines of a file that a commit adds, with their counts; removed lines have negative counts.

    Return None if the file is a submodule or too large. As in git, white space and line numbers do not
    matter. Lines that are equal on both sides of a diff cancel out, so no diff is made.
    """
    before, after = _entry(commit.parents[0], path), _entry(commit, path)
    lines = Counter[bytes]()
    for entry, change in ((before, Counter.subtract), (after, Counter.update)):
        if entry is None:
            continue
        oid, mode = entry
        if mode == FileMode.COMMIT or view.odb.read_header(oid)[1] > _LARGEST_COMPARED:
            return None
        change(lines, [b"".join(line.split()) for line in view.read(oid)[1].split(b"\n")])
    return Counter({line: count for line, count in lines.items() if count})


def _first_change(view: ScratchRepository, commit: pygit2.Commit) -> str | None:
    """Return the path of one file that a commit changes against its parent.

    Return None if the commit changes no file, or if the path is too deep or not UTF-8. Only the folders above
    this file are read, because a few objects can describe billions of files.
    """
    trees: tuple[str | None, str | None] = str(commit.parents[0].tree_id), str(commit.tree_id)
    names: list[bytes] = []
    while trees != (None, None):
        before, after = ({} if tree is None else read_entries(view, tree) for tree in trees)
        changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        if not changed or len(names) == DEEPEST:
            return None
        names.append(min(changed))
        entries = before.get(names[-1]), after.get(names[-1])
        trees = _folder_id(entries[0]), _folder_id(entries[1])
    try:
        return b"/".join(names).decode()
    except UnicodeDecodeError:
        return None


def _folder_id(entry: Entry | None) -> str | None:
    """Return the id of a folder; None for anything else."""
    return entry[1].hex() if entry is not None and int(entry[0], 8) == FOLDER else None


def _entry(commit: pygit2.Commit, path: str) -> tuple[str, int] | None:
    try:
        entry = commit.tree[path]
    except KeyError:
        return None
    return str(entry.id), int(entry.filemode)
