"""Merges two histories in the bare repository like git (`tree_merges`), without a work tree and hooks.

A merge first creates objects, which are published if there is no conflict. Then it moves the base ref by
compare-and-swap. So exactly one of two concurrent merges, or of a merge and a push, succeeds.

With ``ignore_whitespace`` two changes do not conflict if one changes only the amount of whitespace in a line.
The other change is taken (like ``-Xignore-space-change`` of git-merge(1)). Everything that merges without
this option is unaffected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import pygit2

from ingot_git.changes.replays import replay
from ingot_git.changes.tree_merges import CPU_SECONDS, Result, clean_tree, merge_heads
from ingot_git.history import trivial_merges
from ingot_git.history.commits import Person, find_commit
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.history.reachability import merge_base
from ingot_git.history.trivial_merges import is_trivial
from ingot_git.process.errors import GitFailed, MergeConflict, MergeTooExpensive, RefMoved, RefNotFound
from ingot_git.refs.refs import RefChange, move_ref, ref_target
from ingot_git.storage.scratch import scratch, staged

MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]


@dataclass(frozen=True, slots=True)
class _Makers:
    """The author and the committer of new commits, and the key that signs them."""

    author: Person
    committer: Person
    signer: Signer | None


@dataclass(frozen=True, slots=True)
class Mergeability:
    """The result of a test merge of two commits: clean, or the paths in conflict.

    If the test exceeds its CPU time, ``clean`` is True: the merge itself decides. If git aborts or prints too
    much, ``clean`` is False without paths.
    """

    clean: bool
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """Full ids of the two tips of a merge, and of their best common ancestor, if there is one."""

    base: str
    head: str
    merge_base: str | None


def merge_inputs(repo: pygit2.Repository, head: str = "", *, base_ref: str, head_ref: str) -> MergeInputs:
    """Return the inputs of merging ``head``, or else the target of ``head_ref``, into ``base_ref``.

    Raises:
        RefNotFound: ``base_ref`` does not exist.
        RefMoved: ``head`` is empty, and ``head_ref`` does not exist.
        ObjectNotFound: one of the ids is not a commit of this repository.
    """
    base, tip = ref_target(repo, base_ref), head or ref_target(repo, head_ref)
    if base is None:
        raise RefNotFound("the base ref does not exist")
    if tip is None:
        raise RefMoved("the ref of the head does not exist")
    return MergeInputs(base, tip, merge_base(repo, base, tip))


def mergeable(
    repo: pygit2.Repository, base: str, head: str, *, ignore_whitespace: bool = False
) -> Mergeability:
    """Test the merge of `head` into `base` (full ids). Blocks; costs grow with the changed files.

    Raises:
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    if is_trivial(repo, base, head, merge_base(repo, base, head)):
        return Mergeability(clean=True)
    (result,) = mergeable_heads(repo, base, [head], ignore_whitespace=ignore_whitespace)
    if isinstance(result, GitFailed):
        raise result
    return result


def mergeable_heads(
    repo: pygit2.Repository, base: str, heads: Sequence[str], *, ignore_whitespace: bool = False
) -> list[Mergeability | GitFailed]:
    """Test the merges of many heads into one base, if possible in one git process. Blocks.

    Return a result for each head. If git fails for a head, its result is the error.

    Raises:
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitTimedOut: git takes too long.
    """
    with scratch(repo) as view:
        results = merge_heads(view, base, heads, ignore_whitespace=ignore_whitespace, keep=False)
    return [_mergeability(result) for result in results]


def _mergeability(result: Result) -> Mergeability | GitFailed:
    if isinstance(result, GitFailed):
        return result
    if isinstance(result, MergeTooExpensive):
        # Unknown: the merge itself may use more CPU time, so it decides.
        return Mergeability(clean=True)
    return Mergeability(clean=result.tree is not None, conflicts=result.conflicts)


