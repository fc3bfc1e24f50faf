"""Takes back what a commit changed, by a commit on top of a branch (git-revert(1))."""

import pygit2

from ingot_repos.git.commits import commit_info
from ingot_repos.git.errors import MergeConflict
from ingot_repos.git.file_changes import ChangeRefused, NewCommit, PreparedCommit, branch_tips, write_commit
from ingot_repos.git.merge import reverted_tree
from ingot_repos.git.refs import BRANCHES, RefChange
from ingot_repos.git.scratch import staged


def prepare_revert(repo: pygit2.Repository, new: NewCommit, *, oid: str) -> PreparedCommit:
    """Write the commit that takes back the commit ``oid`` (full id), of a merge what it changed against its first parent.

    Raises:
        RefNotFound: there is no such branch.
        ObjectNotFound: there is no such commit.
        ChangeRefused: later commits changed the same, or the branch has nothing of it.
    """
    tip, expected = branch_tips(repo, new.branch, new.new_branch, force=new.force)
    with staged(repo) as view:
        try:
            tree = reverted_tree(view, tip, oid)
        except MergeConflict as error:
            paths = ", ".join(error.paths[:3]) + (" and more" if error.paths[3:] else "")
            raise ChangeRefused("conflict", "", f"later commits changed the same in {paths}") from None
        if tree == commit_info(view, tip).tree:
            raise ChangeRefused(
                "conflict", "", f"the branch {new.branch!r} has nothing of what the commit changed"
            )
        revert = commit_info(view, write_commit(view, tip, tree, new))
    return PreparedCommit(revert, RefChange(BRANCHES + new.new_branch, expected, revert.oid), ())
