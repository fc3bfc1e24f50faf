"""Merges two histories in the bare repository, without a work tree and without hooks.

A merge first makes objects, which the repository gets if there is no conflict, and then moves the base ref by
compare-and-swap. So of two merges, or a merge and a push, at the same moment, exactly one succeeds.

With ``ignore_whitespace`` two changes of which one changes only the amount of white space in a line are no conflict, and the
other one is taken (as by ``-Xignore-space-change`` of git-merge(1)). What merges without that is merged as it is.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Literal, assert_never

import pygit2
from pygit2.enums import MergeFileFlag, SortMode

from ingot_repos.git.commits import Person, describe, find_commit, signature
from ingot_repos.git.disk import writing
from ingot_repos.git.errors import MergeConflict, RefMoved, RefNotFound
from ingot_repos.git.refs import RefChange, move_ref, ref_target
from ingot_repos.git.scratch import scratch, staged

_MOST_PATHS = 1000
MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]


@dataclass(frozen=True, slots=True)
class Mergeability:
    """Whether two commits merge without conflicts, and if not, the paths in conflict."""

    clean: bool
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """Full ids of the two tips of a merge, and of their best common ancestor, if there is one."""

    base: str
    head: str
    merge_base: str | None


def merge_inputs(repo: pygit2.Repository, head: str = "", *, base_ref: str, head_ref: str) -> MergeInputs:
    """The inputs of merging ``head``, or without one the target of ``head_ref``, into ``base_ref``.

    Raises:
        RefNotFound: there is no ``base_ref``.
        RefMoved: there is no ``head`` and no ``head_ref``.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    base, tip = ref_target(repo, base_ref), head or ref_target(repo, head_ref)
    if base is None:
        raise RefNotFound("the base ref does not exist")
    if tip is None:
        raise RefMoved("the ref of the head does not exist")
    return MergeInputs(base, tip, merge_base(repo, base, tip))