def merge(
    repo: pygit2.Repository,
    *,
    base_ref: str,
    expected_base: str,
    head: str,
    style: MergeStyle,
    message: str,
    author: Person,
    committer: Person,
    ignore_whitespace: bool = False,
    signer: Signer | None = None,
    cpu_seconds: float = CPU_SECONDS,
) -> str:
    """Merge `head` into `base_ref` and return the new target of the ref. Blocks.

    If the base already contains the head, nothing changes and the base is returned. So a merge is idempotent:
    it can be repeated if its response was lost. For arguments and errors see `merged`.
    """
    new = merged(
        repo,
        base_ref=base_ref,
        expected_base=expected_base,
        head=head,
        style=style,
        message=message,
        author=author,
        committer=committer,
        ignore_whitespace=ignore_whitespace,
        signer=signer,
        cpu_seconds=cpu_seconds,
    )
    if new != expected_base:
        move_ref(repo, RefChange(base_ref, expected_base, new))
    return new


def merged(
    repo: pygit2.Repository,
    *,
    base_ref: str,
    expected_base: str,
    head: str,
    style: MergeStyle,
    message: str,
    author: Person,
    committer: Person,
    ignore_whitespace: bool = False,
    signer: Signer | None = None,
    cpu_seconds: float = CPU_SECONDS,
) -> str:
    """Create the commit to which `base_ref` must move for a merge of `head`. Return its id. Blocks.

    No ref moves. If no commit is needed, the id of an existing commit is returned.

    Args:
        repo: the bare repository.
        base_ref: full ref name.
        expected_base: full id that the ref must have, before and at the moment of the change.
        head: full commit id, present in this repository (see `heads`).
        style: `rebase` and `rebase-merge` replay the commits of head one by one, without merges. `squash`
            makes one commit of them. `fast-forward-only` makes none.
        message: message of the new commit; unused by `rebase` and `fast-forward-only`.
        author: author of the new commit; replayed commits keep their authors.
        committer: committer of every new commit.
        ignore_whitespace: see the module.
        signer: signs every new commit, and becomes its committer.
        cpu_seconds: the limit of git's CPU time.

    Raises:
        RefMoved: the base ref has another id; nothing changed.
        MergeConflict: git cannot merge the commits automatically; nothing changed. The subclass
            MergeTooExpensive: the merge needs more than ``cpu_seconds``.
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    if ref_target(repo, base_ref) != expected_base:
        raise RefMoved("the base ref has moved")
    sides = _Sides(
        find_commit(repo, expected_base), find_commit(repo, head), merge_base(repo, expected_base, head)
    )
    if sides.ancestor == head:
        return expected_base
    makers = _Makers(author, committer, signer)
    parents = [sides.ours.id, sides.theirs.id]
    match style:
        case "merge":
            return _commit_merge(repo, sides, makers, message, parents, ignore_whitespace, cpu_seconds)
        case "squash":
            return _commit_merge(repo, sides, makers, message, parents[:1], ignore_whitespace, cpu_seconds)
        case "rebase":
            return _rebase(repo, sides, makers, ignore_whitespace, cpu_seconds)
        case "rebase-merge":
            return _rebase(repo, sides, makers, ignore_whitespace, cpu_seconds, merge_message=message)
        case "fast-forward-only":
            if sides.ancestor != expected_base:
                raise MergeConflict(reason="not a fast-forward")
            return head
        case _:
            assert_never(style)


def update(
    repo: pygit2.Repository,
    base: str,
    *,
    head_ref: str,
    expected_head: str,
    style: Literal["merge", "rebase"],
    message: str,
    who: Person,
    ignore_whitespace: bool = False,
    signer: Signer | None = None,
) -> str:
    """Bring all commits of `base` (full id) to the head. Return the id to which `head_ref` must move.

    Blocks; moves no ref. `rebase` replays the commits of the head on top of `base`. `merge` creates a merge
    commit. If the head has no commits of its own, the id is `base`. If the head has all commits of `base`,
    the id is `expected_head`.

    Raises:
        RefMoved: the head ref has another id.
        MergeConflict: git cannot merge the commits automatically.
        ObjectNotFound: one of the ids is not a commit of this repository.
        GitFailed, GitTimedOut: git could not merge the commits.
    """
    if ref_target(repo, head_ref) != expected_head:
        raise RefMoved("the head ref has moved")
    head, onto = find_commit(repo, expected_head), find_commit(repo, base)
    ancestor = merge_base(repo, expected_head, base)
    if ancestor == base:
        return expected_head
    if ancestor == expected_head:
        return base
    makers = _Makers(who, who, signer)
    if style == "rebase":
        return _rebase(repo, _Sides(onto, head, ancestor), makers, ignore_whitespace, CPU_SECONDS)
    parents = [head.id, onto.id]
    sides = _Sides(head, onto, ancestor)
    return _commit_merge(repo, sides, makers, message, parents, ignore_whitespace, CPU_SECONDS)


def follow(
    repo: pygit2.Repository,
    base: str,
    *,
    head_ref: str,
    expected_head: str,
    only_forward: bool,
    message: str,
    who: Person,
    signer: Signer | None = None,
) -> str:
    """Return the result of `update` with style ``merge``.

    Raises the errors of `update`. With ``only_forward`` also raises MergeConflict if a merge commit is
    needed.
    """
    if only_forward and merge_base(repo, expected_head, base) not in (expected_head, base):
        raise MergeConflict(reason="the branch has commits of its own")
    return update(
        repo,
        base,
        head_ref=head_ref,
        expected_head=expected_head,
        style="merge",
        message=message,
        who=who,
        signer=signer,
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two commits to merge, and the full id of one of their merge bases; None if they have none."""

    ours: pygit2.Commit
    theirs: pygit2.Commit
    ancestor: str | None


