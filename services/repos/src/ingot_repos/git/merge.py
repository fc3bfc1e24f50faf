"""Joining two histories, in the bare repository, without a work tree or a hook.

A merge writes objects first, which changes nothing for anyone, and then moves the base ref by
compare-and-swap. So of two merges, or a merge and a push, at the same moment, exactly one wins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import pygit2
from pygit2.enums import SortMode

from ingot_repos.git.commits import Person, describe, find_commit, signature
from ingot_repos.git.errors import MergeConflict, RefMoved, RefNotFound
from ingot_repos.git.refs import RefChange, move_ref, ref_target

MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]


@dataclass(frozen=True, slots=True)
class Mergeability:
    """Whether two commits can be joined by themselves, and if not, the paths in conflict."""

    clean: bool
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ground:
    """What a merge starts from: full ids of the two tips, and of the commit that both have, if there is one."""

    base: str
    head: str
    merge_base: str | None


def ground(repo: pygit2.Repository, head: str = "", *, base_ref: str, kept: str) -> Ground:
    """Where a base ref is, beside ``head`` or, without one, beside what the ref ``kept`` holds.

    Raises:
        RefNotFound: there is no such base.
        RefMoved: nothing is kept.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    base, tip = ref_target(repo, base_ref), head or ref_target(repo, kept)
    if base is None:
        raise RefNotFound("no such base")
    if tip is None:
        raise RefMoved("no head is kept")
    return Ground(base, tip, merge_base(repo, base, tip))


def merge_base(repo: pygit2.Repository, base: str, head: str) -> str | None:
    """The best common ancestor of two commits (full ids), or None.

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    found = repo.merge_base(find_commit(repo, base).id, find_commit(repo, head).id)
    return None if found is None else str(found)


def mergeable(repo: pygit2.Repository, base: str, head: str) -> Mergeability:
    """Try to merge `head` into `base` (full ids), in memory. Blocks; costs grow with the changed files.

    Raises:
        ObjectNotFound: one of them is not a commit of this repository.
    """
    index = repo.merge_commits(find_commit(repo, base), find_commit(repo, head))
    conflicts = _conflicts(index)
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
) -> str:
    """Bring `head` into `base_ref` and return what the ref points to now. Blocks.

    A head that the base contains already moves nothing and gives the base back, so a merge whose answer was
    lost can be asked for again.

    Args:
        repo: the bare repository.
        base_ref: full ref name.
        expected_base: full id the ref must hold, before and at the moment of the change.
        head: full commit id, present in this repository (see `heads`).
        style: `rebase` and `rebase-merge` replay the commits of head one by one, merges left out;
            `squash` makes one commit of them; `fast-forward-only` makes none.
        message: of the new commit; unused by `rebase` and `fast-forward-only`.
        author: of the new commit; replayed commits keep theirs.
        committer: of every commit that is made.

    Raises:
        RefMoved: the base ref holds another id; nothing changed.
        MergeConflict: the two do not fit together by themselves; nothing changed.
        ObjectNotFound: one of them is not a commit of this repository.
    """
    if ref_target(repo, base_ref) != expected_base:
        raise RefMoved("the base ref does not hold the expected commit")
    base, tip = find_commit(repo, expected_base), find_commit(repo, head)
    if _contains(repo, base, tip):
        return expected_base
    who = (signature(author), signature(committer))
    new = _joined(repo, base, tip, style, message, who)
    move_ref(repo, RefChange(base_ref, expected_base, new))
    return new


def _joined(
    repo: pygit2.Repository,
    base: pygit2.Commit,
    head: pygit2.Commit,
    style: MergeStyle,
    message: str,
    who: tuple[pygit2.Signature, pygit2.Signature],
) -> str:
    """The commit that the base ref shall point to."""
    match style:
        case "merge":
            return _commit(repo, who, message, _merged_tree(repo, base, head), [base.id, head.id])
        case "squash":
            return _commit(repo, who, message, _merged_tree(repo, base, head), [base.id])
        case "rebase":
            return str(_replayed(repo, base, head, who[1]).id)
        case "rebase-merge":
            replayed = _replayed(repo, base, head, who[1])
            if replayed.id == base.id:
                return str(base.id)
            return _commit(repo, who, message, replayed.tree_id, [base.id, replayed.id])
        case "fast-forward-only":
            if not _contains(repo, head, base):
                raise MergeConflict(reason="not a fast-forward")
            return str(head.id)
        case _:
            assert_never(style)


def _commit(
    repo: pygit2.Repository,
    who: tuple[pygit2.Signature, pygit2.Signature],
    message: str,
    tree: pygit2.Oid,
    parents: list[pygit2.Oid],
) -> str:
    return str(repo.create_commit(None, *who, message, tree, list(parents)))


def _merged_tree(repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit) -> pygit2.Oid:
    return _written(repo, repo.merge_commits(base, head))


def _replayed(
    repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit, committer: pygit2.Signature
) -> pygit2.Commit:
    """The tip after replaying what head has and base has not; head itself when nothing has to be rewritten."""
    if _contains(repo, head, base):
        return head
    tip = base
    for original in list(_to_replay(repo, base, head)):
        parent = original.parents[0].tree if original.parents else _empty_tree(repo)
        tree = _written(repo, repo.merge_trees(parent, tip.tree, original.tree))
        # As git-rebase(1): what the base has by other means is dropped, what was empty on purpose is kept.
        if tree == tip.tree_id and original.tree_id != parent.id:
            continue
        # describe() reads any encoding; the copy is UTF-8.
        text = describe(original)
        who = (signature(text.author), committer)
        new = _commit(repo, who, text.message, tree, [tip.id])
        tip = find_commit(repo, new)
    return tip


def _to_replay(repo: pygit2.Repository, base: pygit2.Commit, head: pygit2.Commit) -> Iterator[pygit2.Commit]:
    """Oldest first; merges left out, as what they joined is replayed by itself."""
    walker = repo.walk(head.id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    walker.hide(base.id)
    return (commit for commit in walker if len(commit.parent_ids) <= 1)


def _written(repo: pygit2.Repository, index: pygit2.Index) -> pygit2.Oid:
    conflicts = _conflicts(index)
    if conflicts:
        raise MergeConflict(conflicts)
    return index.write_tree(repo)


def _conflicts(index: pygit2.Index) -> tuple[str, ...]:
    if index.conflicts is None:
        return ()
    return tuple(sorted({side.path for sides in index.conflicts for side in sides if side is not None}))


def _contains(repo: pygit2.Repository, history: pygit2.Commit, commit: pygit2.Commit) -> bool:
    return history.id == commit.id or repo.descendant_of(history.id, commit.id)


def _empty_tree(repo: pygit2.Repository) -> pygit2.Tree:
    tree = repo[repo.TreeBuilder().write()]
    assert isinstance(tree, pygit2.Tree)  # noqa: S101 -- it was written as one
    return tree
