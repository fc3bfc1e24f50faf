"""Reverts a commit by a new commit on a branch (git-revert(1))."""

import pygit2

from ingot_git.changes.file_changes import (
    ChangeRefused,
    NewCommit,
    PreparedCommit,
    branch_tips,
    write_commit,
)
from ingot_git.changes.replays import merged_tree
from ingot_git.history.commits import commit_info, find_commit
from ingot_git.process.errors import MergeConflict, MergeTooExpensive
from ingot_git.refs.refs import BRANCHES, RefChange
from ingot_git.refs.trees import EMPTY_TREE
from ingot_git.storage.scratch import ScratchRepository, staged


def prepare_revert(repo: pygit2.Repository, new: NewCommit, *, oid: str) -> PreparedCommit:
    """Write a commit that reverts the commit ``oid`` (full id). A merge is reverted against its first parent.

    Raises:
        RefNotFound: the branch does not exist.
        ObjectNotFound: the commit does not exist.
        ChangeRefused: later commits changed the same lines, or the branch has none of the changes. Or
            ``new_branch`` exists.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    with staged(repo) as view:
        try:
            tree = _reverted_tree(view, tip, oid)
        except MergeTooExpensive as error:
            raise ChangeRefused("conflict", "", str(error)) from None
        except MergeConflict as error:
            paths = ", ".join(error.paths[:3]) + (" and more" if error.paths[3:] else "")
            where = f" in {paths}" if paths else ""
            raise ChangeRefused("conflict", "", f"later commits changed the same{where}") from None
        if tree == commit_info(view, tip).tree:
            raise ChangeRefused(
                "conflict", "", f"the branch {new.branch!r} has nothing of what the commit changed"
            )
        revert = commit_info(view, write_commit(view, tip, tree, new))
        view.keep(revert.oid)
    return PreparedCommit(revert, RefChange(BRANCHES + new.new_branch, expected, revert.oid), ())


def _reverted_tree(view: ScratchRepository, tip: str, oid: str) -> str:
    """Return the tree of ``tip`` with the commit ``oid`` reverted (full ids). Raises MergeConflict."""
    commit = find_commit(view, oid)
    before = str(commit.parents[0].tree_id) if commit.parents else EMPTY_TREE
    return merged_tree(view, str(commit.tree_id), str(find_commit(view, tip).tree_id), before)