def _commit_merge(
    repo: pygit2.Repository,
    sides: _Sides,
    makers: _Makers,
    message: str,
    parents: list[pygit2.Oid],
    ignore_whitespace: bool,
    cpu_seconds: float,
) -> str:
    """Create the commit of the merged tree. Return its id. Raises MergeConflict."""
    planned = trivial_merges.plan_merge(repo, sides.ours, sides.theirs, sides.ancestor)
    if planned is not None:
        return _commit(repo, makers, message, planned.write(repo), parents)
    with staged(repo) as view:
        ours, theirs = str(sides.ours.id), str(sides.theirs.id)
        (result,) = merge_heads(
            view, ours, [theirs], ignore_whitespace=ignore_whitespace, keep=True, cpu_seconds=cpu_seconds
        )
        oid = _commit(view, makers, message, clean_tree(result), parents)
        view.keep(oid)
        return oid


def _rebase(
    repo: pygit2.Repository,
    sides: _Sides,
    makers: _Makers,
    ignore_whitespace: bool,
    cpu_seconds: float,
    merge_message: str | None = None,
) -> str:
    """Replay the commits of theirs on ours. Return the new tip.

    With ``merge_message`` return a merge commit of ours and the new tip. Raises MergeConflict.
    """
    ours, theirs = str(sides.ours.id), str(sides.theirs.id)
    is_ahead = sides.ancestor == ours
    if is_ahead and merge_message is None:
        return theirs
    with staged(repo) as view:
        tip = theirs
        if not is_ahead:
            tip = replay(
                view,
                ours,
                theirs,
                sides.ancestor,
                committer=makers.committer,
                ignore_whitespace=ignore_whitespace,
                signer=makers.signer,
                cpu_seconds=cpu_seconds,
            )
        if merge_message is not None and tip != ours:
            tree = find_commit(view, tip).tree_id
            tip = _commit(view, makers, merge_message, tree, [sides.ours.id, tip])
        view.keep(tip)
        return tip


def _commit(
    repo: pygit2.Repository,
    makers: _Makers,
    message: str,
    tree: pygit2.Oid | str,
    parents: Sequence[pygit2.Oid | str],
) -> str:
    return create_commit(
        repo,
        author=makers.author,
        committer=makers.committer,
        message=message,
        tree=tree,
        parents=parents,
        signer=makers.signer,
    )
