"""Replays commits on another one (git-rebase(1), git-cherry-pick(1)), and reverts them (git-revert(1))."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from ingot_repos.git.changes import tree_merges
from ingot_repos.git.history.commits import Person, describe, find_commit
from ingot_repos.git.history.new_objects import Signer, create_commit
from ingot_repos.git.history.reachability import only_in
from ingot_repos.git.history.trivial_merges import line_between, plan_tree_merge
from ingot_repos.git.process.command import GitArgs, run_git
from ingot_repos.git.process.cpu_time import CpuBudget
from ingot_repos.git.refs.trees import EMPTY_TREE
from ingot_repos.git.storage.scratch import ScratchRepository

_ONLY_IN_HEAD = ">"
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
) -> str:
    """Replay the commits of ``head`` that ``base`` lacks on ``base`` (full ids); return the new tip.

    Blocks; may run git. A commit whose changes are already in the base is dropped, an empty commit is not.
    Merges are skipped: their commits are replayed themselves. ``ancestor`` is a merge base. Signatures of the
    originals would not fit the new commits; ``signer`` signs each of them.

    Raises:
        MergeConflict: one of them cannot be replayed.
        GitFailed, GitTimedOut: git could not merge them.
        SigningFailed: one of them cannot be signed.
    """
    tip, budget = find_commit(view, base), CpuBudget(tree_merges.CPU_SECONDS)
    for original in _commits_to_replay(view, tip, find_commit(view, head), ancestor):
        before = str(original.parents[0].tree_id) if original.parents else EMPTY_TREE
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
        )
        tip = find_commit(view, new)
    return str(tip.id)


def merged_tree(view: ScratchRepository, base: str, ours: str, theirs: str) -> str:
    """Return the merge of two trees with the common ancestor ``base`` (full ids). Blocks; may run git.

    Raises:
        MergeConflict: they conflict.
        GitFailed, GitTimedOut: git could not merge them.
    """
    planned = plan_tree_merge(view, base, ours, theirs)
    if planned is not None:
        return planned.write(view)
    budget = CpuBudget(tree_merges.CPU_SECONDS)
    result = tree_merges.merge_with_ancestor(view, base, ours, theirs, budget, ignore_whitespace=False)
    return tree_merges.clean_tree(result)


def _commits_to_replay(
    view: ScratchRepository, base: pygit2.Commit, head: pygit2.Commit, ancestor: str | None
) -> list[pygit2.Commit]:
    """Return the commits, oldest first. Skip those whose changes the base has, like git-rebase(1)."""
    line = None if ancestor is None else line_between(ancestor, head)
    if line is not None and ancestor is not None and not _may_have_same(view, base, ancestor, line):
        return line[::-1]
    ids = str(base.id), str(head.id)
    of_one = {*only_in(view, ids[1], ids[:1]), *only_in(view, ids[0], ids[1:])}
    listed = _marked(view, base, head, [])
    if wrong := [oid for _, oid in listed if oid not in of_one]:
        # Dates run backwards: git took commits of both histories for commits of one.
        listed = _marked(view, base, head, wrong)
    return [find_commit(view, oid) for mark, oid in listed if mark == _ONLY_IN_HEAD]


def _marked(
    view: ScratchRepository, base: pygit2.Commit, head: pygit2.Commit, hidden: list[str]
) -> list[tuple[str, str]]:
    """Return the commits that only one of both histories has, oldest first, with the marks of git-rev-list(1).

    Commits with the same changes in both histories have a mark of their own. ``hidden`` has ids of commits
    that both histories have. Merges are skipped.
    """
    options = ("--left-right", "--cherry-mark", "--no-merges", "--topo-order", "--reverse", "--stdin")
    revisions = [f"{base.id}...{head.id}", *(f"^{oid}" for oid in hidden)]
    output = run_git(
        GitArgs("rev-list", options),
        git_dir=Path(view.path),
        stdin="".join(f"{revision}\n" for revision in revisions).encode(),
        environment=view.environment(),
        max_output=_MOST_BYTES,
    )
    return [(line[:1], line[1:]) for line in output.decode("ascii").splitlines()]


def _may_have_same(
    view: ScratchRepository, base: pygit2.Commit, ancestor: str, line: list[pygit2.Commit]
) -> bool:
    """True if a commit of the base may have the same changes as a commit of the line."""
    oids = only_in(view, str(base.id), [ancestor], most=_MOST_COMPARED + 1)
    if len(oids) > _MOST_COMPARED:
        return True
    theirs = [find_commit(view, oid) for oid in oids]
    firsts = [_first_change(commit) for commit in line]
    return any(
        first is None or not other.parents or _may_be_alike(view, own, other, first)
        for other in theirs
        if len(other.parents) <= 1
        for own, first in zip(line, firsts, strict=True)
    )


def _may_be_alike(view: ScratchRepository, own: pygit2.Commit, other: pygit2.Commit, path: str) -> bool:
    """True unless the changes of a file differ for git, which ignores white space and numbers of lines.

    Lines that are equal on both sides of a diff do not matter, so no diff is made.
    """
    before, after = _entry(other.parents[0], path), _entry(other, path)
    if before == after:
        return False
    changed = _changed_lines(view, before, after)
    return changed is None or changed == _changed_lines(view, _entry(own.parents[0], path), _entry(own, path))


def _changed_lines(
    view: ScratchRepository, before: tuple[str, int] | None, after: tuple[str, int] | None
) -> Counter[bytes] | None:
    """Return how often a change adds each line, or removes it (negative); None if that is unknown."""
    lines = Counter[bytes]()
    for entry, change in ((before, Counter.subtract), (after, Counter.update)):
        if entry is None:
            continue
        oid, mode = entry
        if mode == FileMode.COMMIT or view.odb.read_header(oid)[1] > _LARGEST_COMPARED:
            return None
        change(lines, [b"".join(line.split()) for line in view.read(oid)[1].split(b"\n")])
    return Counter({line: count for line, count in lines.items() if count})


def _first_change(commit: pygit2.Commit) -> str | None:
    """Return the path of one file that a commit changes against its parent; None without a UTF-8 path."""
    deltas: Iterator[pygit2.DiffDelta] = iter(commit.parents[0].tree.diff_to_tree(commit.tree).deltas)
    path = next((delta.new_file.raw_path for delta in deltas), b"")
    try:
        return path.decode() or None
    except UnicodeDecodeError:
        return None


def _entry(commit: pygit2.Commit, path: str) -> tuple[str, int] | None:
    try:
        entry = commit.tree[path]
    except KeyError:
        return None
    return str(entry.id), int(entry.filemode)