def merge_base(repo: pygit2.Repository, base: str, head: str) -> str | None:
    """The best common ancestor of two commits (full ids), or None.

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    ancestor = repo.merge_base(find_commit(repo, base).id, find_commit(repo, head).id)
    return None if ancestor is None else str(ancestor)


def mergeable(
    repo: pygit2.Repository, base: str, head: str, *, ignore_whitespace: bool = False
) -> Mergeability:
    """Try to merge `head` into `base` (full ids); nothing of it stays. Blocks; costs grow with the changed files.

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    with scratch(repo) as view:
        attempt = partial(view.merge_commits, find_commit(view, base), find_commit(view, head))
        conflicts = _conflicts(_merged_index(attempt, ignore_whitespace))
    return Mergeability(clean=not conflicts, conflicts=conflicts)


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
) -> str:
    """Merge `head` into `base_ref` and return the new target of the ref. Blocks.

    If the base contains the head already, nothing changes and the base is returned. So a merge is idempotent: it can
    be repeated if its answer was lost. Arguments and errors are those of `merged`.
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
) -> str:
    """Make the commit to which `base_ref` has to move to have `head`. Blocks; moves nothing.

    Args:
        repo: the bare repository.
        base_ref: full ref name.
        expected_base: full id that the ref must have, before and at the moment of the change.
        head: full commit id, present in this repository (see `heads`).
        style: `rebase` and `rebase-merge` replay the commits of head one by one, merges left out;
            `squash` makes one commit of them; `fast-forward-only` makes none.
        message: of the new commit; unused by `rebase` and `fast-forward-only`.
        author: of the new commit; replayed commits keep theirs.
        committer: of every new commit.
        ignore_whitespace: see above.

    Raises:
        RefMoved: the base ref has another id; nothing changed.
        MergeConflict: the two cannot be merged automatically; nothing changed.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    if ref_target(repo, base_ref) != expected_base:
        raise RefMoved("the base ref has moved")
    base, tip = find_commit(repo, expected_base), find_commit(repo, head)
    if _contains(repo, base, tip):
        return expected_base
    who = (signature(author), signature(committer))
    with _room_for_merge(repo, base, tip, style) as view:
        base, tip = find_commit(view, expected_base), find_commit(view, head)
        return _merge_commit(view, base, tip, style, message, who, ignore_whitespace)


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
) -> str:
    """Make the commit to which `head_ref` has to move to have all commits of `base` (full id). Blocks; moves nothing.

    `rebase` replays the commits of the head on top of `base`; `merge` makes a merge commit, unless the head has none of
    its own. The id of the head is returned when nothing is to be done.

    Raises:
        RefMoved: the head ref has another id.
        MergeConflict: the two cannot be merged automatically.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    if ref_target(repo, head_ref) != expected_head:
        raise RefMoved("the head ref has moved")
    head, onto = find_commit(repo, expected_head), find_commit(repo, base)
    if _contains(repo, head, onto):
        return expected_head
    if _contains(repo, onto, head):
        return base
    by = signature(who)
    with _room_for_merge(repo, head, onto, style) as view:
        head, onto = find_commit(view, expected_head), find_commit(view, base)
        if style == "rebase":
            return str(_replay(view, onto, head, by, ignore_whitespace).id)
        tree = _merged_tree(view, head, onto, ignore_whitespace)
        return _commit(view, (by, by), message, tree, [head.id, onto.id])


def follow(
    repo: pygit2.Repository,
    base: str,
    *,
    head_ref: str,
    expected_head: str,
    only_forward: bool,
    message: str,
    who: Person,
) -> str:
    """What `update` does by merging; with `only_forward` a MergeConflict where it would make a commit."""
    head, onto = find_commit(repo, expected_head), find_commit(repo, base)
    if only_forward and not (_contains(repo, head, onto) or _contains(repo, onto, head)):
        raise MergeConflict(reason="the branch has commits of its own")
    return update(
        repo, base, head_ref=head_ref, expected_head=expected_head, style="merge", message=message, who=who
    )


def reverted_tree(repo: pygit2.Repository, tip: str, oid: str) -> str:
    """The id of the tree of `tip` without what the commit `oid` changed against its first parent (full ids). Blocks.

    Raises:
        MergeConflict: the two cannot be merged automatically.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    onto, commit = find_commit(repo, tip), find_commit(repo, oid)
    before = commit.parents[0].tree if commit.parents else _empty_tree(repo)
    attempt = partial(repo.merge_trees, commit.tree, onto.tree, before)
    return str(_write_tree(repo, _merged_index(attempt, ignore_whitespace=False)))


def _merge_commit(
    repo: pygit2.Repository,
    base: pygit2.Commit,
    head: pygit2.Commit,
    style: MergeStyle,
    message: str,
    who: tuple[pygit2.Signature, pygit2.Signature],
    ignore_whitespace: bool,
) -> str:
    """The commit that the base ref will point to."""
    match style:
        case "merge":
            tree = _merged_tree(repo, base, head, ignore_whitespace)
            return _commit(repo, who, message, tree, [base.id, head.id])
        case "squash":
            return _commit(repo, who, message, _merged_tree(repo, base, head, ignore_whitespace), [base.id])
        case "rebase":
            return str(_replay(repo, base, head, who[1], ignore_whitespace).id)
        case "rebase-merge":
            replayed = _replay(repo, base, head, who[1], ignore_whitespace)
            if replayed.id == base.id:
                return str(base.id)
            return _commit(repo, who, message, replayed.tree_id, [base.id, replayed.id])
        case "fast-forward-only":
            if not _contains(repo, head, base):
                raise MergeConflict(reason="not a fast-forward")
            return str(head.id)
        case _:
            assert_never(style)


def _room_for_merge(
    repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit, style: MergeStyle
) -> AbstractContextManager[pygit2.Repository]:
    """Where a merge of two commits is made: beside the repository, if something may be written before a conflict shows.

    That costs two milliseconds. Only what both have changed is merged file by file, and only a rebase makes several commits.
    """
    is_rebase = style in ("rebase", "rebase-merge")
    return staged(repo) if is_rebase or _may_share_files(repo, base, head) else nullcontext(repo)


