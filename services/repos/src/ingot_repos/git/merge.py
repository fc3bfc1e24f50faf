"""Comparing two histories and joining them, in the bare repository, without a work tree or a hook.

A merge writes objects first, which changes nothing for anyone, and then moves the base ref by
compare-and-swap. So of two merges, or a merge and a push, at the same moment, exactly one wins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

import pygit2
from pygit2.enums import SortMode

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.commits import Person, describe, find_commit, signature
from ingot_repos.git.errors import InvalidName, MergeConflict, RefMoved, RefNotFound
from ingot_repos.git.refs import RefChange, is_valid_ref_name, ref_target, update_refs

MergeStyle = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]

_FETCH_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Mergeability:
    """Whether two commits can be joined by themselves, and if not, the paths in conflict."""

    clean: bool
    conflicts: tuple[str, ...] = ()


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
        head: full commit id, present in this repository (see `fetch_from`).
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
    update_refs(Path(repo.path), [RefChange(base_ref, expected_base, new)])
    return new


def fetch_from(target: Path, source: Path, source_ref: str, target_ref: str) -> str:
    """Bring a ref of one repository, with its objects, into another; returns its id. Blocks.

    Args:
        target: the bare repository that receives; may be the same as `source`.
        source: the bare repository on this storage that gives.
        source_ref: full name.
        target_ref: full name, moved without regard to what it held, such as `refs/pull/7/head`.

    Raises:
        InvalidName: one of the names is not a full ref name.
        RefNotFound: the source has no such ref.
        GitFailed, GitTimedOut: the objects could not be brought over.
    """
    for name in (source_ref, target_ref):
        if not name.startswith("refs/") or not is_valid_ref_name(name):
            raise InvalidName(f"not a full ref name: {name!r}")
    if ref_target(pygit2.Repository(str(source)), source_ref) is None:
        raise RefNotFound("no such ref in the source")
    options = (
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--quiet",
    )
    run_git(
        GitArgs("fetch", options, (str(source), f"+{source_ref}:{target_ref}")),
        git_dir=target,
        environment=clean_environment(protocols=("file",)),
        time_limit=_FETCH_SECONDS,
    )
    fetched = ref_target(pygit2.Repository(str(target)), target_ref)
    if fetched is None:
        raise RefMoved("the ref was taken away meanwhile")
    return fetched


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