def _may_share_files(repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit) -> bool:
    """Whether there may be a file that both have changed since they parted; so it is after very many changes."""
    ancestor = merge_base(repo, str(base.id), str(head.id))
    if ancestor is None:
        return True
    before = find_commit(repo, ancestor).tree
    paths: set[str] = set()
    for delta in before.diff_to_tree(head.tree).deltas:
        paths |= {delta.old_file.path, delta.new_file.path}
        if len(paths) > _MOST_PATHS:
            return True
    return any(_entry(before, path) != _entry(base.tree, path) for path in paths)


def _entry(tree: pygit2.Tree, path: str) -> tuple[str, int] | None:
    try:
        entry = tree[path]
    except KeyError:
        return None
    return str(entry.id), int(entry.filemode)


@writing()
def _commit(
    repo: pygit2.Repository,
    who: tuple[pygit2.Signature, pygit2.Signature],
    message: str,
    tree: pygit2.Oid,
    parents: list[pygit2.Oid],
) -> str:
    return str(repo.create_commit(None, *who, message, tree, list(parents)))


def _merged_tree(
    repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit, ignore_whitespace: bool
) -> pygit2.Oid:
    return _write_tree(repo, _merged_index(partial(repo.merge_commits, base, head), ignore_whitespace))


@writing()  # the files that it merges
def _merged_index(attempt: Callable[..., pygit2.Index], ignore_whitespace: bool) -> pygit2.Index:
    """The index of a merge, which ``attempt`` makes with the ``file_flags`` that it gets. It may have conflicts."""
    index = attempt()
    if ignore_whitespace and index.conflicts is not None:
        index = attempt(file_flags=MergeFileFlag.IGNORE_WHITESPACE_CHANGE)
    return index


def _replay(
    repo: pygit2.Repository,
    base: pygit2.Commit,
    head: pygit2.Commit,
    committer: pygit2.Signature,
    ignore_whitespace: bool,
) -> pygit2.Commit:
    """The tip after replaying what head has and base has not; head itself when nothing has to be rewritten."""
    if _contains(repo, head, base):
        return head
    tip = base
    for original in list(_to_replay(repo, base, head)):
        parent = original.parents[0].tree if original.parents else _empty_tree(repo)
        attempt = partial(repo.merge_trees, parent, tip.tree, original.tree)
        tree = _write_tree(repo, _merged_index(attempt, ignore_whitespace))
        # As git-rebase(1): a commit whose changes the base has already is dropped, an empty commit is not.
        if tree == tip.tree_id and original.tree_id != parent.id:
            continue
        # describe() reads any encoding; the copy is UTF-8.
        info = describe(original)
        who = (signature(info.author), committer)
        new = _commit(repo, who, info.message, tree, [tip.id])
        tip = find_commit(repo, new)
    return tip


def _to_replay(repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit) -> Iterator[pygit2.Commit]:
    """Oldest first. Merge commits are left out: the commits that they merge are replayed themselves."""
    walker = repo.walk(head.id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    walker.hide(base.id)
    return (commit for commit in walker if len(commit.parent_ids) <= 1)


def _write_tree(repo: pygit2.Repository, index: pygit2.Index) -> pygit2.Oid:
    conflicts = _conflicts(index)
    if conflicts:
        raise MergeConflict(conflicts)
    with writing():
        return index.write_tree(repo)


def _conflicts(index: pygit2.Index) -> tuple[str, ...]:
    if index.conflicts is None:
        return ()
    return tuple(sorted({side.path for sides in index.conflicts for side in sides if side is not None}))


def _contains(repo: pygit2.Repository, history: pygit2.Commit, commit: pygit2.Commit) -> bool:
    return history.id == commit.id or repo.descendant_of(history.id, commit.id)


def _empty_tree(repo: pygit2.Repository) -> pygit2.Tree:
    with writing():
        tree = repo[repo.TreeBuilder().write()]
    assert isinstance(tree, pygit2.Tree)  # noqa: S101 -- it was written as a tree
    return tree
